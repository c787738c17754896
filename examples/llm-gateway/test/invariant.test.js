// @ts-check
// The gateway's promises hold whatever its clients, its model and its own processes do.

import { memoryStore, RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { isWeekly, startRedis } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { complete, ProviderBusy } from '../src/complete.js'
import { costOf, estimateOf, policiesOf } from '../src/limits.js'
import { virtualTime } from './virtual.js'

/** @typedef {ReturnType<typeof costOf>} Cost */
/** What was charged at a time, and what it was settled to.
 *  @typedef {{ cost: Cost, expiryMs: number, actual?: Cost }} Part */
/** @typedef {'ends' | 'leaves' | 'fails' | 'breaks' | 'crashes' | 'busy'} Fate */
/** @typedef {{ run: string, parts: Part[], used: Cost, mostBeyond: number }} Seen */

const REQUESTS = isWeekly ? 5_000 : 500
const WORKERS = 4
// Both users' budgets are hardly more than their company's, so that all run out.
const LIMITS = { turns: 7, tools: 8, tokens: 2_500, user: 86 * REQUESTS, company: 170 * REQUESTS }
const UNITS = /** @type {(keyof typeof LIMITS)[]} */ (Object.keys(LIMITS))
/** How much of a run each policy counts together. */
const DEPTHS = { turns: 4, tools: 4, tokens: 3, user: 2, company: 1 }
/** Longer than this process takes: streams are not renewed here. */
const HOLD = 600_000
const PART = HOLD / 60
/** Limits that nobody reaches: policies that differ only in their limit share a counter. */
const PLENTY = policiesOf(
  { turns: 2 ** 40, tools: 2 ** 40, tokens: 2 ** 40, user: 2 ** 40, company: 2 ** 40 },
  HOLD,
)
/** Events are rounded to this, so that many requests are in progress at once. */
const INSTANT = 250
/** Tokens that a model writes at once, at most. */
const PIECE = 20

/**
 * One store for each process, all on the same counters, and a check of the keys that they keep.
 * @param {'memory' | 'Redis'} kind
 * @param {import('@weir/core/testing').FakeClock} clock
 */
async function storesOf(kind, clock) {
  if (kind === 'memory') {
    const store = memoryStore({ clock })
    onTestFinished(() => store.close())
    return { stores: [store], check: async () => {} }
  }
  const server = await startRedis()
  // All decisions must come from Redis, however busy the machine is.
  const strict = { clock, whenUnavailable: 'throw', deadlineMs: 30_000, denyCache: false }
  const clients = Array.from({ length: WORKERS }, () => {
    const client = new Redis(server.url, { ...recommendedRedisOptions, connectTimeout: 5_000 })
    return client.on('error', () => {})
  })
  await Promise.all(clients.map((client) => new Promise((done) => client.once('ready', done))))
  const stores = clients.map((client) =>
    redisStore(client, /** @type {import('@weir/core').RedisStoreOptions} */ (strict)),
  )
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    for (const client of clients) client.disconnect()
    await server.stop()
  })
  return {
    stores,
    async check() {
      for (const key of /** @type {string[]} */ (await server.command('KEYS', '*llm-gateway*')))
        expect(await server.command('PTTL', key)).toBeGreaterThan(0)
    },
  }
}

/** Faster than `expect`. @param {number} value @param {number} most @param {string} what */
function atMost(value, most, what) {
  if (!(value <= most)) throw new Error(`${what}: ${value} instead of at most ${most}`)
}

test.each(isWeekly ? ['memory', 'Redis'] : ['Redis'])(
  'over thousands of parts, with clients that leave, models that fail or are busy and workers that crash, what is counted is what was used and what is held, and no run, session, user or company is above its budget by more than its streams used beyond their estimates: %s',
  async (kind) => {
    const time = virtualTime()
    const { stores, check } = await storesOf(/** @type {'memory' | 'Redis'} */ (kind), time.clock)
    const shared = { name: 'llm-gateway', policy: policiesOf(LIMITS, HOLD), shared: true }
    // Each worker stands for a process.
    const limiters = stores.map((store) => new RateLimiter({ ...shared, store }))
    const nowMs = () => Math.floor(time.clock.nowUs() / 1_000)

    /** By what a policy counts together. @type {Map<string, Seen[]>} */
    const seen = new Map()
    /** Runs of which something was charged or settled since the last audit. */
    const touched = new Set()
    /** @type {Set<string>} */
    const denied = new Set()
    /** @type {Set<string>} */
    const stopped = new Set()
    const ended = { ...{ small: 0, large: 0 }, ...{ ends: 0, leaves: 0, fails: 0, breaks: 0 } }
    /** @type {Part[]} */
    const lost = []

    /** @param {string} run @param {keyof typeof DEPTHS} unit */
    const keyOf = (run, unit) => run.split('/', DEPTHS[unit]).join('/')

    /** The limiter of a worker, whose calls for one request are noted.
     *  @param {import('../src/complete.js').Limiter} limiter @param {Seen} one
     *  @returns {import('../src/complete.js').Limiter} */
    function noting(limiter, one) {
      return {
        async acquire(run, options) {
          touched.add(run)
          const decision = await time.held(limiter.acquire(run, options))
          expect(decision.degraded).toBe(false)
          const expiryMs = Math.ceil((nowMs() + HOLD) / PART) * PART
          const cost = /** @type {Cost} */ (options?.cost)
          if (decision.allowed) one.parts.push({ cost, expiryMs })
          return decision
        },
        async settle(decision, actual) {
          touched.add(one.run)
          Object.assign(/** @type {Part} */ (one.parts.at(-1)), { actual })
          return await time.held(limiter.settle(decision, actual))
        },
        block: (...asked) => time.held(limiter.block(...asked)),
      }
    }

    /** One request, which begins at the given time. Each is the same in each run, in whatever order
     *  calls end. @param {number} i @param {number} startMs */
    function plan(i, startMs) {
      const random = randomOf(i)
      const fate = /** @type {Fate} */ (
        ['crashes', 'leaves', 'leaves', 'fails', 'breaks', 'busy'][i % 20] ?? 'ends'
      )
      const user = random.pick(['acme/ann', 'acme/bob', 'umbrella/cy', 'umbrella/dora'])
      const run = `${user}/s${Math.floor(i / 80)}/r${random.whole(0, 1)}`
      const prompt = 'x'.repeat(random.whole(0, 800))
      const completion = { prompt, maxTokens: random.whole(1, 400), maxTools: random.whole(0, 3) }
      // A model counts in its own way: some prompts are longer than was estimated.
      const input = Math.ceil(prompt.length * (0.2 + 0.2 * random.next()))
      const most = random.whole(1, completion.maxTokens)
      const least = costOf('large', { turns: 0, tools: 0, input: 0, output: 0 })
      const beyond = Math.max(0, input - estimateOf(completion).input)
      /** @type {Seen} */
      const one = { run, parts: [], used: least, mostBeyond: beyond + PIECE }
      const left = new AbortController()

      /** @type {import('../src/complete.js').Ask} */
      async function* ask(model, _, signal) {
        if (fate === 'busy' && i % 100 === 5) throw new ProviderBusy(1_500)
        ended[model] += 1
        for (let output = 0, tools = 0; output < most; ) {
          await time.sleep(INSTANT * random.whole(1, 5), signal)
          if (fate === 'fails' && output === 0) throw new Error('it answered 500')
          if (fate === 'breaks' && random.chance(0.2)) throw new Error('it broke off')
          // A crashed worker does nothing more.
          if (fate === 'crashes' && random.chance(0.2)) await new Promise(() => {})
          output = Math.min(most, output + random.whole(1, PIECE))
          tools = Math.min(completion.maxTools, tools + random.whole(0, 1))
          const usage = { turns: 1, tools, input, output }
          one.used = costOf(model, usage)
          touched.add(run)
          yield { text: '', usage }
        }
      }

      time.at(startMs, async () => {
        for (const unit of UNITS) {
          const key = `${unit} ${keyOf(run, unit)}`
          seen.set(key, [...(seen.get(key) ?? []), one])
        }
        /** @type {import('../src/complete.js').Client} */
        const client = {
          decided(decision) {
            if (!decision.allowed) denied.add(decision.policy.name)
            if (fate === 'leaves')
              time.at(time.nowMs() + INSTANT * random.whole(1, 30), () => left.abort())
          },
          write() {},
          stopped: (budget) => void stopped.add(budget),
        }
        const limiter = noting(random.pick(limiters), one)
        const request = { run, completion, signal: left.signal }
        await complete({ limiter, ask }, request, client).catch(() => {})
        if (fate in ended) ended[/** @type {'ends'} */ (fate)] += 1
        // All that the model used was settled.
        for (const unit of UNITS)
          expect(one.parts.reduce((sum, { actual }) => sum + (actual?.[unit] ?? 0), 0)).toBe(
            one.used[unit],
          )
      })
    }

    /** The units that must be counted: what was settled and, until it expires, what is held.
     *  @param {Part} part @param {keyof typeof DEPTHS} unit */
    const countedOf = ({ cost, actual, expiryMs }, unit) =>
      actual === undefined ? (expiryMs > nowMs() ? cost[unit] : 0) : actual[unit]

    /** @param {string} run */
    async function auditRun(run) {
      const { policies } = await /** @type {RateLimiter} */ (limiters[0]).peek(run, {
        policy: PLENTY(run),
      })
      for (const [i, unit] of UNITS.entries()) {
        let counted = 0
        let beyond = 0
        for (const { parts, used, mostBeyond } of seen.get(`${unit} ${keyOf(run, unit)}`) ?? []) {
          let paid = 0
          for (const part of parts) {
            const { cost, actual = cost } = part
            counted += countedOf(part, unit)
            beyond += Math.max(0, actual[unit] - cost[unit])
            paid += actual[unit]
            atMost(actual.tokens - cost.tokens, mostBeyond, `a part of ${run}`)
          }
          // A stream is charged before it uses more, but for the piece that ends a part.
          if (unit === 'tokens') atMost(used.tokens - paid, mostBeyond, `a stream of ${run}`)
        }
        atMost(counted, LIMITS[unit] + beyond, `${unit} of ${run}`)
        const { limit = 0, remaining = 0 } = policies[i] ?? {}
        expect(limit - remaining, `${unit} of ${run}`).toBe(counted)
      }
    }

    async function audit() {
      const runs = [...touched]
      touched.clear()
      await Promise.all(runs.map(auditRun))
    }

    for (let i = 0; i < REQUESTS; i += 1) plan(i, INSTANT * (1 + Math.floor(i / 3)))
    const end = INSTANT * REQUESTS
    await time.run(end, audit)
    expect([...denied].sort()).toEqual([...UNITS, 'provider'].sort())
    expect(stopped.size).toBeGreaterThan(1)
    expect(stopped).not.toContain('provider')
    for (const [how, count] of Object.entries(ended))
      expect(count, how).toBeGreaterThan(REQUESTS / 100)

    // What crashed workers held comes back at its expiry, and nothing else does.
    for (const [key, all] of seen) {
      if (!key.startsWith('turns')) continue
      for (const { run, parts } of all)
        for (const part of parts) {
          if (part.actual !== undefined) continue
          lost.push(part)
          const ms = part.expiryMs - nowMs() + time.nowMs()
          for (const at of [ms - 1, ms]) time.at(at, () => void touched.add(run))
        }
    }
    expect(lost.length).toBeGreaterThan(REQUESTS / 100)
    await time.run(end + 2 * HOLD, audit)
    for (const all of seen.values()) for (const { run } of all) touched.add(run)
    await audit()
    await check()
  },
)
