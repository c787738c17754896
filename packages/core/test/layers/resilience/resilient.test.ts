// A user's store with a deadline, a breaker and local decisions, in virtual time.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { StoreError } from '../../../src/base/errors.js'
import { resilient } from '../../../src/entries/store.js'
import { fixedWindow, RateLimiter, slidingLog } from '../../../src/index.js'
import { DEGRADED_MS, type StoreEvents } from '../../../src/layers/resilience/events.js'
import type { ResilientStore } from '../../../src/layers/resilience/resilient.js'
import { type ResilientOptions, resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import type { Store, StoreRequest, StoreResult, Target } from '../../../src/store.js'
import { type VirtualTime, virtualTime } from '../../virtual-time.js'
import { consuming, memoryIn } from '../requests.js'

const LIMIT = 10
const policySet = makePolicySet('p', [slidingLog({ limit: LIMIT, window: '1h' })])
const target: Target = { policySet, key: 'k' }
const request = consuming(policySet, 'k')

/** How a user's store behaves: what it does with a decision that it would make. */
type Way = (decide: () => StoreResult, time: VirtualTime) => StoreResult | Promise<StoreResult>

const after = (ms: number, time: VirtualTime): Promise<void> =>
  new Promise((resolve) => void time.after(ms, resolve))

const WELL: Record<string, Way> = {
  'answers synchronously': (decide) => decide(),
  'answers with a promise': async (decide) => decide(),
  'answers after 99 ms': async (decide, time) => {
    await after(99, time)
    return decide()
  },
}

const BADLY: Record<string, Way> = {
  throws() {
    throw new Error('ECONNREFUSED')
  },
  rejects: () => Promise.reject(new Error('ECONNREFUSED')),
  hangs: () => new Promise(() => {}),
  'answers late': async (decide, time) => {
    await after(150, time)
    return decide()
  },
}

/** A world around a user's store, whose behaviour and kind a test chooses. */
function worldOf(options: ResilientOptions = {}, kind: Partial<Store> = {}) {
  const time = virtualTime()
  const modes: string[] = []
  const world = {
    time,
    /** The counters of the store. Another memory means that all data is lost. */
    memory: memoryIn(time),
    /** The requests to the store, except probes. */
    modes,
    way: WELL['answers with a promise'] as Way,
    events: [] as [string, object][],
    store: undefined as unknown as ResilientStore,
    decide: (asked: StoreRequest = request) => time.settle(world.store.decide(asked) as never),
    used: () => {
      const { policies } = world.memory.decide({ ...request, mode: 'peek' })
      return LIMIT - (policies[0]?.remaining as number)
    },
    named: (name: string) =>
      world.events.filter(([each]) => each === name).map(([, event]) => event),
  }
  const users: Store = {
    decide(asked) {
      if (asked.target.policySet.name !== 'weir') modes.push(asked.mode)
      return world.way(() => world.memory.decide(asked), time)
    },
    async reset(some) {
      modes.push('reset')
      world.memory.reset(some)
    },
    ...kind,
  }
  world.store = resilientIn(time, users, options)
  const names: (keyof StoreEvents)[] = [
    'breaker',
    'fallback',
    'key-error',
    'reconciled',
    'data-loss',
  ]
  for (const name of names) {
    world.store.on(name, (event) => void world.events.push([name, event]))
  }
  return world as Omit<typeof world, 'decide'> & {
    decide(asked?: StoreRequest): Promise<StoreResult>
  }
}

const timersOfProcess = ['setTimeout', 'setImmediate', 'setInterval'] as const

describe('in virtual time', () => {
  beforeEach(() => {
    for (const name of timersOfProcess) vi.spyOn(globalThis, name)
    vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  })
  afterEach(() => {
    for (const name of timersOfProcess) expect(globalThis[name]).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })

  test.each([
    ['reads', { ...consuming(policySet, 'other'), mode: 'peek' } as StoreRequest],
    ['denials', consuming(makePolicySet('p', [fixedWindow({ limit: 0, window: '1h' })]), 'other')],
  ])('a store that refuses five writes is away, though it answers %s', async (_, other) => {
    const world = worldOf()
    world.way = async (decide) => {
      const result = decide()
      if (world.modes.at(-1) === 'consume' && result.granted > 0) throw new Error('OOM')
      return result
    }
    for (let i = 0; i < 5; i += 1) {
      expect((await world.decide(other)).degraded).toBe(false)
      expect((await world.decide()).degraded).toBe(true)
    }
    expect(world.store.health().state).toBe('open')
  })

  test.each(Object.entries(WELL))('a store that %s decides', async (_, way) => {
    const world = worldOf()
    world.way = way
    expect(await world.decide()).toMatchObject({
      granted: 1,
      source: 'store',
      degraded: false,
      policies: [{ remaining: LIMIT - 1 }],
    })
    expect(world.modes).toEqual(['consume'])
    expect(world.events).toEqual([])
    expect(world.store.health()).toEqual({
      state: 'closed',
      nodes: [{ name: 'store', state: 'closed', inFlight: 0 }],
      instances: 1,
      localKeys: 0,
    })
  })

  describe.each(Object.entries(BADLY))('a store that %s', (name, way) => {
    const endsMs = name === 'throws' || name === 'rejects' ? 0 : 100

    test('is done without, in time, from what was last seen', async () => {
      const world = worldOf()
      for (let i = 0; i < 4; i += 1) await world.decide()
      world.way = way
      const beforeMs = world.time.nowMs()
      expect(await world.decide()).toMatchObject({
        granted: 1,
        source: 'local',
        degraded: true,
        policies: [{ remaining: LIMIT - 5 }],
      })
      expect(world.time.nowMs() - beforeMs).toBe(endsMs)
      const cause = expect.objectContaining({ code: 'WEIR_STORE_FAILED' })
      expect(world.events).toEqual([['fallback', { limiter: 'p', key: 'k', cause }]])
      expect(world.store.health().localKeys).toBe(1)
      for (let i = 5; i < LIMIT; i += 1) expect((await world.decide()).granted).toBe(1)
      expect(await world.decide()).toMatchObject({ granted: 0, unavailableMs: undefined })
    })

    test.each([
      ['allow', { granted: 1, policies: [{ remaining: LIMIT }] }],
      ['deny', { granted: 0, unavailableMs: 1_000 }],
    ] as const)('%ss if the option says so', async (whenUnavailable, expected) => {
      const world = worldOf({ whenUnavailable })
      world.way = way
      expect(await world.decide()).toMatchObject({ ...expected, source: 'local', degraded: true })
    })

    test('fails if it is told to throw, with a StoreError', async () => {
      const world = worldOf({ whenUnavailable: 'throw' })
      world.way = way
      const failed = world.decide()
      await expect(failed).rejects.toBeInstanceOf(StoreError)
      await expect(failed).rejects.toMatchObject({
        code: 'WEIR_STORE_FAILED',
        message: expect.stringContaining(endsMs === 0 ? 'ECONNREFUSED' : 'within 100 ms'),
      })
    })

    test('is not asked after five failures, but probed, until it is well', async () => {
      const world = worldOf()
      const awaySinceMs = (): number | undefined => world.store.stats().nodes[0]?.awaySinceMs
      world.way = way
      for (let i = 0; i < 5; i += 1) await world.decide()
      expect(world.store.health().state).toBe('never-connected')
      expect(world.store.health().nodes[0]?.state).toBe('open')
      const sinceMs = Math.round(world.time.nowUs() / 1_000)
      expect(awaySinceMs()).toBe(sinceMs)
      const before = world.modes.length
      const beforeMs = world.time.nowMs()
      await world.decide()
      expect([world.modes.length, world.time.nowMs()]).toEqual([before, beforeMs])
      await world.time.advance(5_000)
      expect(world.modes.length).toBe(before)
      expect(world.store.health().nodes[0]?.state).toBe('open')
      world.way = WELL['answers synchronously'] as Way
      await world.time.advance(1_200)
      expect(world.store.health().state).toBe('half-open')
      expect(awaySinceMs()).toBe(sinceMs)
      await world.time.advance(5_000)
      expect(world.store.health().state).toBe('closed')
      expect(awaySinceMs()).toBeUndefined()
      expect(world.named('breaker').map((event) => (event as { state: string }).state)).toEqual([
        'open',
        'half-open',
        'closed',
      ])
      expect(await world.decide()).toMatchObject({ source: 'store', degraded: false })
    })

    test('counts what was admitted without it if it recovers: the total stays the limit', async () => {
      const world = worldOf({}, { recovers: true })
      let granted = (await world.decide()).granted
      world.way = way
      for (let i = 0; i < 6; i += 1) granted += (await world.decide()).granted
      expect(granted).toBe(7)
      world.way = WELL['answers with a promise'] as Way
      await world.time.advance(7_000)
      // A late reply says that a request was counted after all, so it is not counted again.
      expect(world.used()).toBe(7)
      expect(world.store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
      if (name !== 'answers late') {
        expect(world.named('reconciled')).toEqual([{ node: 'store', keys: 1 }])
      }
      for (let i = 0; i < LIMIT; i += 1) granted += (await world.decide()).granted
      expect(granted).toBe(LIMIT)
    })

    test('is asked nothing that it does not know if it does not recover', async () => {
      const world = worldOf()
      await world.decide()
      world.way = way
      for (let i = 0; i < 6; i += 1) await world.decide()
      world.way = WELL['answers with a promise'] as Way
      await world.time.advance(7_000)
      expect(world.store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
      await world.decide()
      expect(new Set(world.modes)).toEqual(new Set(['consume']))
      expect(world.named('reconciled')).toEqual([])
    })
  })

  test('a single request that fails is counted within half a second', async () => {
    const world = worldOf({}, { recovers: true })
    world.way = BADLY.rejects as Way
    await world.decide()
    world.way = WELL['answers with a promise'] as Way
    expect(world.used()).toBe(0)
    await world.time.advance(500)
    expect(world.used()).toBe(1)
    expect(world.named('reconciled')).toEqual([{ node: 'store', keys: 1 }])
    expect(world.named('breaker')).toEqual([])
  })

  test('what the store has lost is restored if it recovers', async () => {
    const world = worldOf({}, { recovers: true })
    for (let i = 0; i < 6; i += 1) await world.decide()
    world.memory = memoryIn(world.time)
    // The first result after the loss shows it, and stands.
    expect((await world.decide()).granted).toBe(1)
    expect(world.modes.at(-1)).toBe('restore')
    expect(world.named('data-loss')).toEqual([{ limiter: 'p', key: 'k' }])
    expect(world.used()).toBeGreaterThanOrEqual(6)
  })

  test('what the store has lost is not restored if it does not recover', async () => {
    const world = worldOf()
    for (let i = 0; i < 6; i += 1) await world.decide()
    world.memory = memoryIn(world.time)
    await world.decide()
    expect(new Set(world.modes)).toEqual(new Set(['consume']))
    expect(world.named('data-loss')).toEqual([])
    expect(world.used()).toBe(1)
  })

  test.each([
    [
      'throws',
      (error: Error): never => {
        throw error
      },
    ],
    ['rejects with', (error: Error) => Promise.reject(error)],
  ])('misuse that the store %s is passed on, and is no failure of the store', async (_, fail) => {
    const world = worldOf()
    const misuse = Object.assign(new RangeError('no such cost'), { code: 'WEIR_INVALID_COST' })
    world.way = () => fail(misuse)
    for (let i = 0; i < 20; i += 1) await expect(world.decide()).rejects.toBe(misuse)
    expect(world.events).toEqual([])
    expect(world.store.health().nodes).toEqual([{ name: 'store', state: 'closed', inFlight: 0 }])
  })

  test('an error without one of our codes is the store’s, whatever its class', async () => {
    const world = worldOf({ whenUnavailable: 'throw' })
    world.way = () => {
      throw new RangeError('Invalid array length')
    }
    await expect(world.decide()).rejects.toMatchObject({
      code: 'WEIR_STORE_FAILED',
      cause: { message: 'Invalid array length' },
    })
  })

  test('a key that cannot be decided is decided locally, and the others are not affected', async () => {
    const world = worldOf()
    const foreign = new StoreError('WEIR_FOREIGN_KEY', 'the key "k" holds something else')
    world.way = () => Promise.reject(foreign)
    for (let i = 0; i < 20; i += 1) expect(await world.decide()).toMatchObject({ degraded: true })
    expect(world.named('key-error')[0]).toEqual({ limiter: 'p', key: 'k', cause: foreign })
    expect(world.named('breaker')).toEqual([])
    world.way = WELL['answers with a promise'] as Way
    expect(await world.decide(consuming(policySet, 'other'))).toMatchObject({ source: 'store' })
  })

  test('a decision that the store makes late is not made twice', async () => {
    const world = worldOf({}, { recovers: true })
    world.way = BADLY['answers late'] as Way
    await world.decide()
    world.way = WELL['answers with a promise'] as Way
    await world.time.advance(2_000)
    expect(world.used()).toBe(1)
    expect(world.modes).toEqual(['consume'])
  })

  test('a deadline is the option’s, or the request’s if it ends earlier', async () => {
    const world = worldOf({ deadlineMs: 30 })
    world.way = BADLY.hangs as Way
    await world.decide()
    expect(world.time.nowMs()).toBe(30)
    await world.decide({ ...request, deadlineAtMs: 42 })
    expect(world.time.nowMs()).toBe(42)
    await world.decide({ ...request, deadlineAtMs: 41 })
    expect(world.time.nowMs()).toBe(42)
    expect(world.modes.length).toBe(2)
  })

  test('a reset reaches the store, and ends what was decided without it', async () => {
    const world = worldOf({}, { recovers: true })
    for (let i = 0; i < LIMIT; i += 1) await world.decide()
    await world.time.settle(world.store.reset(target) as Promise<void>)
    expect(world.modes.at(-1)).toBe('reset')
    expect((await world.decide()).policies).toMatchObject([{ remaining: LIMIT - 1 }])
    // Nothing that was forgotten on purpose is restored.
    expect(world.named('data-loss')).toEqual([])
    world.way = BADLY.throws as Way
    expect((await world.decide()).policies).toMatchObject([{ remaining: LIMIT - 2 }])
  })

  test.each([
    ['cannot make', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['never answers', () => new Promise<void>(() => {})],
  ])('a reset that the store %s fails in time, and changes nothing', async (_, reset) => {
    const world = worldOf({}, { reset, recovers: true })
    for (let i = 0; i < LIMIT; i += 1) await world.decide()
    const done = world.time.settle(world.store.reset(target) as Promise<void>)
    await expect(done).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
    expect((await world.decide()).granted).toBe(0)
    world.way = BADLY.throws as Way
    expect(await world.decide()).toMatchObject({ granted: 0, source: 'local' })
  })

  test('events are lines of text, once a second for each kind', async () => {
    const lines: string[] = []
    const world = worldOf({ log: (line) => lines.push(line) })
    world.way = BADLY.throws as Way
    for (let i = 0; i < 10; i += 1) await world.decide()
    expect(lines).toEqual([
      expect.stringMatching(/^weir: fallback: limiter "p", key "k", cause .*ECONNREFUSED/),
      expect.stringMatching(/^weir: breaker: node "store", state "open"/),
    ])
    await world.time.advance(1_000)
    await world.decide()
    expect(lines.length).toBe(3)
  })

  test('a listener is not called after it is removed, and disturbs nothing', async () => {
    const world = worldOf()
    const heard = vi.fn(() => {
      throw new Error('no')
    })
    const stop = world.store.on('fallback', heard)
    world.way = BADLY.throws as Way
    expect((await world.decide()).granted).toBe(1)
    stop()
    await world.decide()
    expect(heard).toHaveBeenCalledTimes(1)
  })

  test('ten seconds without the store cause one warning', async () => {
    const warn = vi.mocked(process.emitWarning)
    const world = worldOf({ whenUnavailable: 'allow' })
    world.way = BADLY.throws as Way
    for (let i = 0; i < 5; i += 1) await world.decide()
    await world.time.advance(9_000)
    expect(warn).not.toHaveBeenCalled()
    await world.time.advance(60_000)
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn.mock.calls[0]).toEqual([
      expect.stringMatching(
        /^the store \(node "store"\) has decided nothing for 10 s: .*"allow" \(see docs\/errors.md#weir_store_degraded\)$/,
      ),
      expect.objectContaining({ code: 'WEIR_STORE_DEGRADED' }),
    ])
  })

  test('a lasting outage causes a warning for each kind of cause, and a shorter one none', async () => {
    const world = worldOf({}, { recovers: true })
    const until = async (state: string) => {
      for (let i = 0; world.store.health().nodes[0]?.state !== state; i += 1) {
        if (i > 1_000) throw new Error(`the breaker is not ${state}`)
        await world.decide()
        await world.time.advance(20)
      }
    }
    const outage = async (message: string, ms: number) => {
      world.way = () => Promise.reject(new Error(message))
      await until('open')
      await world.time.advance(ms)
      world.way = WELL['answers with a promise'] as Way
      await until('closed')
    }
    const warned = () => vi.mocked(process.emitWarning).mock.calls.map(([text]) => text)
    await outage('Connection is closed.', DEGRADED_MS - 1_000)
    await world.time.advance(2 * DEGRADED_MS)
    expect(warned()).toEqual([])
    const full = "OOM command not allowed when used memory > 'maxmemory'."
    for (let i = 0; i < 2; i += 1) await outage(full, 2 * DEGRADED_MS)
    expect(warned()).toEqual([expect.stringContaining('OOM command not allowed')])
    await outage('connect ECONNREFUSED', 2 * DEGRADED_MS)
    expect(warned()).toEqual([expect.stringContaining('OOM'), expect.not.stringContaining('OOM')])
  })

  describe('a store that is closed', () => {
    test('answers what is on its way, closes the user’s store, and leaves no timer', async () => {
      const close = vi.fn()
      const world = worldOf({}, { close })
      for (let i = 0; i < 5; i += 1) {
        world.way = BADLY.throws as Way
        await world.decide(consuming(policySet, `k${i}`))
      }
      world.way = BADLY.hangs as Way
      const other = worldOf({}, { close })
      other.way = BADLY.hangs as Way
      const pending = other.store.decide(request)
      await other.time.advance(10)
      await Promise.all([world.store.close(), other.store.close()])
      expect(close).toHaveBeenCalledTimes(2)
      expect(await pending).toMatchObject({ granted: 1, degraded: true })
      await world.time.advance(120_000)
      await other.time.advance(120_000)
      expect([world.time.timers, other.time.timers]).toEqual([0, 0])
    })

    test('decides nothing', async () => {
      const world = worldOf()
      await world.store.close()
      await expect(world.decide()).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
      await expect(world.store.reset(target)).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
      expect(world.modes).toEqual([])
    })

    test('need not have a close method, and may fail to close', async () => {
      await worldOf().store.close()
      const close = () => Promise.reject(new Error('no'))
      await expect(worldOf({}, { close }).store.close()).rejects.toThrow('no')
    })
  })

  test('is local if the user’s store is', () => {
    expect(worldOf({}, { local: true }).store.local).toBe(true)
    expect(worldOf().store.local).toBe(false)
  })
})

describe('the options are checked', () => {
  const store: Store = memoryIn(virtualTime())

  test.each([
    { deadlineMs: 0 },
    { deadlineMs: 60_001 },
    { deadlineMs: '100' },
    { deadlineMs: Number.NaN },
    { whenUnavailable: 'open' },
    { whenUnavailable: true },
    { instances: 0 },
    { instances: { count: 2, rank: 2 } },
    { log: 'console' },
    { timeout: 5 },
    { breaker: {} },
    null,
    5,
  ])('%j', (options) => {
    expect(() => resilient(store, options as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test.each([undefined, null, {}, { decide: true }])('the store %j', (wrong) => {
    expect(() => resilient(wrong as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })
})

describe('answers of a store that break the contract', () => {
  const odd: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a result without policies', { granted: 1, untilUs: [0] }],
    ['too few policies', { granted: 1, untilUs: [], policies: [] }],
    ['policies that are none', { granted: 1, untilUs: [0], policies: [null] }],
  ]
  test.each(odd)(
    '%s is a failure of the store, synchronously and as a promise',
    async (_, answer) => {
      for (const way of [() => answer, () => Promise.resolve(answer)]) {
        const world = worldOf()
        world.way = way as never
        expect(await world.decide()).toMatchObject({ granted: 1, degraded: true, source: 'local' })
        expect(world.named('fallback')).toHaveLength(1)
      }
    },
  )

  test('a rejection with an object that cannot be printed is a failure of the store', async () => {
    const world = worldOf()
    world.way = () => Promise.reject(Object.create(null))
    expect(await world.decide()).toMatchObject({ degraded: true })
  })

  test('a thenable whose `then` throws is a failure of the store', async () => {
    const world = worldOf()
    // biome-ignore lint/suspicious/noThenProperty: what a query builder may return
    world.way = (() => ({ then: () => assertNever() })) as never
    expect(await world.decide()).toMatchObject({ degraded: true })
  })

  test('a StoreError of the other build of this package is a failure of the store', async () => {
    const world = worldOf()
    const error = Object.assign(new Error('gone'), { code: 'WEIR_STORE_FAILED' })
    world.way = () => Promise.reject(error)
    expect(await world.decide()).toMatchObject({ degraded: true })
  })
})

function assertNever(): never {
  throw new Error('thrown by then')
}

test('close ends in time even if the store never closes', async () => {
  const time = virtualTime()
  const store = { ...memoryIn(time), close: () => new Promise<void>(() => {}) }
  const closing = resilientIn(time, store, {}).close()
  await time.advance(1_000)
  await closing
})

test('a method of the store called `ask` means nothing to a limiter', async () => {
  const asked = vi.fn()
  const store = { ...memoryIn(virtualTime()), ask: asked }
  const limiter = new RateLimiter({ store, policy: fixedWindow({ limit: 1, window: '1m' }) })
  expect((await limiter.consume('k')).allowed).toBe(true)
  expect(asked).not.toHaveBeenCalled()
})

test('a `decide` that wraps a store is called, even through a proxy', async () => {
  const policy = fixedWindow({ limit: 9, window: '1m' })
  const decided: string[] = []
  const watched = (store: ResilientStore): Store => ({
    ...store,
    decide: (asked) => {
      decided.push('spread')
      return store.decide(asked)
    },
  })
  const store = resilient(memoryIn(virtualTime()))
  const proxy = new Proxy(store, {})
  const limiter = (name: string, of: Store) => new RateLimiter({ name, store: of, policy })
  expect((await limiter('a', watched(store)).consume('k')).remaining).toBe(8)
  expect((await limiter('b', proxy).consume('k')).remaining).toBe(8)
  expect(decided).toEqual(['spread'])
  await store.close()
})
