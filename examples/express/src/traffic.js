// @ts-check
// A minute of traffic from made-up clients: some stay far below their limit, some are refused, and
// one stays just below its limit. They call the limiters directly, with the keys that requests from
// thirty addresses would have.

const LASTS_MS = 60_000
const LOOK_EVERY_MS = 100

/**
 * @typedef {import('@weir/express').RateLimiter} RateLimiter
 * @typedef {object} Client
 * @property {RateLimiter} limiter
 * @property {string} key
 * @property {number} everyMs from one request to the next
 * @property {number} cost
 * @property {number} [fromMs] when it begins
 * @property {number} [untilMs] when it ends
 */

/**
 * Makes traffic from `start` until `stop`, for a minute at most. Before `start` it has no timer.
 * @param {{ hello: RateLimiter, search: RateLimiter }} limiters
 */
export function newTraffic(limiters) {
  const clients = clientsOf(limiters)
  const made = { requests: 0, refused: 0 }
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  function start() {
    if (timer !== undefined) return
    Object.assign(made, { requests: 0, refused: 0 })
    const begun = performance.now()
    const due = clients.map(({ everyMs, fromMs = everyMs / 2 }) => fromMs)
    timer = setInterval(() => {
      const atMs = performance.now() - begun
      if (atMs >= LASTS_MS) return stop()
      clients.forEach((client, i) => {
        // A late timer sends one request for each client, so a busy machine gets less traffic, not
        // a burst.
        if (atMs < (due[i] ?? 0) || atMs > (client.untilMs ?? LASTS_MS)) return
        due[i] = atMs + client.everyMs
        void ask(client)
      })
    }, LOOK_EVERY_MS)
  }

  function stop() {
    clearInterval(timer)
    timer = undefined
  }

  /** @param {Client} client */
  async function ask({ limiter, key, cost }) {
    made.requests += 1
    try {
      const { allowed } = await limiter.consume(key, { cost })
      if (!allowed) made.refused += 1
    } catch (error) {
      stop()
      console.error('traffic ended:', error)
    }
  }

  return { start, stop, made, isRunning: () => timer !== undefined }
}

/**
 * @param {{ hello: RateLimiter, search: RateLimiter }} limiters
 * @returns {Client[]}
 */
function clientsOf({ hello, search }) {
  // Addresses that are reserved for documentation.
  const far = Array.from({ length: 24 }, (_, i) => ({
    limiter: i % 3 === 0 ? hello : search,
    key: `198.51.100.${i + 1}`,
    everyMs: i % 3 === 0 ? 4_000 + i * 250 : 800 + i * 50,
    cost: 1,
  }))
  return [
    ...far,
    // This client may send five requests in ten seconds, and sends four.
    { limiter: hello, key: '203.0.113.1', everyMs: 2_600, cost: 1 },
    // The bucket refills by two units a second; these clients take three and four a second.
    { limiter: search, key: '203.0.113.2', everyMs: 1_000, cost: 3 },
    { limiter: search, key: '203.0.113.3', everyMs: 2_000, cost: 8 },
    { limiter: hello, key: '203.0.113.4', everyMs: 1_200, cost: 1 },
    // Two clients that come for a while and send far too much.
    { limiter: hello, key: '203.0.113.5', everyMs: 200, cost: 1, fromMs: 15_000, untilMs: 35_000 },
    { limiter: search, key: '203.0.113.6', everyMs: 100, cost: 1, fromMs: 5_000, untilMs: 30_000 },
  ]
}
