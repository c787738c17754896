// A store of five layers and its fallback, in virtual time: the deny cache, leases, across slots,
// resilience and batching, in front of a Cluster of two nodes that are slow, go away and come back.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fixedWindow, slidingLog } from '../../src/index.js'
import { LAYER, promiseOf } from '../../src/layer.js'
import { ALONE } from '../../src/layers/resilience/peers.js'
import { layeredStore } from '../../src/layers/resilience/resilient.js'
import { layersOver } from '../../src/redis/store.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest, StoreResult, Target } from '../../src/store.js'
import { randomFrom, type VirtualTime, virtualTime } from '../virtual-time.js'
import { type FakeCluster, fakeCluster, keyOn } from './fake-nodes.js'
import { memoryIn, onTarget } from './requests.js'

const DEADLINE_MS = 100

const timersOfProcess = ['setTimeout', 'setImmediate', 'setInterval'] as const
beforeEach(() => {
  for (const name of timersOfProcess) vi.spyOn(globalThis, name)
  vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
})
afterEach(() => {
  for (const name of timersOfProcess) expect(globalThis[name]).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

// All requests of a test are within one window.
const users = makePolicySet('users', [slidingLog({ name: 'user', limit: 50, window: '1h' })])
const hot = makePolicySet('hot', [slidingLog({ name: 'hot', limit: 20_000, window: '1h' })])
const pairs = makePolicySet('pairs', [
  fixedWindow({ name: 'address', limit: 200, window: '1h' }),
  fixedWindow({ name: 'account', limit: 120, window: '1h' }),
])
const denied = makePolicySet('denied', [fixedWindow({ name: 'none', limit: 3, window: '1h' })])

/** The size of a lease. */
const UNITS = 100

interface World {
  readonly time: VirtualTime
  readonly cluster: FakeCluster
  readonly store: ReturnType<typeof layeredStore>
  readonly events: [string, string, number | string | undefined][]
}

function worldOf(seed = 1): World {
  const time = virtualTime(seed)
  const cluster = fakeCluster(time)
  const { slotsOf } = cluster
  const options = {
    clock: undefined,
    deadlineMs: DEADLINE_MS,
    whenUnavailable: 'local',
    maxLocalKeys: 1_000,
    denyCache: true,
    leases: { units: UNITS, holdMs: 50 },
    log: undefined,
  } as const
  const backend = { ...cluster.backend, peers: () => ALONE, slotsOf }
  const layers = layersOver(backend, options, time)
  const store = layeredStore(layers.first, layers.resilience, {
    local: false,
    reserves: true,
    async close() {
      layers.leases?.close()
      layers.resilience.close()
    },
  })
  const events: World['events'] = []
  store.on('breaker', ({ node, state }) => void events.push(['breaker', node, state]))
  store.on('reconciled', ({ node, keys }) => void events.push(['reconciled', node, keys]))
  store.on('data-loss', ({ limiter, key }) => void events.push(['data-loss', limiter, key]))
  return { time, cluster, store, events }
}

/** A decision, and how it was made. */
interface Logged {
  readonly what: string
  readonly atMs: number
  readonly tookMs: number
  readonly granted: number
  readonly source: string
  readonly degraded: boolean
  readonly remaining: readonly number[]
}

/** Sends random requests for this many ms, and records the decisions. */
async function load(world: World, random: () => number, ms: number, log: Logged[]): Promise<void> {
  const { time, store, cluster } = world
  const endMs = time.nowMs() + ms
  const hotKeys = (['a', 'b'] as const).map((name) => keyOn(name, hot, cluster.slotsOf))
  function ask(target: Target, mode: StoreRequest['mode'] = 'consume'): void {
    const atMs = time.nowMs()
    store[LAYER].ask(onTarget(target, mode), {
      decided({ granted, source, degraded, policies }: StoreResult) {
        const what = `${mode} ${target.policySet.name} ${target.key}`
        const remaining = policies.map((each) => each.remaining)
        const tookMs = time.nowMs() - atMs
        log.push({ what, atMs, tookMs, granted, source, degraded, remaining })
      },
      failed(error) {
        throw error
      },
    })
  }
  while (time.nowMs() < endMs) {
    for (const key of hotKeys) {
      for (let i = Math.floor(random() * 6); i > 0; i -= 1) ask({ policySet: hot, key })
    }
    for (let i = Math.floor(random() * 5); i > 0; i -= 1) {
      const kind = random()
      const n = Math.floor(random() * 8)
      if (kind < 0.6) ask({ policySet: users, key: `user-${n}` })
      else if (kind < 0.8) {
        const policyKeys = [undefined, { key: `account-${n}`, tag: `account-${n}` }]
        ask({ policySet: pairs, key: `address-${n}`, policyKeys })
      } else if (kind < 0.95) ask({ policySet: denied, key: `crawler-${n}` })
      else ask({ policySet: users, key: `user-${n}` }, 'peek')
    }
    await time.advance(1 + random() * 5)
  }
}

function passed(log: readonly Logged[], what: string): number {
  return log.filter((each) => each.what === what).reduce((sum, { granted }) => sum + granted, 0)
}

/** For each key of a limiter: what passed, and what the nodes have counted. */
function counts({ cluster }: World, log: readonly Logged[], policySet: Target['policySet']) {
  const prefix = `consume ${policySet.name} `
  const names = new Set(log.map(({ what }) => what).filter((what) => what.startsWith(prefix)))
  return [...names].sort().map((what) => {
    const target = { policySet, key: what.slice(prefix.length) }
    const [left] = cluster.left(target) as [number]
    const limit = policySet.policies[0]?.limit as number
    return { what, limit, passed: passed(log, what), counted: limit - left }
  })
}

test('while the nodes are well they decide, and each layer saves them calls', async () => {
  const world = worldOf()
  const log: Logged[] = []
  await load(world, randomFrom(7), 4_000, log)
  await world.time.advance(1_000)
  expect(log.length).toBeGreaterThan(1_000)
  expect(log.every(({ degraded }) => !degraded)).toBe(true)
  // One round trip; two if keys are on both nodes, and more to give back and to peek.
  expect(Math.max(...log.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(8)
  const by = (source: string, name: string) =>
    log.filter((each) => each.what.startsWith(`consume ${name}`) && each.source === source)
  expect(by('lease', 'hot').length).toBeGreaterThan(100)
  expect(by('cache', 'denied').length).toBeGreaterThan(100)
  expect(log.filter(({ source, granted }) => source === 'lease' && granted !== 1)).toEqual([])
  expect(log.filter(({ source, granted }) => source === 'cache' && granted !== 0)).toEqual([])
  const { a, b } = world.cluster.nodes
  expect(a.decisions + b.decisions).toBeLessThan(log.length)
  // Leases have ended, and what was not spent went back.
  for (const policySet of [users, hot, denied, pairs]) {
    for (const { what, limit, passed, counted } of counts(world, log, policySet)) {
      expect({ what, counted }).toEqual({ what, counted: passed })
      expect(passed).toBeLessThanOrEqual(limit)
    }
  }
  expect(world.events).toEqual([])
})

test('equal requests of one turn are one call and one decision of a node', async () => {
  const { time, store, cluster } = worldOf()
  // Too few for a lease.
  const policySet = makePolicySet('few', [fixedWindow({ limit: 15, window: '1h' })])
  const request = onTarget({ policySet, key: 'k' }, 'consume')
  const asked = Array.from({ length: 20 }, () => promiseOf(store[LAYER], request))
  const results = await time.settle(Promise.all(asked))
  const left = results.map(({ granted, policies }) => [granted, policies[0]?.remaining])
  expect(left.slice(0, 15)).toEqual(Array.from({ length: 15 }, (_, i) => [1, 14 - i]))
  expect(left.slice(15)).toEqual(new Array(5).fill([0, 0]))
  const { a, b } = cluster.nodes
  expect([a.calls + b.calls, a.decisions + b.decisions]).toEqual([1, 1])
})

const WAYS = ['silent', 'refusing', 'deaf'] as const

/** Well, slow, one node away, both away, and well again. */
async function outage(seed: number, way: (typeof WAYS)[number]) {
  const world = worldOf(seed)
  const { time, cluster } = world
  const { a, b } = cluster.nodes
  const random = randomFrom(seed)
  const log: Logged[] = []
  await load(world, random, 300, log)
  a.latencyMs = 30
  b.latencyMs = 70
  await load(world, random, 300, log)
  a.latencyMs = 0.5
  b.latencyMs = 0.5
  await load(world, random, 200, log)
  const oneAwayMs = time.nowMs()
  a.state = way
  await load(world, random, 1_000, log)
  b.state = way
  const bothAwayMs = time.nowMs()
  await load(world, random, 1_500, log)
  const backMs = time.nowMs()
  a.state = 'up'
  b.state = 'up'
  // The next probe comes within a second; then the process waits its turn.
  await load(world, random, 2_500, log)
  const wellMs = time.nowMs()
  await load(world, random, 500, log)
  await time.advance(7_000)
  return { ...world, log, oneAwayMs, bothAwayMs, backMs, wellMs }
}

test.each(WAYS)('decisions are made in time while nodes are slow, %s and back', async (way) => {
  const { log, oneAwayMs, bothAwayMs, backMs, wellMs } = await outage(3, way)
  expect(log.length).toBeGreaterThan(2_000)
  // The parts of a decision across slots share its deadline. The deadline of a request is checked
  // once in a ms.
  expect(Math.max(...log.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(DEADLINE_MS + 1)
  const within = (fromMs: number, toMs: number) =>
    log.filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
  const asked = within(oneAwayMs + 500, bothAwayMs)
  expect(asked.some(({ degraded }) => degraded)).toBe(true)
  expect(asked.some(({ source }) => source === 'store')).toBe(true)
  // While the breakers are open, nobody waits.
  const away = within(bothAwayMs + 500, backMs)
  expect(away.length).toBeGreaterThan(100)
  expect(away.every(({ source, tookMs }) => source === 'local' && tookMs === 0)).toBe(true)
  const well = within(wellMs, Number.POSITIVE_INFINITY)
  expect(well.length).toBeGreaterThan(100)
  expect(well.some(({ degraded }) => degraded)).toBe(false)
})

test.each([
  ['silent', 16],
  ['refusing', 12],
  ['refusing', 16],
  ['deaf', 4],
] as const)('what was admitted while nodes were %s is counted in them (%d)', async (way, seed) => {
  const world = await outage(seed, way)
  const { log, events, store } = world
  for (const node of ['a', 'b']) {
    const ofNode = events
      .filter(([, name]) => name === node)
      .map(([name, , what]) => {
        return name === 'breaker' ? what : name
      })
    const states = ofNode.filter((what) => what !== 'reconciled')
    expect([states[0], ...states.slice(-2)]).toEqual(['open', 'half-open', 'closed'])
    expect(ofNode.lastIndexOf('reconciled')).toBeGreaterThan(ofNode.lastIndexOf('half-open'))
  }
  expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
  for (const policySet of [users, denied, hot, pairs]) {
    for (const { what, limit, passed, counted } of counts(world, log, policySet)) {
      expect(passed, what).toBeLessThanOrEqual(limit)
      expect(counted, what).toBeGreaterThanOrEqual(passed)
      // Grants in lost replies are counted twice, since nobody knows of them. The rest of leases
      // cannot go back.
      if (way === 'refusing') expect(counted - passed, what).toBeLessThanOrEqual(2 * UNITS)
    }
  }
})

test('a node that comes back empty is given what was seen of it', async () => {
  const world = worldOf()
  const { time, cluster, store, events } = world
  const target = { policySet: users, key: 'user-1' }
  const consume = () => time.settle(promiseOf(store[LAYER], onTarget(target, 'consume')))
  let granted = 0
  for (let i = 0; i < 12; i += 1) {
    granted += (await consume()).granted
    await time.advance(20)
  }
  const { a, b } = cluster.nodes
  for (const node of [a, b]) node.state = 'refusing'
  for (let i = 0; i < 8; i += 1) granted += (await consume()).granted
  for (const node of [a, b]) {
    node.store = memoryIn(time)
    node.state = 'up'
  }
  await time.advance(3_000)
  expect(cluster.left(target)).toEqual([50 - 20])
  for (let i = 0; i < 60; i += 1) {
    granted += (await consume()).granted
    await time.advance(20)
  }
  expect(granted).toBe(50)
  expect(events.map(([name]) => name)).not.toContain('data-loss')
})

test('no class takes what it leaves to others, while nodes are well, away and back', async () => {
  const { time, store, cluster } = worldOf(11)
  const random = randomFrom(11)
  /** By key and class, what passed of a limit. */
  const passed = new Map<string, number>()
  const CLASSES = ['critical', 'normal', 'batch'] as const
  const fractions = { critical: 0, normal: 0.2, batch: 0.5 }
  function ask(target: Target): void {
    const priority = CLASSES[Math.floor(random() * 3)] as (typeof CLASSES)[number]
    const keep = target.policySet.policies.map(({ limit }) => limit * fractions[priority])
    store[LAYER].ask(
      { ...onTarget(target, 'consume'), keep },
      {
        decided({ granted, policies }) {
          policies.forEach((each, i) => {
            const whose = target.policyKeys?.[i]?.key ?? target.key
            const id = `${each.limit} of ${whose} to ${priority}`
            passed.set(id, (passed.get(id) ?? 0) + granted)
          })
        },
        failed(error) {
          throw error
        },
      },
    )
  }
  async function load(ms: number): Promise<void> {
    for (const endMs = time.nowMs() + ms; time.nowMs() < endMs; ) {
      for (let i = 0; i < 3; i += 1) ask({ policySet: users, key: `user-${i % 2}` })
      const policyKeys = [undefined, { key: 'account', tag: 'account' }]
      ask({ policySet: pairs, key: `address-${Math.floor(random() * 3)}`, policyKeys })
      await time.advance(1 + random() * 5)
    }
  }
  const { a, b } = cluster.nodes
  await load(30)
  for (const node of [a, b]) node.state = 'refusing'
  await load(150)
  for (const node of [a, b]) node.state = 'up'
  await load(3_000)
  const of = (limit: number, whose: string) =>
    CLASSES.map((each) => passed.get(`${limit} of ${whose} to ${each}`) ?? 0)
  for (const [limit, whose] of [
    [50, 'user-0'],
    [50, 'user-1'],
    [120, 'account'],
  ] as const) {
    const [critical, normal, batch] = of(limit, whose) as [number, number, number]
    expect(critical + normal + batch, whose).toBe(limit)
    expect(normal + batch, whose).toBeLessThanOrEqual(limit * 0.8)
    expect(batch, whose).toBeLessThanOrEqual(limit * 0.5)
    expect(batch, whose).toBeGreaterThan(0)
  }
})

test('a repeated run is the same to the last decision, and one with other random numbers is not', async () => {
  const [one, same, other] = [
    await outage(5, 'silent'),
    await outage(5, 'silent'),
    await outage(6, 'silent'),
  ]
  const lines = ({ log }: typeof one) => log.map((each) => JSON.stringify(each))
  const [first, again, others] = [lines(one), lines(same), lines(other)]
  expect(again.findIndex((line, i) => line !== first[i])).toBe(-1)
  expect(again.length).toBe(first.length)
  expect(same.events).toEqual(one.events)
  expect(others.findIndex((line, i) => line !== first[i])).toBeGreaterThanOrEqual(0)
})

test('a store that is closed in an outage answers waiting requests, and leaves no timer', async () => {
  const world = worldOf()
  const { time, cluster, store } = world
  const log: Logged[] = []
  await load(world, randomFrom(8), 200, log)
  for (const node of [cluster.nodes.a, cluster.nodes.b]) node.state = 'silent'
  await load(world, randomFrom(9), 50, log)
  const asked = promiseOf(store[LAYER], onTarget({ policySet: users, key: 'last' }, 'consume'))
  await store.close()
  expect(await asked).toMatchObject({ granted: 1, degraded: true })
  await time.advance(60_000)
  cluster.nodes.a.store.close()
  cluster.nodes.b.store.close()
  expect(time.timers).toBe(0)
  const late = store.decide(onTarget({ policySet: users, key: 'k' }, 'consume'))
  await expect(late).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
})
