// @ts-check
// The gateway's promises hold whatever its clients, its model and its own processes do.

import { memoryStore, RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { isWeekly, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { complete } from '../src/complete.js'
import { costOf, estimateOf, policiesOf } from '../src/limits.js'
import { randomFrom, virtualTime } from './virtual.js'

/** @typedef {import('../src/limits.js').Usage} Usage */
/** @typedef {'ends' | 'leaves' | 'fails' | 'breaks' | 'crashes'} Fate */
/** @typedef {'requests' | 'tokens' | 'money'} Policy */
/** What the test knows of an allowed request besides what the gateway reports.
 *  @typedef {{ customer: string, estimate: Usage, used: Usage, isSettled: boolean, atMs: number }}
 *  Seen */

/** Each of two minutes. */
const ROUNDS = isWeekly ? 10 : 2
const REQUESTS = 1_000 * ROUNDS
const CUSTOMERS = ['ann', 'bob', 'cy', 'dora']
const WORKERS = 4
const LIMITS = { requests: 220, tokens: 60_000, money: 500_000 * ROUNDS, streams: 60 }
const POLICIES = /** @type {const} */ (['requests', 'tokens', 'money'])
const NOTHING = { counted: 0, beyond: 0, used: 0 }
const MINUTE = 60_000
const DAY = 1_440 * MINUTE
/** Longer than this process takes: streams are not renewed here. */
const HOLD = 4 * MINUTE
const PART = HOLD / 60
/** Limits that nobody reaches. */
const PLENTY = policiesOf(
  { requests: 2 ** 30, tokens: 2 ** 30, money: 2 ** 30, streams: 1_000_000 },
  HOLD,
)
/** Events are rounded to this, so that many requests are in progress at once. */
const INSTANT = 250

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
      const keys = /** @type {string[]} */ (await server.command('KEYS', '*llm-gateway*'))
      // Each has a counter, and a record of what was refunded.
      expect(keys.length).toBeLessThanOrEqual(2 * CUSTOMERS.length * (POLICIES.length + 1))
      for (const key of keys) expect(await server.command('PTTL', key)).toBeGreaterThan(0)
    },
  }
}

test.each(isWeekly ? ['memory', 'Redis'] : ['Redis'])(
  'of thousands of requests, with clients that leave, models that fail and workers that crash, no more passes than the limit and what was in flight beyond its estimate, and what is counted is what was used, and the estimates of crashed ones; and as many streams are open as are in progress, and for 61/60 of their time those of crashed ones: %s',
  async (kind) => {
    const time = virtualTime()
    const { stores, check } = await storesOf(/** @type {'memory' | 'Redis'} */ (kind), time.clock)
    // Each worker stands for a process.
    const shared = { name: 'llm-gateway', policy: policiesOf(LIMITS, HOLD), shared: true }
    const limiters = stores.map((store) => new RateLimiter({ ...shared, store }))
    const workers = limiters.map((limiter) => time.watched(limiter))

    /** @type {Seen[]} */
    let seen = []
    /** Requests of all rounds whose streams are open. @type {Seen[]} */
    let open = []
    let granted = 0
    let lost = 0
    /** @type {Set<string>} */
    const denied = new Set()
    /** The day's money that earlier rounds used, and the part of it beyond their estimates. */
    const earlier = new Map(CUSTOMERS.map((customer) => [customer, NOTHING]))

    /** 5 % crash, 20 % leave. @param {number} i @returns {Fate} */
    function fateOf(i) {
      const of20 = i % 20
      if (of20 === 0) return 'crashes'
      if (of20 <= 4) return 'leaves'
      if (of20 === 5) return 'fails'
      return of20 === 6 ? 'breaks' : 'ends'
    }

    /** One request, which begins at the given time.
     *  @param {number} i @param {number} startMs */
    function plan(i, startMs) {
      const whatHappens = fateOf(i)
      // Each request is the same in each run, in whatever order calls end.
      const random = randomFrom(i)
      const customer = /** @type {string} */ (CUSTOMERS[Math.floor(random() * CUSTOMERS.length)])
      const worker = /** @type {import('../src/complete.js').Limiter} */ (
        workers[Math.floor(random() * workers.length)]
      )
      const prompt = 'x'.repeat(Math.floor(random() * 800))
      const completion = { prompt, maxTokens: 1 + Math.floor(random() * 500) }
      // A model counts in its own way: some requests use more than was estimated.
      const input = Math.ceil(prompt.length * (0.2 + 0.2 * random()))
      const pieces = 1 + Math.floor(random() * 6)
      const output = Math.ceil(completion.maxTokens * (0.2 + 0.9 * random()))
      const endsAfter = Math.floor(random() * (pieces + 1))
      const left = new AbortController()
      /** @type {Seen} */
      const one = {
        ...{ customer, estimate: estimateOf(completion), isSettled: false, atMs: 0 },
        used: { input: 0, output: 0 },
      }

      /** @type {import('../src/complete.js').Model} */
      async function* model(_, signal) {
        for (let i = 0; i <= pieces; i += 1) {
          await time.sleep(INSTANT * Math.ceil(10 * random()), signal)
          if (i === endsAfter) {
            if (whatHappens === 'fails' && i === 0) throw new Error('it answered 500')
            if (whatHappens === 'breaks' || whatHappens === 'fails') throw new Error('it broke off')
            // A crashed worker does nothing more.
            if (whatHappens === 'crashes') await new Promise(() => {})
          }
          if (i === pieces) return
          one.used = { input, output: Math.ceil((output * (i + 1)) / pieces) }
          yield { text: '', usage: one.used }
        }
      }

      time.at(startMs, async () => {
        const client = {
          /** @param {import('@weir/core').Decision} decision */
          decided(decision) {
            expect(decision.degraded).toBe(false)
            if (!decision.allowed) return denied.add(decision.policy.name)
            granted += 1
            one.atMs = time.nowMs()
            seen.push(one)
            open.push(one)
            if (whatHappens === 'leaves')
              time.at(time.nowMs() + INSTANT * Math.ceil(30 * random()), () => left.abort())
          },
          write() {},
        }
        const request = { customer, completion, signal: left.signal }
        await complete({ limiter: worker, model }, request, client).catch(() => {})
        one.isSettled = true
      })
    }

    /** @param {Usage} usage @param {Policy} policy */
    const unitsOf = (usage, policy) => costOf(usage)[policy]

    /**
     * The units that must be counted: the usage of settled requests, and the estimate of the
     * others. Also the part of the usage that is beyond its estimate.
     * @param {string} customer @param {Policy} policy
     */
    function expected(customer, policy) {
      const before = (policy === 'money' && earlier.get(customer)) || NOTHING
      let { counted, beyond, used } = before
      for (const one of seen) {
        if (one.customer !== customer) continue
        const [actual, estimate] = [unitsOf(one.used, policy), unitsOf(one.estimate, policy)]
        counted += one.isSettled ? actual : estimate
        beyond += Math.max(0, actual - estimate)
        used += actual
      }
      return { counted, beyond, used }
    }

    /** What the store has counted. Policies that differ only in their limit share a counter, so a
     *  larger limit also shows what is above the smaller one. @param {string} customer */
    async function countedFor(customer) {
      const decision = await limiters[0]?.peek(customer, { policy: PLENTY })
      return decision?.policies.map(({ limit, remaining }) => limit - remaining)
    }

    /** A crashed worker's slot is held until its time is over, rounded up to a sixtieth of it.
     *  @param {Seen} one */
    function isOpen({ isSettled, atMs }) {
      return !isSettled && time.nowMs() < Math.ceil((atMs + HOLD) / PART) * PART
    }

    async function audit() {
      open = open.filter(isOpen)
      const counts = await Promise.all(CUSTOMERS.map(countedFor))
      for (const [i, customer] of CUSTOMERS.entries()) {
        const all = POLICIES.map((policy) => expected(customer, policy))
        const streams = open.filter((one) => one.customer === customer).length
        expect(streams).toBeLessThanOrEqual(LIMITS.streams)
        expect(counts[i]).toEqual([...all.map(({ counted }) => counted), streams])
        for (const [j, { counted, beyond, used }] of all.entries()) {
          const most = LIMITS[/** @type {Policy} */ (POLICIES[j])] + beyond
          expect(Math.max(counted, used)).toBeLessThanOrEqual(most)
        }
      }
    }

    for (let round = 0; round < ROUNDS; round += 1) {
      const start = round * 2 * MINUTE
      for (let i = 0; i < REQUESTS / ROUNDS; i += 1)
        plan(round * (REQUESTS / ROUNDS) + i, start + INSTANT * (1 + (i % 120)))
      await time.run(start + 2 * MINUTE, audit)
      lost += seen.filter(({ isSettled }) => !isSettled).length
      for (const customer of CUSTOMERS) earlier.set(customer, expected(customer, 'money'))
      seen = []
      // The minute is over, for crashed workers also; the day is not.
      await audit()
    }

    expect(granted).toBeGreaterThan(REQUESTS / 2)
    expect(lost).toBeGreaterThan(REQUESTS / 50)
    expect([...denied].sort()).toEqual(['money', 'requests', 'streams', 'tokens'])
    await check()
    await time.run(DAY, () => {})
    for (const customer of CUSTOMERS) expect(await countedFor(customer)).toEqual([0, 0, 0, 0])
  },
)
