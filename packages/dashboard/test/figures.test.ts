// The page's figures are those of `stats()`, to the unit: under load, and during an outage of
// Redis.

import {
  fixedWindow,
  type LimiterStats,
  lockout,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  type Store,
  tokenBucket,
} from '@weir/core'
import { adaptive } from '@weir/core/adaptive'
import { overload, rateLimit } from '@weir/express'
import { startProxy, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import type { DashboardOptions } from '../src/index.js'
import type { Frame, LimiterFrame } from '../src/protocol.js'
import { enter, frames } from './client.js'
import { fakeTime } from './fake-time.js'
import { plain } from './servers.js'

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h' })
const open: { close(): unknown }[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** The figures of a limiter in a frame, in the form of `stats()`. */
function shown({
  decisions,
  policies,
  priorities,
  undecided,
  waiting,
  enabled,
  shadow,
  waits,
}: LimiterFrame) {
  return { decisions, policies, priorities, undecided, waiting, enabled, shadow, waits }
}

function counted(stats: LimiterStats) {
  const { counts, sum } = stats.waits
  const { limiter: _, ...rest } = stats
  return JSON.parse(
    JSON.stringify({
      ...rest,
      decisions: stats.decisions.filter(({ count }) => count > 0),
      priorities: stats.priorities.filter(({ count }) => count > 0),
      waits: { count: counts.reduce((all, each) => all + each, 0), sum },
    }),
  )
}

/** A viewer of a dashboard that makes a frame when the test says so, and then only. */
async function watched(
  options: DashboardOptions,
): Promise<{ first: Frame; pass(): void; next(): Promise<Frame> }> {
  const time = fakeTime()
  const running = await plain.start(options, time)
  open.push(running)
  const stream = await frames(await enter(running.dashboard.address(running.url)))
  open.push(stream)
  const first = await stream.next()
  return { first, pass: () => time.pass(1_000), next: () => stream.next() }
}

function limitersOn(store: ReturnType<typeof redisStore>): RateLimiter[] {
  return [
    new RateLimiter({
      name: 'search',
      store,
      policy: [
        tokenBucket({ name: 'burst', capacity: 5, refill: 5, every: '1s' }),
        fixedWindow({ name: 'daily', limit: 50, window: '1d' }),
      ],
    }),
    new RateLimiter({
      name: 'jobs',
      store,
      policy: fixedWindow({ name: 'hourly', limit: 40, window: '1h' }),
      reserve: { batch: 0.5 },
    }),
    new RateLimiter({
      name: 'login',
      store,
      policy: lockout({ name: 'guesses', limit: 3, window: '15m', block: ['1m'], forget: '1d' }),
    }),
  ]
}

test('each figure is that of stats(), under load and during an outage', async () => {
  const server = await startRedis()
  open.push({ close: () => server.stop() })
  const proxy = await startProxy(server.port)
  open.push({ close: () => proxy.stop() })
  const client = new Redis(proxy.url, recommendedRedisOptions)
  client.on('error', () => {})
  // Only a refused connection is an outage, not a busy machine.
  const store = redisStore(client, { deadlineMs: 60_000 })
  open.push({ close: () => client.disconnect() }, store)
  const limiters = limitersOn(store)
  for (const each of limiters) open.push(each)
  const { pass, next } = await watched({ limiters })

  async function load(times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      const [search, jobs, login] = limiters as [RateLimiter, RateLimiter, RateLimiter]
      await Promise.all([
        search.consume(`u${i % 7}`),
        jobs.consume('all', { priority: i % 2 === 0 ? 'batch' : 'critical' }),
        login.consume(`u${i % 3}`),
        search.penalty(`u${i % 7}`),
        search.wait(`u${i % 7}`, { timeout: 1 }),
      ])
    }
  }

  /** The next frame shows what is counted when it is made. */
  async function compare(): Promise<Frame> {
    pass()
    const expected = limiters.map((limiter) => counted(limiter.stats()))
    const nodes = store.stats().nodes.map(({ node, calls, state }) => [node, calls, state])
    const frame = await next()
    const own = limiters.map(({ name }) => frame.limiters.find((each) => each.name === name))
    expect(own.map((each) => shown(each as LimiterFrame))).toEqual(expected)
    expect(frame.stores[0]?.nodes.map(({ node, calls, state }) => [node, calls, state])).toEqual(
      nodes,
    )
    return frame
  }

  await load(60)
  const well = await compare()
  expect(well.limiters[0]?.decisions.some(({ outcome }) => outcome === 'denied')).toBe(true)
  expect(well.stores[0]?.nodes[0]?.state).toBe('closed')

  await proxy.set('refuse')
  await load(40)
  const away = await compare()
  expect(away.limiters[0]?.decisions.some(({ degraded }) => degraded)).toBe(true)
  expect(away.stores[0]?.nodes[0]?.state).not.toBe('closed')
  expect(away.fleet[0]?.health).toBe(away.stores[0]?.nodes[0]?.state)
})

test('keys near their limit are shown, the latest first, until they are not', async () => {
  const limiter = new RateLimiter({
    name: 'near',
    policy: tokenBucket({ name: 'burst', capacity: 10, refill: 1, every: '1h' }),
  })
  open.push(limiter)
  const { pass, next } = await watched({ limiters: [limiter], showKeys: true })
  await limiter.consume('far', { cost: 7 })
  await limiter.consume('first', { cost: 8 })
  await limiter.consume('second', { cost: 9 })
  pass()
  const frame = await next()
  expect(frame.limiters[0]?.nearKeys).toMatchObject([
    { key: 'second', remaining: 1, limit: 10, policy: 'burst' },
    { key: 'first', remaining: 2, limit: 10, policy: 'burst' },
  ])
  await limiter.reset('first')
  await limiter.consume('first')
  pass()
  const later = await next()
  expect(later.limiters[0]?.nearKeys.map(({ key }) => key)).toEqual(['second'])
})

test('middleware, overload protection, adaptive policies and stores without figures are shown', async () => {
  const limit = rateLimit({ name: 'by-address', limit: 5, window: '1m' })
  const guard = overload()
  const policy = adaptive(fixedWindow({ name: 'adapted', limit: 40, window: '1h' }), {
    warmUp: '1h',
    min: 0.25,
  })
  const adapted = new RateLimiter({ name: 'adapted', policy })
  const own: Store = { decide: () => Promise.reject(new Error('away')), reset() {} }
  const bare = new RateLimiter({ name: 'bare', store: own, policy: hourly })
  await adapted.consume('u42')
  await expect(bare.consume('u42')).rejects.toThrow()
  open.push(adapted, bare)
  const { first: frame } = await watched({ limiters: [limit, guard, adapted, bare] })
  expect(frame.limiters.map(({ name }) => name)).toEqual(['by-address', 'adapted', 'bare'])
  expect(frame.limiters[1]?.policies).toMatchObject([
    { policy: 'adapted', factor: 0.25, limit: 10 },
  ])
  expect(frame.limiters[2]?.decisions).toMatchObject([{ outcome: 'error', count: 1 }])
  expect(frame.stores.map(({ id, kind }) => [id, kind])).toEqual([
    ['memory', 'memory'],
    ['memory#2', 'memory'],
    ['store', 'store'],
  ])
  const { limit: most, inFlight, refused } = guard
  expect(frame.guards).toEqual([{ id: 'overload', limit: most, inFlight, refused, priorities: [] }])
})

test('limiters that are made later are shown, and a failure is logged once', async () => {
  const lines: string[] = []
  const all: RateLimiter[] = []
  let isBroken = false
  const { first, pass, next } = await watched({
    limiters: () => {
      if (isBroken) throw new Error('no limiters')
      return all
    },
    log: (line) => void lines.push(line),
  })
  expect(first.limiters).toEqual([])
  all.push(new RateLimiter({ name: 'later', policy: hourly }))
  pass()
  expect((await next()).limiters).toHaveLength(1)
  isBroken = true
  for (let i = 0; i < 2; i += 1) {
    pass()
    expect((await next()).limiters).toHaveLength(1)
  }
  expect(lines.slice(1)).toEqual(["Weir's dashboard: limiters failed: Error: no limiters"])
})
