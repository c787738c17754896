// Single steps around a failure: how a node is brought back and gets reports of what was admitted
// without it, how many instances share in the meantime, what was lost and is restored, and how long
// anybody waits. Redis is real; the client between it and the store fails at the moment that a test
// is about.

import { type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { processTime, type Time } from '../../src/base/time.js'
import type { RedisLike } from '../../src/entries/store.js'
import {
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type WhenUnavailable,
} from '../../src/index.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import { Heartbeat, PEERS_TAG } from '../../src/redis/heartbeat.js'
import { slotOf } from '../../src/redis/transport/hash-slot.js'
import { fakeClock } from '../../src/testing/index.js'
import { CALM, redisStoreOf } from './patient.js'
import { stepTime } from './step-time.js'

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.port, recommendedRedisOptions)
  await new Promise((resolve) => redis.once('ready', resolve))
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const time = stepTime(() => redis.ping())

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await time.settle(Promise.resolve(each.close()))
})

let runs = 0
function newName(): string {
  runs += 1
  return `v${Date.now().toString(36)}${runs}`
}

/** A call of Weir's script. */
interface Call {
  readonly mode: string
  readonly keys: readonly string[]
  /** The hash tags of its keys, each once. */
  readonly tags: readonly string[]
}

const MODES = /\b(peek|refund|penalty|reconcile|restore|reset)\b/

type Way = (call: Call, send: () => Promise<unknown>) => Promise<unknown>

/** A client of the real server whose calls take a way that a test chooses. */
function clientBy(way: Way, more: Partial<RedisLike> = {}): RedisLike {
  return {
    status: 'ready',
    ...more,
    callBuffer(command, args) {
      const keys = args.slice(2, 2 + Number(args[1]))
      const tags = new Set(keys.map((key) => /{(.*?)}/.exec(key)?.[1] ?? ''))
      const mode = MODES.exec(args.slice(2 + keys.length).join(' '))?.[0] ?? 'consume'
      return way({ mode, keys, tags: [...tags] }, () => redis.callBuffer(command, args))
    },
  }
}

function lost(): Promise<never> {
  return Promise.reject(new Error('Connection is closed.'))
}

function storeOn(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStoreOf(time, client, { instances: 1, deadlineMs: 10_000, ...options })
  open.push(store)
  return store
}

/** Waits until all nodes decide again, and everything that was admitted without them is counted. */
function isBack(store: RedisStore): Promise<void> {
  return time.until('the store is back', () => isWell(store))
}

function isWell(store: RedisStore): boolean {
  const { nodes, localKeys } = store.health()
  return localKeys === 0 && nodes.every(({ state }) => state !== 'open')
}

const LIMIT = 1_000
const policy = fixedWindow({ limit: LIMIT, window: '5m' })

/** What Redis has counted under keys, according to another process. */
async function counted(name: string, keys: readonly string[]): Promise<number[]> {
  const limiter = new RateLimiter({
    name,
    store: storeOn(clientBy((_, send) => send())),
    policy,
    shared: true,
  })
  const decisions = await Promise.all(keys.map((key) => limiter.peek(key)))
  expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
  return decisions.map(({ remaining }) => LIMIT - remaining)
}

test('a node with a low limit of calls in flight comes back, and counts everything that was admitted', async () => {
  const keys = Array.from({ length: 300 }, (_, i) => `k${i}`)
  const name = newName()
  let isAway = false
  const store = storeOn(
    clientBy((_, send) => (isAway ? lost() : send())),
    { maxInFlight: 1 },
  )
  const limiter = new RateLimiter({ name, store, policy })
  const consumeAll = async () => {
    // As many as travel in one call.
    for (let from = 0; from < keys.length; from += 32)
      await Promise.all(keys.slice(from, from + 32).map((key) => limiter.consume(key)))
  }
  await consumeAll()
  isAway = true
  await consumeAll()
  expect(store.health()).toMatchObject({ state: 'open', localKeys: keys.length })
  isAway = false
  await isBack(store)
  await time.until('all to be counted', async () => store.health().localKeys === 0)
  expect(await counted(name, keys)).toEqual(keys.map(() => 2))
})

test('long keys of an outage are counted like all others', async () => {
  const keys = ['k'.repeat(1_000), 'k'.repeat(1_100), 'é'.repeat(8_192)]
  const name = newName()
  let isAway = false
  const store = storeOn(clientBy((_, send) => (isAway ? lost() : send())))
  const limiter = new RateLimiter({ name, store, policy })
  for (const key of keys) await limiter.consume(key, { cost: 10 })
  isAway = true
  for (const key of keys) await limiter.consume(key, { cost: 7 })
  isAway = false
  await isBack(store)
  expect(await counted(name, keys)).toEqual([17, 17, 17])
})

describe('keys of an outage', () => {
  const keys = Array.from({ length: 3_000 }, (_, i) => `k${i}`)
  /** The cost of a key; many differ. */
  const costOf = (i: number): number => 1 + ((i * 7) % 50)

  test.each<[string, Partial<RedisLike>]>([
    ['of one server', {}],
    ['of a Cluster', { isCluster: true, slots: Array.from({ length: 16_384 }, () => ['a:1']) }],
  ])('more than 1,000 were not settled: %s', async (_, more) => {
    let away = false
    let now = 0
    let most = 0
    const settled: (readonly string[])[] = []
    const client = clientBy(async ({ mode, tags }, send) => {
      if (away) return lost()
      if (mode !== 'reconcile') return send()
      settled.push(tags)
      now += tags.length
      most = Math.max(most, now)
      return send().finally(() => {
        now -= tags.length
      })
    }, more)
    const store = storeOn(client)
    const told: number[] = []
    store.on('reconciled', (event) => told.push(event.keys))
    const name = newName()
    const limiter = new RateLimiter({ name, store, policy })
    await limiter.consume('k0')
    away = true
    for (const [i, key] of keys.entries()) {
      expect(await limiter.consume(key, { cost: costOf(i) })).toMatchObject({
        allowed: true,
        degraded: true,
      })
    }
    expect(store.health()).toMatchObject({ state: 'open', localKeys: 3_000 })
    away = false
    await isBack(store)
    await time.until('all is told', async () => told.length > 0)
    expect(told).toEqual([3_000])
    expect(store.health().localKeys).toBe(0)
    expect(await counted(name, keys)).toEqual(keys.map((_, i) => costOf(i) + (i === 0 ? 1 : 0)))
    // The largest first, to a factor of two, and no more than 100 at once, so that Redis can serve
    // others in between.
    const inOrder = settled.flat().map((key) => costOf(Number(key.slice(1))))
    const chunks = Array.from({ length: 30 }, (_, i) => inOrder.slice(100 * i, 100 * (i + 1)))
    for (const [i, chunk] of chunks.entries()) {
      expect(2 * Math.min(...chunk)).toBeGreaterThan(Math.max(0, ...(chunks[i + 1] ?? [])))
    }
    // They travel in calls of 32, the first of which may be answered before the last is sent.
    expect(most).toBeLessThanOrEqual(100)
    expect(most).toBeGreaterThan(64)
    const slots = settled.map((tags) => new Set(tags.map(slotOf)).size)
    if (more.isCluster) expect(slots.every((size) => size === 1)).toBe(true)
  })
})

test('a key with a foreign value keeps no other key from Redis', async () => {
  const store = storeOn(clientBy((_, send) => send()))
  const states: string[] = []
  store.on('breaker', ({ state }) => states.push(state))
  const name = newName()
  const limiter = new RateLimiter({ name, store, policy })
  await redis.set(`weir:{foreign}:${name}:fixed-window-5m:fixed1-5m`, 'not ours', 'PX', 60_000)
  expect(await limiter.consume('foreign')).toMatchObject({ degraded: true })
  // A count is tried half a second later, and given up.
  await time.until('nothing is left', async () => store.health().localKeys === 0)
  await time.pass(700)
  expect(await limiter.consume('foreign')).toMatchObject({ degraded: true })
  expect(await limiter.consume('other')).toMatchObject({ degraded: false })
  expect(states).toEqual([])
})

describe('a settlement that is cut off', () => {
  const keys = Array.from({ length: 250 }, (_, i) => `k${i}`)

  /** Takes from all keys before and in an outage, and lets the way disturb the settlement: `nth`
   *  counts its calls. */
  async function outage(
    way: (call: Call, send: () => Promise<unknown>, nth: number) => Promise<unknown>,
  ) {
    let away = false
    let nth = 0
    const client = clientBy((call, send) => {
      if (away) return lost()
      if (call.mode !== 'reconcile') return way(call, send, 0)
      nth += 1
      return way(call, send, nth)
    })
    const store = storeOn(client, { deadlineMs: 300 })
    const states: string[] = []
    store.on('breaker', ({ state }) => states.push(state))
    const told: number[] = []
    store.on('reconciled', (event) => told.push(event.keys))
    const name = newName()
    const limiter = new RateLimiter({ name, store, policy })
    await Promise.all(keys.map((key) => limiter.consume(key)))
    away = true
    for (const key of keys) await limiter.consume(key)
    expect(store.health()).toMatchObject({ state: 'open', localKeys: keys.length })
    away = false
    const expected = keys.map(() => 2)
    return { store, states, told, limiter, name, expected }
  }

  test('between two calls continues later, and settles nothing twice', async () => {
    let away = false
    const run = await outage((_, send, nth) => {
      if (nth === 2) away = true
      return away ? lost() : send()
    })
    await time.until('it was tried', async () => run.states.includes('half-open'))
    await time.until('it failed', async () => run.states.at(-1) === 'open')
    // One call took 32 of the first chunk's 100 keys.
    expect(run.told).toEqual([32])
    expect(run.store.health().localKeys).toBe(218)
    // Later admissions are added, under keys that were settled and keys that were not.
    for (const i of [0, 120, 249]) {
      expect((await run.limiter.consume(keys[i] as string)).degraded).toBe(true)
      run.expected[i] = 3
    }
    away = false
    await isBack(run.store)
    await time.until('all is told', async () => run.told.length === 2)
    expect(run.told[1]).toBe(219)
    expect(await counted(run.name, keys)).toEqual(run.expected)
    expect(run.store.health().localKeys).toBe(0)
  })

  test('by a reply that comes too late settles nothing twice', async () => {
    let release = () => {}
    const run = await outage(async (_, send, nth) => {
      const reply = await send()
      // Redis answers in order: a late reply comes before that of the next probe.
      if (nth === 2) await new Promise<void>((resolve) => (release = resolve))
      return reply
    })
    await time.until(
      'it failed',
      async () => run.states.filter((state) => state === 'open').length === 2,
    )
    // The whole chunk was counted, except for the call whose reply is late.
    expect(run.store.health().localKeys).toBe(182)
    release()
    await isBack(run.store)
    expect(await counted(run.name, keys)).toEqual(run.expected)
    expect(run.store.health().localKeys).toBe(0)
  })

  test('after what was last seen was restored again adds nothing', async () => {
    let cut = true
    const run = await outage((call, send) => (cut && call.mode === 'reconcile' ? lost() : send()))
    await time.until(
      'it failed',
      async () => run.states.filter((state) => state === 'open').length === 2,
    )
    expect(await counted(run.name, keys)).toEqual(keys.map(() => 1))
    cut = false
    await isBack(run.store)
    expect(await counted(run.name, keys)).toEqual(run.expected)
  })
})

test('requests while something of their key is being counted wait for that', async () => {
  let away = true
  const meanwhile: Promise<unknown>[] = []
  const modes: string[] = []
  const client = clientBy(async (call, send) => {
    if (away) return lost()
    if (call.mode === 'reconcile') meanwhile.push(limiter.consume('k'), limiter.consume('k'))
    modes.push(call.mode)
    return send()
  })
  const store = storeOn(client)
  const name = newName()
  const limiter = new RateLimiter({ name, store, policy })
  for (let i = 0; i < 5; i += 1) await limiter.consume('k')
  away = false
  await isBack(store)
  const decisions = await Promise.all(meanwhile)
  expect(decisions).toMatchObject([{ degraded: false }, { degraded: false }])
  expect(modes.slice(modes.indexOf('reconcile'))).toEqual(['reconcile', 'consume'])
  expect(await counted(name, ['k'])).toEqual([7])
})

describe('what is admitted without Redis', () => {
  test('by calls that fail one by one gives no new budget', async () => {
    let away = false
    const store = storeOn(clientBy((_, send) => (away ? lost() : send())))
    const budget = slidingWindow({ limit: 100, window: '1h' })
    const limiter = new RateLimiter({ name: newName(), store, policy: budget })
    let passed = 0
    const take = async (cost: number) => {
      if ((await limiter.consume('k', { cost })).allowed) passed += cost
    }
    await take(1)
    for (let blip = 0; blip < 4; blip += 1) {
      away = true
      await take(24)
      away = false
    }
    expect(passed).toBe(97)
    for (let i = 0; i < 99; i += 1) await take(1)
    expect(passed).toBe(100)
    expect(store.health().state).toBe('closed')
  })

  test('under a policy key is counted before any other user of it is asked for, on every shard', async () => {
    const { client, away } = twoShards()
    const store = storeOn(client)
    const policies = [
      { policy: fixedWindow({ name: 'user', limit: 10, window: '5m' }) },
      { policy: fixedWindow({ name: 'a', limit: 40, window: '5m' }), key: ON_A },
      { policy: fixedWindow({ name: 'b', limit: 50, window: '5m' }), key: ON_B },
    ]
    const limiter = new RateLimiter({ name: newName(), store, policy: policies })
    const passed: boolean[] = []
    const take = async (user: string) => passed.push((await limiter.consume(user)).allowed)
    for (let i = 0; i < 40; i += 1) {
      // Each shard fails now and then, and no breaker opens.
      if (i < 20 && i % 5 === 0) away.add(i % 2 === 0 ? 'a:1' : 'b:1')
      await take(`u${i}`)
      away.clear()
      await take(`v${i}`)
    }
    expect(store.health().nodes.every(({ state }) => state === 'closed')).toBe(true)
    expect(passed.filter(Boolean).length).toBe(40)
  })
})

/**
 * Two masters, each with half of the slots; a test takes one away, or moves slots. Both are one
 * server.
 */
function twoShards() {
  const slots = Array.from({ length: 16_384 }, (_, slot) => [slot < 8_192 ? 'a:1' : 'b:1'])
  const away = new Set<string>()
  const calls: (Call & { readonly node: string })[] = []
  const client = clientBy(
    (call, send) => {
      const [node = ''] = slots[slotOf(call.tags[0] ?? '')] ?? []
      calls.push({ ...call, node })
      return away.has(node) ? lost() : send()
    },
    { isCluster: true, slots },
  )
  return { client, slots, away, calls }
}

/** Two of x0, x1, ... whose slots are on a shard. */
function tagsIn(from: number, to: number): [string, string] {
  const tags = Array.from({ length: 100 }, (_, n) => `x${n}`)
  return tags.filter((tag) => slotOf(tag) >= from && slotOf(tag) < to).slice(0, 2) as [
    string,
    string,
  ]
}

const [ON_A, ALSO_ON_A] = tagsIn(0, 8_192)
const [ON_B, ALSO_ON_B] = tagsIn(8_192, 16_384)

describe.each([
  ['the smaller limit', 3, 5],
  ['the larger limit', 5, 3],
])(
  'policies on two shards: the one with %s is on the shard that is away',
  (_, limitOfA, limitOfB) => {
    const [onA, onB] = [
      fixedWindow({ name: 'on-a', limit: limitOfA, window: '5m' }),
      fixedWindow({ name: 'on-b', limit: limitOfB, window: '5m' }),
    ]

    const isAllowed = (decision: object) => 'allowed' in decision && decision.allowed === true
    const isDegraded = (decision: object) => 'degraded' in decision && decision.degraded === true

    /** Eight requests while A is away, and what each shard has counted when it is back. */
    async function eight(ofStore: WhenUnavailable, ofA?: WhenUnavailable) {
      const { client, away } = twoShards()
      const store = storeOn(client, { whenUnavailable: ofStore, denyCache: false })
      const policies = [
        { policy: onA, key: ON_A, ...(ofA && { whenUnavailable: ofA }) },
        { policy: onB, key: ON_B },
      ]
      const limiter = new RateLimiter({ name: newName(), store, policy: policies })
      away.add('a:1')
      const decisions = []
      for (let i = 0; i < 8; i += 1) {
        decisions.push(await limiter.consume('k').catch(({ code }) => ({ failed: code })))
      }
      away.clear()
      await time.until('A is back', async () =>
        store.health().nodes.every(({ state }) => state !== 'open'),
      )
      await time.until('nothing is left', async () => store.health().localKeys === 0)
      const { policies: figures, degraded } = await limiter.peek('k')
      expect(degraded).toBe(false)
      return { decisions, counted: figures.map(({ limit, remaining }) => limit - remaining) }
    }

    test.each<[string, WhenUnavailable, WhenUnavailable?]>([
      ['the store', 'local'],
      ['the policy', 'throw', 'local'],
    ])(
      'local, as %s was told: both limits hold, and both count what was allowed',
      async (_, ...told) => {
        const { decisions, counted } = await eight(...told)
        expect(decisions.map(isAllowed)).toEqual([...Array(3).fill(true), ...Array(5).fill(false)])
        expect(decisions.every(isDegraded)).toBe(true)
        expect(decisions[7]).toMatchObject({
          reason: 'limit',
          policy: { name: limitOfA === 3 ? 'on-a' : 'on-b' },
        })
        expect(counted).toEqual([3, 3])
      },
    )

    test.each<[string, WhenUnavailable, WhenUnavailable?]>([
      ['the store', 'allow'],
      ['the policy', 'throw', 'allow'],
    ])('allow, as %s was told: the other limit holds', async (_, ...told) => {
      const { decisions, counted } = await eight(...told)
      expect(decisions.filter(isAllowed).length).toBe(limitOfB)
      expect(decisions.every(isDegraded)).toBe(true)
      expect(counted).toEqual([0, limitOfB])
    })

    test.each<[string, WhenUnavailable, WhenUnavailable?]>([
      ['the store', 'deny'],
      ['the policy', 'allow', 'deny'],
    ])('deny, as %s was told: nobody passes, and nothing is charged', async (_, ...told) => {
      const { decisions, counted } = await eight(...told)
      for (const decision of decisions) {
        expect(decision).toMatchObject({
          allowed: false,
          reason: 'store-unavailable',
          degraded: true,
        })
        expect((decision as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(0)
      }
      expect(counted).toEqual([0, 0])
    })

    test.each<[string, WhenUnavailable, WhenUnavailable?]>([
      ['the store', 'throw'],
      ['the policy', 'allow', 'throw'],
    ])('throw, as %s was told: nobody passes, and nothing is charged', async (_, ...told) => {
      const { decisions, counted } = await eight(...told)
      expect(decisions).toEqual(Array(8).fill({ failed: 'WEIR_STORE_FAILED' }))
      expect(counted).toEqual([0, 0])
    })
  },
)

describe('the probe of a node', () => {
  const isProbe = ({ mode, keys }: Call) =>
    mode === 'penalty' && keys.some((key) => key.includes(':weir:beats:'))

  test('goes there although the slot of a key that it asked about has moved', async () => {
    const { client, slots, away, calls } = twoShards()
    const store = storeOn(client)
    const limiter = new RateLimiter({ name: newName(), store, policy })
    const [other] = slots[slotOf('probe')] as [string]
    const [node, key, another] =
      other === 'a:1' ? ['b:1', ON_B, ALSO_ON_B] : ['a:1', ON_A, ALSO_ON_A]
    away.add(node)
    for (let i = 0; i < 5; i += 1) await limiter.consume(key)
    slots[slotOf(key)] = [other]
    await limiter.consume(another)
    const stateOf = (name: string) => store.health().nodes.find((each) => each.name === name)?.state
    expect(stateOf(node)).toBe('open')
    await time.until('it is probed', async () => calls.filter(isProbe).length >= 2)
    expect(new Set(calls.filter(isProbe).map((call) => call.node))).toEqual(new Set([node]))
    expect(stateOf(node)).toBe('open')
    away.clear()
    await time.until('it is back', async () => stateOf(node) !== 'open')
  })

  test('without any slots ends, and what was admitted for it is settled where they are', async () => {
    const { client, slots, away } = twoShards()
    const store = storeOn(client)
    const name = newName()
    const limiter = new RateLimiter({ name, store, policy })
    await limiter.consume(ON_A)
    away.add('b:1')
    for (let i = 0; i < 7; i += 1) await limiter.consume(ON_B)
    expect(store.health()).toMatchObject({ state: 'open', localKeys: 1 })
    slots.fill(['a:1'])
    await isBack(store)
    await time.until('nothing is left', async () => store.health().localKeys === 0)
    expect(await counted(name, [ON_B])).toEqual([7])
  })
})

describe('the number of instances', () => {
  let prefix: string
  let patient: Redis
  beforeEach(async () => {
    prefix = newName()
    patient = new Redis(server.port)
    await new Promise((resolve) => patient.once('ready', resolve))
  })
  afterEach(() => patient.disconnect())
  const nameOfSet = () => `${prefix}:{${PEERS_TAG}}`

  let aheadMs = 0
  let timers: { readonly atMs: number; readonly action: () => void }[] = []
  /** The process's time, except for what takes as long as a heartbeat does. */
  const time: Time = {
    ...processTime,
    nowMs: () => aheadMs,
    after(ms, action) {
      if (ms !== 3_000) return processTime.after(ms, action)
      const timer = { atMs: aheadMs + ms, action }
      timers.push(timer)
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
  }

  /** For a process whose client is connected as long as it says so. */
  function heartbeatOf(isConnected: () => boolean): Heartbeat {
    const client: RedisLike = {
      get status() {
        return isConnected() ? 'ready' : 'end'
      },
      callBuffer: (command, args) => patient.callBuffer(command, args),
    }
    return new Heartbeat(ioredisConnection(client, CALM), {
      prefix,
      time,
      failed() {},
      watched() {},
    })
  }

  /** By the time of the process. */
  function isBackBy(store: RedisStore): Promise<void> {
    return waitUntil('the store is back', async () => isWell(store))
  }

  /** Lets three seconds pass, here and in Redis; then all beats have been answered. */
  async function beat(): Promise<void> {
    const ids = await patient.zrangebyscore(nameOfSet(), '-inf', '+inf')
    for (const id of ids) await patient.zincrby(nameOfSet(), -3_000, String(id))
    aheadMs += 3_000
    for (const timer of timers.filter(({ atMs }) => atMs <= aheadMs)) {
      timers.splice(timers.indexOf(timer), 1)
      timer.action()
    }
    for (let i = 0; i < 3; i += 1) await patient.ping()
  }

  test('is less by one that vanished after 20 to 26 s', async () => {
    let alive = true
    const beats = [() => true, () => true, () => alive].map(heartbeatOf)
    open.push({ close: () => Promise.all(beats.map((each) => each.stop())) })
    for (const each of beats) each.start()
    await beat()
    const counts = () => beats.slice(0, 2).map(({ peers }) => peers.count)
    expect(counts()).toEqual([3, 3])
    alive = false
    const seen: number[][] = []
    for (let i = 0; i < 9; i += 1) {
      await beat()
      seen.push(counts())
    }
    // It was last heard of at 0 s, and is first missed at 12 s; or at 9 s on a machine that takes a
    // second for these beats, since Redis's clock runs on.
    const at = (seconds: number) => seen[seconds / 3 - 1]
    expect(at(18)).toEqual([3, 3])
    expect(at(24)).toEqual([2, 2])
    const ranks = beats.slice(0, 2).map(({ peers }) => peers.rank)
    expect(ranks.sort()).toEqual([0, 1])
  })

  test('stays as it was if one that seemed to have vanished is heard of again', async () => {
    let alive = true
    const beats = [() => true, () => alive].map(heartbeatOf)
    open.push({ close: () => Promise.all(beats.map((each) => each.stop())) })
    for (const each of beats) each.start()
    await beat()
    const counts: (number | undefined)[] = []
    for (const isAlive of [
      false,
      false,
      false,
      false,
      false,
      false,
      true,
      false,
      false,
      false,
      false,
      false,
    ]) {
      alive = isAlive
      await beat()
      counts.push(beats[0]?.peers.count)
    }
    expect(counts).toEqual(counts.map(() => 2))
  })

  test('stays as it was while the heartbeat cannot reach Redis, and for 10 s afterwards', async () => {
    const { client, away, calls } = twoShards()
    const beats = () => calls.filter(({ tags }) => tags.includes(PEERS_TAG)).length
    const node = slotOf(PEERS_TAG) < 8_192 ? 'a:1' : 'b:1'
    const key = node === 'a:1' ? ON_A : ON_B
    for (const peer of ['peer-1', 'peer-2'])
      await patient.zadd(nameOfSet(), Date.now() + 3_600_000, peer)
    const store = redisStoreOf(time, client, { prefix, deadlineMs: 10_000 })
    open.push(store)
    const limiter = new RateLimiter({ name: newName(), store, policy })
    await limiter.consume(key)
    await beat()
    expect(store.health().instances).toBe(3)
    // In the process's time, since it would otherwise be heard of between two of the counted beats.
    await waitUntil('the beat soon after the first', async () => beats() === 3)
    away.add(node)
    for (let i = 0; i < 5; i += 1) await limiter.consume(key)
    // Nobody is heard of in the meantime, so the set is gone when Redis is back.
    await patient.del(nameOfSet())
    for (let i = 0; i < 10; i += 1) await beat()
    expect(store.health()).toMatchObject({ state: 'open', instances: 3 })
    away.clear()
    await isBackBy(store)
    const counts: number[] = []
    for (let i = 0; i < 5; i += 1) {
      await beat()
      counts.push(store.health().instances)
    }
    expect(counts).toEqual([3, 3, 3, 3, 1])
  })

  test('may fall while shares are in use, which stay as they are until the outage is over', async () => {
    const { client, away } = twoShards()
    // The heartbeat continues, since it is on the other shard.
    const [node, key] = slotOf(PEERS_TAG) < 8_192 ? ['b:1', ON_B] : ['a:1', ON_A]
    const peers = ['peer-1', 'peer-2', 'peer-3']
    for (const peer of peers) await patient.zadd(nameOfSet(), Date.now() + 3_600_000, peer)
    const store = redisStoreOf(time, client, { prefix, deadlineMs: 10_000 })
    open.push(store)
    const limiter = new RateLimiter({ name: newName(), store, policy })
    await limiter.consume(key)
    await beat()
    expect(store.health().instances).toBe(4)
    away.add(node)
    for (let i = 0; i < 100; i += 1) expect((await limiter.consume(key)).allowed).toBe(true)
    await patient.zrem(nameOfSet(), ...peers)
    for (let i = 0; i < 5; i += 1) await beat()
    expect(store.health()).toMatchObject({ state: 'open', instances: 1 })
    let allowed = 100
    for (let i = 0; i < LIMIT; i += 1) if ((await limiter.consume(key)).allowed) allowed += 1
    // A quarter of what was left.
    expect(allowed).toBeGreaterThan(245)
    expect(allowed).toBeLessThanOrEqual(250)
    away.clear()
    await isBackBy(store)
    away.add(node)
    let afterwards = 0
    for (let i = 0; i < LIMIT; i += 1) if ((await limiter.consume(key)).allowed) afterwards += 1
    expect(afterwards).toBe(LIMIT - 1 - allowed)
  })
})

test('a probe was made on another node if the slot of its key had moved there and nobody had asked since', async () => {
  const { client, slots, away, calls } = twoShards()
  const store = storeOn(client)
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const [other] = slots[slotOf('probe')] as [string]
  const [node, key] = other === 'a:1' ? ['b:1', ON_B] : ['a:1', ON_A]
  away.add(node)
  for (let i = 0; i < 5; i += 1) await limiter.consume(key)
  slots[slotOf(key)] = [other]
  await time.until(
    'it is probed',
    async () => calls.filter(({ mode }) => mode === 'penalty').length >= 2,
  )
  expect(new Set(calls.filter(({ mode }) => mode === 'penalty').map((call) => call.node))).toEqual(
    new Set([node]),
  )
  expect(store.health().nodes.find(({ name }) => name === node)?.state).toBe('open')
})

test('a key with one failed request was given a new budget in an outage', async () => {
  let away = false
  let late: Promise<void> | undefined
  let arrived = 0
  const client = clientBy(async (_, send) => {
    if (away) return lost()
    const reply = await send()
    await late
    arrived += 1
    return reply
  })
  const store = storeOn(client, { deadlineMs: 200 })
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: fixedWindow({ limit: 10, window: '5m' }),
  })
  await limiter.consume('k')
  let deliver = () => {}
  late = new Promise((resolve) => (deliver = resolve))
  expect((await time.settle(limiter.consume('k'))).degraded).toBe(true)
  deliver()
  late = undefined
  await time.until('the reply is here', async () => arrived >= 2)
  for (let left = 7; left >= 0; left -= 1) {
    expect(await limiter.consume('k')).toMatchObject({
      allowed: true,
      degraded: false,
      remaining: left,
    })
  }
  away = true
  expect(await limiter.consume('k')).toMatchObject({ allowed: false, degraded: true })
})

describe('what was settled', () => {
  const small = { limit: 10, window: '5m' } as const

  test.each<[string, Policy | { policy: Policy; whenUnavailable?: WhenUnavailable }[]]>([
    ['by itself', fixedWindow(small)],
    [
      'without a policy that does not count in memory',
      [
        { policy: fixedWindow(small) },
        { policy: slidingLog({ limit: 50, window: '1m' }), whenUnavailable: 'allow' },
      ],
    ],
  ])('was forgotten in an outage, if nobody had asked in between: %s', async (_, policies) => {
    let away = true
    const store = storeOn(clientBy((__, send) => (away ? lost() : send())))
    const limiter = new RateLimiter({ name: newName(), store, policy: policies })
    const take = (cost: number) => limiter.consume('k', { cost })
    expect(await take(3)).toMatchObject({ allowed: true, degraded: true })
    away = false
    expect(await take(4)).toMatchObject({ allowed: true, degraded: false })
    await time.until('it is settled', async () => store.health().localKeys === 0)
    await time.until('Redis has said so', async () => (await limiter.peek('k')).remaining === 3)
    away = true
    expect(await take(3)).toMatchObject({ allowed: true, degraded: true })
    expect(await take(1)).toMatchObject({ allowed: false, degraded: true })
  })

  test('was forgotten in an outage, if the reply came too late', async () => {
    let away = true
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let settlements = 0
    const client = clientBy(async ({ mode }, send) => {
      if (away) return lost()
      const reply = await send()
      if (mode === 'reconcile') {
        settlements += 1
        await held
      }
      return reply
    })
    const store = storeOn(client, { deadlineMs: 200 })
    const limiter = new RateLimiter({ name: newName(), store, policy: fixedWindow(small) })
    const take = (cost: number) => limiter.consume('k', { cost })
    expect(await take(3)).toMatchObject({ allowed: true, degraded: true })
    away = false
    // It waits until that is counted, and no longer than its deadline.
    expect(await time.settle(take(4))).toMatchObject({ allowed: true, degraded: true })
    expect(settlements).toBeGreaterThan(0)
    release()
    await isBack(store)
    away = true
    expect(await take(4)).toMatchObject({ allowed: false, degraded: true })
    expect(await take(3)).toMatchObject({ allowed: true, degraded: true })
  })

  test('for some policies was kept by a reset', async () => {
    let away = true
    const store = storeOn(clientBy((_, send) => (away ? lost() : send())))
    const policy = [
      { policy: fixedWindow(small) },
      { policy: slidingLog({ limit: 50, window: '1m' }), whenUnavailable: 'allow' as const },
    ]
    const limiter = new RateLimiter({ name: newName(), store, policy })
    for (let i = 0; i < 10; i += 1) expect((await limiter.consume('k')).degraded).toBe(true)
    away = false
    await isBack(store)
    await time.until('it is settled', async () => store.health().localKeys === 0)
    await time.until('Redis has said so', async () => (await limiter.peek('k')).remaining === 0)
    await limiter.reset('k')
    away = true
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: true })
  })
})

describe('what was lost', () => {
  const half = { limit: 100, window: '5m' } as const
  const algorithms: [string, Policy][] = [
    ['a window', fixedWindow(half)],
    ['an aligned window', fixedWindow({ ...half, window: '10d', aligned: true })],
    ['a counter', slidingCounter({ ...half, window: '10d' })],
    ['a sliding window', slidingWindow(half)],
    ['a log', slidingLog(half)],
    ['a bucket', tokenBucket({ capacity: 100, refill: 1, every: '10m' })],
  ]
  const bursts = [
    { left: 0, burst: 10 },
    { left: 0, burst: 150 },
    { left: 3, burst: 10 },
    { left: 40, burst: 40 },
    { left: 90, burst: 300 },
  ]

  /** A process that sends requests, and its calls and events. */
  function processOf(name: string, policy: Policy) {
    const modes: string[] = []
    const client = clientBy(({ mode }, send) => {
      modes.push(mode)
      return send()
    })
    const store = storeOn(client, { denyCache: false, instances: 2 })
    const limiter = new RateLimiter({ name, store, policy, shared: true })
    const losses: string[] = []
    store.on('data-loss', ({ key }) => losses.push(key))
    return { limiter, losses, modes }
  }

  /** Some share a call, and some are sent before the first answer comes. Returns what was
   *  admitted. */
  async function atOnce(limiter: RateLimiter, count: number): Promise<number> {
    const asked = Array.from({ length: count }, async (_, i) => {
      if (i >= count / 2) await new Promise((resolve) => setImmediate(resolve))
      return limiter.consume('k', { cost: 1 + (i % 3 === 2 ? 1 : 0) })
    })
    const decisions = await Promise.all(asked)
    return decisions.reduce(
      (sum, { allowed }, i) => sum + (allowed ? 1 + (i % 3 === 2 ? 1 : 0) : 0),
      0,
    )
  }

  /** What passes of requests that come one after another. */
  async function afterwards(...limiters: RateLimiter[]): Promise<number> {
    let admitted = 0
    for (let i = 0; i < 120; i += 1) {
      const { allowed } = await (limiters[i % limiters.length] as RateLimiter).consume('k')
      if (allowed) admitted += 1
    }
    return admitted
  }

  /** A part of a unit of a counter or a bucket may have come back. */
  const spare = ({ algorithm }: Policy) => (/counter|bucket/.test(algorithm) ? 1 : 0)

  describe.each(algorithms)(
    'is restored once, and no more passes than what was in flight and what was left: %s',
    (_, policy) => {
      test.each(bursts)('$left left, $burst in flight', async ({ left, burst }) => {
        const { limiter, losses, modes } = processOf(newName(), policy)
        await limiter.consume('k', { cost: 100 - left })
        await new Promise((resolve) => setTimeout(resolve, 5))
        await redis.flushall()
        const extra = await atOnce(limiter, burst)
        expect(await afterwards(limiter)).toBeLessThanOrEqual(left + spare(policy))
        // If as much is in use again as was seen, there may be nothing to restore.
        if (extra < 100 - left) expect(losses).toEqual(['k'])
        expect(modes.filter((mode) => mode === 'restore').length).toBe(1)
      })

      test('in each of two processes', async () => {
        const name = newName()
        const [one, other] = [processOf(name, policy), processOf(name, policy)]
        await one.limiter.consume('k', { cost: 99 })
        await other.limiter.consume('k', { cost: 1 })
        await one.limiter.consume('k')
        await new Promise((resolve) => setTimeout(resolve, 5))
        await redis.flushall()
        await Promise.all([one, other].map(({ limiter }) => atOnce(limiter, 30)))
        expect(await afterwards(one.limiter, other.limiter)).toBeLessThanOrEqual(spare(policy))
        expect(one.losses.length + other.losses.length).toBeGreaterThan(0)
      })

      test('if a settlement above the estimate is the first to ask', async () => {
        const { limiter, losses } = processOf(newName(), policy)
        await limiter.consume('k', { cost: 98 })
        const decision = await limiter.consume('k', { cost: 2 })
        await new Promise((resolve) => setTimeout(resolve, 60))
        await redis.flushall()
        await limiter.settle(decision, 5)
        expect(await afterwards(limiter)).toBeLessThanOrEqual(spare(policy))
        expect(losses).toEqual(['k'])
      })

      test('but not if it was forgotten on purpose', async () => {
        const name = newName()
        const [one, other] = [processOf(name, policy), processOf(name, policy)]
        await one.limiter.consume('k', { cost: 10 })
        await other.limiter.reset('k')
        const asked = Array.from({ length: 15 }, () => one.limiter.consume('k'))
        expect((await Promise.all(asked)).every(({ allowed }) => allowed)).toBe(true)
        expect(one.losses).toEqual([])
        expect((await one.limiter.peek('k')).remaining).toBe(85)
      })
    },
  )

  test('was taken from all policies, when units of one were given back by another process', async () => {
    let nowUs = Date.UTC(2026, 0, 1) * 1_000
    const policy = [
      fixedWindow({ limit: 100, window: '10m' }),
      slidingLog({ limit: 10, window: '30s' }),
    ]
    const name = newName()
    const [one, other] = [0, 1].map(() => {
      const store = storeOn(
        clientBy((_, send) => send()),
        { clock: { nowUs: () => nowUs }, instances: 2 },
      )
      store.on('data-loss', ({ key }) => expect.fail(`nothing of ${key} was lost`))
      return new RateLimiter({ name, store, policy, shared: true })
    }) as [RateLimiter, RateLimiter]
    const receipt = await other.consume('k')
    nowUs += 60_000_000
    await one.consume('k', { cost: 8 })
    nowUs += 20_000_000
    await one.consume('k', { cost: 2 })
    nowUs += 15_000_000
    await other.refund(receipt)
    expect((await one.consume('k', { cost: 8 })).allowed).toBe(true)
    expect((await one.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([82, 0])
  })
})

describe('what was seen', () => {
  test.each([
    ['a window', fixedWindow({ limit: 100, window: '5m' })],
    ['a bucket', tokenBucket({ capacity: 100, refill: 1, every: '1m' })],
  ])('is restored when another process was asked first after a loss: %s', async (_, some) => {
    const name = newName()
    const [mine, theirs] = [0, 1].map(() => {
      const store = storeOn(
        clientBy((__, send) => send()),
        { denyCache: false, instances: 2 },
      )
      return new RateLimiter({ name, store, policy: some, shared: true })
    }) as [RateLimiter, RateLimiter]
    for (let i = 0; i < 100; i += 1) expect((await mine.consume('k')).allowed).toBe(true)
    await redis.flushall()
    expect((await theirs.consume('k')).allowed).toBe(true)
    let allowed = 0
    for (let i = 0; i < 100; i += 1)
      if ((await (i % 2 > 0 ? theirs : mine).consume('k')).allowed) allowed += 1
    // The one whose answer showed the loss.
    expect(allowed).toBe(1)
  })

  test.each([
    ['a window', fixedWindow({ limit: 100, window: '5m' })],
    ['a log', slidingLog({ limit: 100, window: '5m' })],
  ])(
    'is given up if it could not be restored, so that the limit passes again: %s',
    async (_, some) => {
      let raises = 0
      const client = clientBy(({ mode }, send) => {
        if (mode !== 'restore') return send()
        raises += 1
        return lost()
      })
      const limiter = new RateLimiter({ name: newName(), store: storeOn(client), policy: some })
      for (let i = 0; i < 60; i += 1) await limiter.consume('k')
      // A log that is lost within the millisecond of its last entry looks like one that is not.
      await new Promise((resolve) => setTimeout(resolve, 5))
      await redis.flushall()
      let allowed = 0
      for (let i = 0; i < 150; i += 1) if ((await limiter.consume('k')).allowed) allowed += 1
      expect(raises).toBeGreaterThan(0)
      expect(allowed).toBe(100)
    },
  )

  test('and is being restored while the key is reset, is forgotten', async () => {
    const modes: string[] = []
    let fail: ((error: Error) => void) | undefined
    const client = clientBy(({ mode }, send) => {
      modes.push(mode)
      if (mode !== 'restore' || fail !== undefined) return send()
      return new Promise((_, reject) => {
        fail = reject
      })
    })
    const limiter = new RateLimiter({ name: newName(), store: storeOn(client), policy })
    for (let i = 0; i < 60; i += 1) await limiter.consume('k')
    await redis.flushall()
    await limiter.consume('k')
    await time.until('the loss is told', async () => modes.includes('restore'))
    await limiter.reset('k')
    fail?.(new Error('Connection is closed.'))
    modes.length = 0
    await limiter.consume('k')
    await limiter.peek('k')
    expect(modes.filter((mode) => !['penalty', 'restore'].includes(mode))).toEqual([
      'consume',
      'peek',
    ])
    expect((await limiter.peek('k')).remaining).toBe(LIMIT - 1)
  })

  test('of an exhausted key was pushed out by other keys', async () => {
    let away = false
    const store = storeOn(clientBy((_, send) => (away ? lost() : send())))
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: fixedWindow({ limit: 10, window: '5m' }),
    })
    for (let i = 0; i < 10; i += 1) await limiter.consume('k')
    for (let i = 0; i < 40_000; i += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, j) => limiter.consume(`other-${i + j}`)))
    }
    away = true
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, degraded: true })
  })

  test('was forgotten with the policy set, though an equal one was made', async () => {
    let away = false
    const store = storeOn(clientBy((_, send) => (away ? lost() : send())))
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: (key: string) => fixedWindow({ limit: key === 'k' ? 10 : Number(key), window: '5m' }),
    })
    for (let i = 0; i < 10; i += 1) await limiter.consume('k')
    for (let i = 100; i < 1_200; i += 1) await limiter.consume(`${i}`)
    away = true
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, degraded: true })
  })
})

test('a penalty was lost if requests are denied in the meantime', async () => {
  let away = false
  const name = newName()
  const store = storeOn(
    clientBy((_, send) => (away ? lost() : send())),
    { whenUnavailable: 'deny' },
  )
  const limiter = new RateLimiter({ name, store, policy })
  await limiter.consume('k')
  away = true
  for (let i = 0; i < 5; i += 1) expect((await limiter.consume('k')).allowed).toBe(false)
  expect(await limiter.penalty('k', { cost: 50 })).toMatchObject({ allowed: true, degraded: true })
  away = false
  await isBack(store)
  await time.until('it is settled', async () => store.health().localKeys === 0)
  expect(await counted(name, ['k'])).toEqual([51])
})

test('a reset was undone if some policies count in memory and some do not', async () => {
  let away = false
  const store = storeOn(clientBy((_, send) => (away ? lost() : send())))
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: [
      { policy: fixedWindow({ name: 'a', limit: 5, window: '5m' }) },
      { policy: fixedWindow({ name: 'b', limit: 50, window: '5m' }), whenUnavailable: 'allow' },
    ],
  })
  away = true
  for (let i = 0; i < 3; i += 1) expect((await limiter.consume('k')).degraded).toBe(true)
  away = false
  await limiter.reset('k')
  expect(store.health().localKeys).toBe(0)
  expect((await limiter.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([5, 50])
})

test('a decision over several slots waited for each of them', async () => {
  const { client } = twoShards()
  const hung: RedisLike = { ...client, callBuffer: () => new Promise(() => {}) }
  const store = storeOn(hung, { deadlineMs: 1_000 })
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: ['a', 'b', 'c', 'd', 'e', 'f'].map((own, i) => {
      return { policy: fixedWindow({ name: own, limit: 10 + i, window: '5m' }), key: own }
    }),
  })
  const startedMs = time.nowMs()
  expect((await time.settle(limiter.consume('k'))).degraded).toBe(true)
  expect(time.nowMs() - startedMs).toBeLessThanOrEqual(1_010)
})

test('calls that were split had their whole time again', async () => {
  const store = storeOn(
    clientBy(async () => {
      await new Promise<void>((resolve) => time.after(1_600, resolve))
      throw new Error(
        'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request',
      )
    }),
    { deadlineMs: 2_000 },
  )
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const startedMs = time.nowMs()
  const asked = Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
  const decisions = await time.settle(asked)
  expect(decisions.map(({ degraded }) => degraded)).toEqual([true, true, true])
  expect(time.nowMs() - startedMs).toBeLessThanOrEqual(2_010)
})

test('a clock that steps back is not taken for lost data', async () => {
  const clock = fakeClock()
  const store = redisStore(redis, { clock, instances: 1, deadlineMs: 10_000 })
  const losses: unknown[] = []
  store.on('data-loss', (event) => losses.push(event))
  const buckets = tokenBucket({ name: 'p', capacity: 10, refill: 10, every: '10s' })
  const limiter = new RateLimiter({ name: newName(), store, policy: buckets })
  await limiter.consume('k', { cost: 10 })
  // Stamped again as used up: a whole bucket, and not one and a half minutes.
  clock.advance(-90_000)
  const { resetAfterMs } = await limiter.penalty('k', { cost: 1 })
  expect(resetAfterMs).toBeLessThanOrEqual(20_000)
  clock.advance(resetAfterMs)
  await new Promise((resolve) => setImmediate(resolve))
  expect((await limiter.consume('k', { cost: 10 })).allowed).toBe(true)
  expect(losses).toEqual([])
  await store.close()
})

test('a store that was closed decides nothing, and starts no timer', async () => {
  const store = redisStore(clientBy((_, send) => send()))
  await store.close()
  const every = vi.spyOn(globalThis, 'setInterval')
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const message = expect.stringContaining('the store is closed; make a new one')
  const closed = { name: 'StoreError', message }
  await expect(limiter.consume('k')).rejects.toMatchObject(closed)
  await expect(limiter.reset('k')).rejects.toMatchObject(closed)
  expect(every).not.toHaveBeenCalled()
  every.mockRestore()
})

test('log lines come once a second for each kind of event', async () => {
  const lines: string[] = []
  const store = storeOn(
    clientBy(() => lost()),
    { log: (line) => lines.push(line) },
  )
  const limiter = new RateLimiter({ name: newName(), store, policy })
  for (let i = 0; i < 100; i += 1) await limiter.consume(`k${i}`)
  expect(lines.map((line) => line.split(':', 2)[1]?.trim()).sort()).toEqual(['breaker', 'fallback'])
})
