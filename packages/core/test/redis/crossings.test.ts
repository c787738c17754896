// `notifyAt`: each crossing of a share is reported once. Walks on every store compare reports with
// what peeks say before and after; processes on one Redis, with the totals that Redis wrote, in its
// order. WEIR_WEEKLY=1 takes longer walks, from seeds that it draws.

import { channel } from 'node:diagnostics_channel'
import { isWeekly, type RedisServer, seedOf, startRedis, stepsOf } from '@weir/testkit'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Crossing, RedisLike } from '../../src/entries/store.js'
import {
  budget,
  concurrency,
  type Decision,
  fixedWindow,
  gcra,
  lockout,
  memoryStore,
  type Policy,
  policyFrom,
  RateLimiter,
  type RateLimiterOptions,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import type { Store, StoreRequest, StoreResult } from '../../src/store.js'
import { type FakeClock, fakeClock } from '../../src/testing/clock.js'
import { tableStore } from '../database/table-store.js'
import { randomFrom } from '../virtual-time.js'
import { clusterClient, newName, singleClient } from './clients.js'
import { type SpendReport, spend } from './holders/holder.js'
import { reportOf, startHolder } from './holders/start-holder.js'
import { patientClient, patientStore, redisStoreOf } from './patient.js'
import { stepTime } from './step-time.js'

const redis = singleClient()
const stores: Readonly<Record<string, (clock: FakeClock) => Store | Promise<Store>>> = {
  memory: (clock) => memoryStore({ clock }),
  rows: tableStore,
  Redis: (clock) => patientStore(redis, { clock, prefix: newName() }),
}
const SHARES = { notifyAt: [0.5, 0.8, 1] }
const all: readonly Policy[] = [
  budget({ name: 'budget', limit: 20, holdTimeout: '10s', forgetAfter: '60s', ...SHARES }),
  budget({ name: 'spent', limit: 20, forgetAfter: '60s', ...SHARES }),
  fixedWindow({ name: 'fixed', limit: 20, window: '10s', ...SHARES }),
  fixedWindow({ name: 'hourly', limit: 20, window: 'hour', ...SHARES }),
  slidingWindow({ name: 'window', limit: 20, window: '10s', ...SHARES }),
  slidingLog({ name: 'log', limit: 20, window: '10s', ...SHARES }),
  slidingCounter({ name: 'counter', limit: 20, window: '10s', ...SHARES }),
  tokenBucket({ name: 'bucket', capacity: 20, refill: 2, every: '1s', ...SHARES }),
  gcra({ name: 'gcra', limit: 20, period: '10s', ...SHARES }),
]
const STEPS = stepsOf(150, 3_000)

/** A limiter, and what it has told since the last call of `told`. */
function listening(options: RateLimiterOptions) {
  const crossings: Crossing[] = []
  const limiter = new RateLimiter({ ...options, onCrossing: (each) => crossings.push(each) })
  const told = (): string[] =>
    crossings.splice(0).map(({ policy, key, share, used }) => {
      return `${policy.name} ${key} ${share} ${used}`
    })
  return { limiter, told }
}

function crossedIn({ policies }: Pick<Decision, 'policies'>): (readonly number[] | undefined)[] {
  return policies.map(({ crossed }) => crossed)
}

test.each(Object.keys(stores))(
  `%s: what is crossed is what peeks say, for each algorithm, over ${STEPS} steps`,
  async (name) => {
    for (const policy of all) {
      const random = randomFrom(seedOf(7))
      const below = (most: number): number => Math.floor(most * random())
      const clock = fakeClock()
      const store = await stores[name]?.(clock)
      const reserve = { batch: 0.25 }
      const { limiter, told } = listening({ name: 'api', policy, reserve, store })
      const usedNow = async (): Promise<number> => 20 - (await limiter.peek('k')).remaining
      let open: Decision[] = []
      let before = 0
      for (let step = 0; step < STEPS; step += 1) {
        const cost = below(9)
        clock.advance(below(4) === 0 ? below(3_000) : 0)
        // What time gives back is no crossing.
        before = await usedNow()
        expect(told()).toEqual([])
        let crossed: readonly number[] | undefined
        const lot = below(8)
        if (lot < 3) {
          const priority = lot === 0 ? 'batch' : undefined
          const decision = await limiter.consume('k', { cost, priority })
          if (decision.allowed) open.push(decision)
          crossed = crossedIn(decision)[0]
        } else if (lot === 3) crossed = crossedIn(await limiter.consumeUpTo('k', 1 + cost))[0]
        else if (lot === 4) crossed = crossedIn(await limiter.penalty('k', { cost: 2 * cost }))[0]
        else if (lot === 5) await limiter.refund('k', { cost })
        else {
          const [decision] = open.splice(below(open.length), 1)
          if (decision !== undefined) {
            const { policies } = await limiter.settle(decision, below(14))
            crossed = policies[0]?.crossed
          }
        }
        const after = await usedNow()
        const expected = [0.5, 0.8, 1].filter((share) => before < 20 * share && 20 * share <= after)
        const what = `${policy.name}, step ${step}: ${before} to ${after}`
        expect([what, crossed ?? []]).toEqual([what, expected])
        expect(told()).toEqual(expected.map((share) => `${policy.name} k ${share} ${after}`))
        if (below(20) === 0) open = []
      }
    }
  },
)

test('of many calls that Redis decides as one, one says that it has crossed', async () => {
  const policy = fixedWindow({ name: 'fixed', limit: 200, window: '1d', ...SHARES })
  const store = patientStore(redis, { prefix: newName() })
  const { limiter, told } = listening({ name: 'api', policy, store, reserve: { batch: 0.1 } })
  for (const priority of ['batch', undefined]) {
    const all = Array.from({ length: 250 }, () => limiter.consume('k', { priority }))
    const crossed = (await Promise.all(all)).flatMap(({ policies: [each], remaining }) =>
      (each?.crossed ?? []).map((share) => [share, remaining]),
    )
    const ofBatch = [
      [0.5, 80],
      [0.8, 20],
    ]
    expect(crossed).toEqual(priority === 'batch' ? ofBatch : [[1, 0]])
  }
  expect(told()).toEqual(['fixed k 0.5 100', 'fixed k 0.8 160', 'fixed k 1 200'])
  await limiter.reset('k')
  // Several calls that wait together may share an answer, so only the event says it.
  const waited = await Promise.all(Array.from({ length: 100 }, () => limiter.wait('k')))
  expect(waited.flatMap(crossedIn)).toEqual(Array(100).fill(undefined))
  expect(told()).toEqual(['fixed k 0.5 100'])
})

test('turns of a bucket that are past its limit cross nothing twice, and a policy key is named', async () => {
  const policy = [
    {
      policy: tokenBucket({ name: 'bucket', capacity: 4, refill: 4, every: '1h', ...SHARES }),
      key: 'tenant',
    },
  ]
  const store = patientStore(redis, { prefix: newName() })
  const { limiter, told } = listening({ name: 'api', policy, store })
  const turns = Array.from({ length: 8 }, () => limiter.wait('k', { timeout: '2h' }))
  await Promise.all(turns.slice(0, 4))
  const ended = Promise.allSettled(turns)
  // The other turns are in an hour; they were reserved before this was decided.
  expect((await limiter.peek('k')).allowed).toBe(false)
  expect(told()).toEqual(['bucket tenant 0.5 2', 'bucket tenant 0.8 4', 'bucket tenant 1 4'])
  limiter.close()
  await ended
})

describe('while Redis is away', () => {
  const time = stepTime(() => redis.ping())

  /** A limiter whose calls are lost before Redis has them, lost after it, or late. */
  function worldOf(policy: Policy) {
    const world = { fault: 'none' as 'none' | 'lost' | 'reply lost' | 'late', release() {} }
    const client: RedisLike = {
      status: 'ready',
      async callBuffer(command, args) {
        if (world.fault === 'lost') throw new Error('Connection is closed.')
        const reply = await redis.callBuffer(command, args)
        if (world.fault === 'reply lost') throw new Error('Connection is closed.')
        if (world.fault === 'late')
          await new Promise<void>((resolve) => {
            world.release = resolve
          })
        return reply
      },
    }
    const prefix = newName()
    const store = redisStoreOf(time, client, { instances: 1, deadlineMs: 100, prefix })
    onTestFinished(() => time.settle(store.close()))
    const made = listening({ name: 'api', policy, store })
    const isBack = (): Promise<void> =>
      time.until('all to be counted', () => {
        const { state, localKeys } = store.health()
        return state !== 'open' && localKeys === 0
      })
    return Object.assign(world, made, { isBack })
  }

  test('a decision without it tells nothing, and counting it there is an event', async () => {
    const world = worldOf(fixedWindow({ name: 'fixed', limit: 10, window: '1d', ...SHARES }))
    const { limiter, told } = world
    await time.settle(limiter.consume('k', { cost: 4 }))
    world.fault = 'lost'
    const local = await time.settle(limiter.consume('k', { cost: 5 }))
    expect(local).toMatchObject({ allowed: true, degraded: true, remaining: 1 })
    expect(crossedIn(local)).toEqual([undefined])
    expect(told()).toEqual([])
    world.fault = 'none'
    await world.isBack()
    expect(told()).toEqual(['fixed k 0.5 9', 'fixed k 0.8 9'])
    // Below the share, and over it again.
    await time.settle(limiter.refund('k', { cost: 2 }))
    expect(crossedIn(await time.settle(limiter.consume('k')))).toEqual([[0.8]])
    expect(told()).toEqual(['fixed k 0.8 8'])
  })

  test('a late reply is an event, and one that is lost is told by nobody', async () => {
    const world = worldOf(fixedWindow({ name: 'fixed', limit: 10, window: '1d', ...SHARES }))
    const { limiter, told } = world
    world.fault = 'late'
    const late = limiter.consume('k', { cost: 5 })
    expect(await time.settle(late)).toMatchObject({ degraded: true })
    expect(told()).toEqual([])
    world.fault = 'none'
    world.release()
    await world.isBack()
    expect(told()).toEqual(['fixed k 0.5 5'])
    world.fault = 'reply lost'
    await time.settle(limiter.penalty('k', { cost: 3 }))
    world.fault = 'none'
    await world.isBack()
    // The penalty is counted a second time, as nobody knows of the first.
    expect(told()).toEqual(['fixed k 1 10'])
  })

  test.each([
    ['is made', 'lost', ['held k 0.5 8', 'held k 0.8 8']],
    ['is repeated in vain', 'reply lost', []],
  ] as const)(
    'a settlement that is owed and %s tells what it crosses',
    async (_, fault, crossed) => {
      const world = worldOf(budget({ name: 'held', limit: 10, holdTimeout: '10m', ...SHARES }))
      const { limiter, told } = world
      const decision = await time.settle(limiter.consume('k'))
      world.fault = fault
      await time.settle(limiter.settle(decision, 8))
      world.fault = 'none'
      await world.isBack()
      expect(told()).toEqual(crossed)
      expect((await time.settle(limiter.peek('k'))).remaining).toBe(2)
    },
  )
})

test('the channel and the statistics have each crossing; leases and the deny cache hide none', async () => {
  const policy = fixedWindow({ name: 'fixed', limit: 100, window: '1d', notifyAt: [0.5, 1] })
  const store = patientStore(redis, {
    prefix: newName(),
    leases: { units: 100, holdMs: 1_000 },
    denyCache: true,
  })
  const { limiter, told } = listening({ name: 'api', policy, store })
  const heard: unknown[] = []
  const hear = (message: unknown): void => void heard.push(message)
  channel('weir:crossing').subscribe(hear)
  onTestFinished(() => void channel('weir:crossing').unsubscribe(hear))
  const sources = new Set<string>()
  for (let i = 0; i < 120; i += 1) sources.add((await limiter.consume('k')).source)
  expect(sources).toEqual(new Set(['store', 'cache']))
  expect(heard).toEqual([
    { limiter: 'api', policy, key: 'k', share: 0.5, used: 50 },
    { limiter: 'api', policy, key: 'k', share: 1, used: 100 },
  ])
  expect(told()).toHaveLength(2)
  expect(limiter.stats().policies[0]?.crossings).toEqual([
    { share: 0.5, count: 1 },
    { share: 1, count: 1 },
  ])
})

test('an estimate that has expired and is taken anew tells what it crosses, and one that is renewed in time nothing', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const policy = budget({ name: 'held', limit: 10, holdTimeout: '10s', ...SHARES })
  const { limiter, told } = listening({ policy, store })
  const decision = await limiter.consume('k', { cost: 8 })
  expect(told()).toEqual(['held k 0.5 8', 'held k 0.8 8'])
  if (!decision.allowed) throw new Error('denied')
  const { request, result } = decision.receipt
  const renew = (): void => {
    const { target, costs } = request as StoreRequest
    const { untilUs, nowUs } = result as StoreResult
    store.decide({ mode: 'renew', target, costs, count: 1, untilUs, seenUs: nowUs })
  }
  renew()
  expect(told()).toEqual([])
  clock.advance(20_000)
  renew()
  expect(told()).toEqual(['held k 0.5 8', 'held k 0.8 8'])
})

test('across slots, a part tells what it crosses, even if another part then denies', async () => {
  const policy = [
    { policy: fixedWindow({ name: 'small', limit: 10, window: '1d', ...SHARES }), key: 'one' },
    { policy: fixedWindow({ name: 'large', limit: 100, window: '1d' }), key: 'other' },
  ]
  const store = patientStore(clusterClient(), { prefix: newName() })
  const { limiter, told } = listening({ name: 'api', policy, store })
  const cost = { small: 5, large: 60 }
  expect(crossedIn(await limiter.consume('k', { cost }))).toEqual([[0.5], undefined])
  const denied = await limiter.consume('k', { cost })
  expect(denied.allowed).toBe(false)
  expect(crossedIn(denied)).toEqual([[0.8, 1], undefined])
  expect(told()).toEqual(['small one 0.5 5', 'small one 0.8 10', 'small one 1 10'])
})

test('a settlement says when its estimate had expired', async () => {
  const clock = fakeClock()
  const policy = budget({ name: 'held', limit: 10, holdTimeout: '10s', ...SHARES })
  const { limiter } = listening({ policy, store: memoryStore({ clock }) })
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => limiter.consume('k')))
  const none = { policies: [], late: false }
  expect(await limiter.settle(first as Decision, 2)).toMatchObject({ late: false })
  expect(await limiter.settle(first as Decision, 2)).toEqual(none)
  clock.advance(9_999)
  expect(await limiter.settle(second as Decision, 2)).toMatchObject({ late: false })
  // Rounded up by at most a sixtieth.
  clock.advance(168)
  const late = await limiter.settle(third as Decision, 3)
  expect(late).toMatchObject({ late: true, policies: [{ remaining: 3, crossed: [0.5] }] })
})

test('shares are checked, kept as data, and refused where usage comes and goes with each request', () => {
  const shape = { limit: 10, window: '1m' } as const
  const wrong = [
    [],
    [0],
    [1.1],
    [0.8, 0.5],
    [0.5, 0.5],
    ['1'],
    0.8,
    Array(11).fill(0.5),
    [Number.NaN],
  ]
  for (const notifyAt of wrong)
    expect(() => fixedWindow({ ...shape, notifyAt: notifyAt as number[] })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }),
    )
  const data = { algorithm: 'fixed-window', ...shape, notifyAt: [0.7, 1] }
  expect(policyFrom(data)).toMatchObject({ notifyAt: [0.7, 1] })
  expect(policyFrom(data).signature).not.toBe(fixedWindow(shape).signature)
  const slots = { limit: 10, holdTimeout: '10s', notifyAt: [1] } as const
  const attempts = { ...shape, block: ['1m'], forget: '1d', notifyAt: [1] } as const
  for (const make of [
    () => concurrency(slots),
    () => lockout(attempts),
    () => unlimited({ notifyAt: [1] } as object),
  ])
    expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }))
})

const DECISIONS = stepsOf(10_000, 200_000)

// Processes take 10 s to start, so `npm test` has 8 stores on connections of their own.
const members = isWeekly ? 'processes' : 'stores'

test(`8 ${members} tell each crossing once, over ${DECISIONS} decisions with refunds and settlements`, async () => {
  const server: RedisServer = await startRedis()
  const client = await patientClient(server.port)
  onTestFinished(async () => {
    client.disconnect()
    await server.stop()
  })
  const children = isWeekly ? await Promise.all(Array.from({ length: 8 }, startHolder)) : []
  // On a connection of its own.
  const monitor = await client.monitor()
  const written = writtenTotals()
  monitor.on('monitor', (_time: string, args: string[]) => written.note(args))
  const seed = seedOf(1)
  const reports = await Promise.all(
    Array.from({ length: 8 }, (_, i) => {
      const child = children[i]
      const shape = { port: server.port, prefix: 'spend:', decisions: DECISIONS / 8 }
      const job = { ...shape, seed: seed + i }
      return child === undefined ? spend(Redis, job) : reportOf<SpendReport>(child, job)
    }),
  )
  // The last command that the monitor sees.
  const seen = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [command]: string[]) => {
      if (command === 'echo') resolve()
    })
  })
  await client.echo('end')
  await seen
  monitor.disconnect()
  const told: Record<string, number> = {}
  for (const report of reports)
    for (const [id, times] of Object.entries(report)) told[id] = (told[id] ?? 0) + times
  expect({ seed, told }).toEqual({ seed, told: written.crossings })
  expect(Object.keys(told).length).toBeGreaterThan(30)
})

/** The totals of counters as Redis writes them, one after the other: 'count:end' of a window,
 *  'end:used' or 'end:used:...' of a budget, whose beginning may be written alone. */
function writtenTotals() {
  const limits: Readonly<Record<string, number>> = { held: 400, daily: 400, all: 3_000 }
  const shares: Readonly<Record<string, readonly number[]>> = {
    held: [200, 320, 400],
    daily: [200, 320, 400],
    all: [2_700],
  }
  const totals = new Map<string, number>()
  const crossings: Record<string, number> = {}
  function note([command = '', key = '', ...more]: string[]): void {
    const [, policy = ''] = /:spend:(\w+)/.exec(key) ?? []
    const isWritten = /^(set|setrange|del)$/i.test(command)
    if (key.endsWith(':mark') || !isWritten || !(policy in limits)) return
    const [value = ''] = /^setrange$/i.test(command) ? more.slice(1) : more
    const [first = 0, second = 0] = value.split(':').map(Number)
    const total = /^del$/i.test(command) ? 0 : policy === 'daily' ? first : second
    const before = totals.get(key) ?? 0
    totals.set(key, total)
    for (const units of shares[policy] ?? []) {
      if (before >= units || total < units) continue
      const name = policy === 'all' ? 'everybody' : /\{(.*)\}/.exec(key)?.[1]
      const id = `${policy} ${name} ${units / (limits[policy] as number)}`
      crossings[id] = (crossings[id] ?? 0) + 1
    }
  }
  return { note, crossings }
}
