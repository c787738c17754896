// @ts-check
// Made-up clients, for a minute: some stay far below their limit, some are refused, one stays just
// below its limit. They ask the limiters themselves, as requests from thirty addresses would.

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
 * Traffic that runs from `start` until `stop`, for a minute at most. Until it is started there is
 * none, and no timer.
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
        // One at a time, however late this is: a busy machine gets less traffic, not a burst.
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
  // Addresses that documents use: they are nobody's.
  const far = Array.from({ length: 24 }, (_, i) => ({
    limiter: i % 3 === 0 ? hello : search,
    key: `198.51.100.${i + 1}`,
    everyMs: i % 3 === 0 ? 4_000 + i * 250 : 800 + i * 50,
    cost: 1,
  }))
  return [
    ...far,
    // Five in ten seconds are allowed, and this one asks for four.
    { limiter: hello, key: '203.0.113.1', everyMs: 2_600, cost: 1 },
    // Two units a second come back, and these take three and four.
    { limiter: search, key: '203.0.113.2', everyMs: 1_000, cost: 3 },
    { limiter: search, key: '203.0.113.3', everyMs: 2_000, cost: 8 },
    { limiter: hello, key: '203.0.113.4', everyMs: 1_200, cost: 1 },
    // Two that come in the middle, and hammer.
    { limiter: hello, key: '203.0.113.5', everyMs: 200, cost: 1, fromMs: 15_000, untilMs: 35_000 },
    { limiter: search, key: '203.0.113.6', everyMs: 100, cost: 1, fromMs: 5_000, untilMs: 30_000 },
  ]
}
