import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
  slidingLog,
  tokenBucket,
  type WaitDecision,
} from '../../src/index.js'
import type { Layer, LayerRequest, Pending } from '../../src/layer.js'
import { inTime } from '../../src/limiter/limiter.js'
import { TurnQueue } from '../../src/limiter/turn-queue.js'
import { type Waited, type Waiting, waitingOf } from '../../src/limiter/waiting.js'
import { memoryStoreOf } from '../../src/memory/store.js'
import { makePolicySet } from '../../src/request.js'
import type { ConsumeRequest, Store, StoreRequest } from '../../src/store.js'
import { randomFrom, type VirtualTime, virtualTime } from '../virtual-time.js'

const HOUR_MS = 3_600_000

describe('a limiter', () => {
  let time: VirtualTime
  beforeEach(() => {
    time = virtualTime()
  })
  const limiterOf = (options: RateLimiterOptions) => new RateLimiter(inTime(time, options))

  const policy = leakyBucket({ capacity: 1, leak: 10, every: '1s', maxWait: '1s' })

  test('lets waiting requests pass at the rate of a leaky bucket, and reports how long each took', async () => {
    const limiter = limiterOf({ policy })
    const passed: WaitDecision[] = []
    for (let i = 0; i < 4; i += 1) void limiter.wait('k').then((each) => passed.push(each))
    await time.advance(0)
    expect(passed.map(({ waitedMs }) => waitedMs)).toEqual([0])
    await time.advance(99)
    expect(passed.length).toBe(1)
    await time.advance(201)
    expect(passed.map(({ waitedMs }) => waitedMs)).toEqual([0, 100, 200, 300])
    expect(passed.every(({ allowed }) => allowed)).toBe(true)
  })

  test('denies at once a request that would wait for longer than its timeout, or than the bucket allows', async () => {
    const limiter = limiterOf({ policy })
    await limiter.consume('k')
    const denied = await limiter.wait('k', { timeout: 99 })
    expect(denied).toMatchObject({
      allowed: false,
      reason: 'limit',
      retryAfterMs: 100,
      waitedMs: 0,
    })
    const waiting = Array.from({ length: 10 }, () => limiter.wait('k', { timeout: '1m' }))
    const late = await limiter.wait('k', { timeout: '1m' })
    expect(late).toMatchObject({ allowed: false, retryAfterMs: 1_100 })
    await time.advance(1_000)
    expect((await Promise.all(waiting)).every(({ allowed }) => allowed)).toBe(true)
  })

  test('reports the wait for a window to the ms, whatever the fraction of the clock', async () => {
    // Added to it and subtracted again, 60,000 becomes larger by 1e-11.
    time = { ...time, nowMs: () => 6_000.002 }
    const limiter = limiterOf({ policy: fixedWindow({ limit: 1, window: '1m' }) })
    await limiter.consume('k')
    const denied = await limiter.wait('k', { timeout: '1s' })
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
  })

  test('rejects with the reason of a signal, before or during the wait, and gives the turn back', async () => {
    const limiter = limiterOf({ policy })
    const reason = new Error('left')
    await expect(limiter.wait('k', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    await limiter.consume('k')
    const timers = time.timers
    const controller = new AbortController()
    const waiting = limiter.wait('k', { signal: controller.signal })
    await time.advance(50)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(time.timers).toBe(timers)
    await time.advance(50)
    expect((await limiter.consume('k')).allowed).toBe(true)
  })

  test('rejects all waiting requests when it is closed, with a code, and gives their turns back', async () => {
    const limiter = limiterOf({ policy })
    await limiter.consume('k')
    const waiting = [1, 2, 3].map(() => limiter.wait('k'))
    limiter.close()
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
    await expect(limiter.wait('k')).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
    expect((await limiter.peek('k')).resetAfterMs).toBe(100)
  })

  test.each([
    ['a bucket', policy],
    ['a window', fixedWindow({ limit: 1, window: '1s' })],
  ])('lets requests without cost pass at once, whoever waits: %s', async (_, policy) => {
    const limiter = limiterOf({ policy })
    await limiter.consume('k')
    const waiting = limiter.wait('k')
    for (const timeout of [0, '10s'] as const) {
      const free = await limiter.wait('k', { cost: 0, timeout })
      expect(free).toMatchObject({ allowed: true, waitedMs: 0 })
    }
    limiter.close()
    await expect(waiting).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
  })

  test('leaves nothing on a signal that no waiting request uses any more', async () => {
    const limiter = limiterOf({ policy })
    const { signal } = new AbortController()
    const waiting = [1, 2, 3].map(() => limiter.wait('k', { signal }))
    expect(getEventListeners(signal, 'abort').length).toBe(1)
    await time.advance(1_000)
    await Promise.all(waiting)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('waits for a decision of several policies', async () => {
    const limiter = limiterOf({
      policy: [
        tokenBucket({ name: 'burst', capacity: 2, refill: 2, every: '1s' }),
        slidingLog({ name: 'all', limit: 3, window: '1m' }),
      ],
    })
    const waits: [number, boolean][] = []
    for (let i = 0; i < 4; i += 1)
      void limiter
        .wait('k', { timeout: '10s' })
        .then(({ waitedMs, allowed }) => waits.push([waitedMs, allowed]))
    await time.advance(1_000)
    expect(waits).toEqual([
      [0, true],
      [0, true],
      [500, true],
      [500, false],
    ])
  })

  test('lets waiting requests pass when it is switched off, and gives the turns back', async () => {
    const window = fixedWindow({ limit: 100, window: '1h' })
    for (const policies of [[policy], [policy, window]]) {
      const limiter = limiterOf({ policy: policies })
      await limiter.consume('k')
      const timers = time.timers
      const waiting = [1, 2, 3].map(() => limiter.wait('k'))
      await time.advance(50)
      limiter.enabled = false
      for (const each of waiting)
        expect(await each).toMatchObject({ allowed: true, waitedMs: 50, limit: Infinity })
      expect(time.timers).toBe(timers)
      limiter.enabled = true
      expect((await limiter.peek('k')).policies[0]?.resetAfterMs).toBe(50)
    }
  })

  test('lets requests pass whose policy was still looked up when it was switched off', async () => {
    const limiter = limiterOf({ policy: async () => policy })
    await limiter.consume('k')
    const waiting = limiter.wait('k')
    limiter.enabled = false
    expect(await waiting).toMatchObject({ allowed: true, waitedMs: 0 })
  })

  test.each([
    ['a bucket', [policy]],
    ['a window', [fixedWindow({ limit: 1, window: '100ms' })]],
    ['several policies', [policy, slidingLog({ limit: 100, window: '1h' })]],
  ])('with a timeout of 0, allows or denies at once, as documented for %s', async (_, given) => {
    const limiter = limiterOf({ policy: given })
    expect(await limiter.wait('k', { timeout: 0 })).toMatchObject({ allowed: true, waitedMs: 0 })
    const denied = { allowed: false, waitedMs: 0, retryAfterMs: 100 }
    expect(await limiter.wait('k', { timeout: 0 })).toMatchObject(denied)
    // Nor does it overtake waiting requests.
    void limiter.wait('k')
    await time.advance(50)
    expect((await limiter.wait('k', { timeout: 0 })).allowed).toBe(false)
    await time.advance(150)
    expect(await limiter.wait('k', { timeout: 0 })).toMatchObject({ allowed: true, waitedMs: 0 })
  })

  test.each([
    ['a bucket', [policy]],
    ['a window', [fixedWindow({ limit: 1, window: '1h' })]],
    ['several policies', [slidingLog({ limit: 5, window: '1h' }), policy]],
  ])('denies at once what can never pass, whatever the queue: %s', async (_, given) => {
    const limiter = limiterOf({ policy: given, maxWaiting: { perKey: 1 } })
    await limiter.consume('k')
    const first = limiter.wait('k', { timeout: '2h' })
    const never = await limiter.wait('k', { cost: 2, timeout: '2h' })
    expect(never).toMatchObject({ allowed: false, waitedMs: 0, retryAfterMs: Infinity })
    await time.advance(3_600_000)
    expect((await first).allowed).toBe(true)
  })

  test.each([
    ['a timeout that is no duration', { timeout: 'soon' as '1s' }, 'WEIR_INVALID_DURATION'],
    ['a timeout below 0', { timeout: -1 }, 'WEIR_INVALID_DURATION'],
    ['a timeout of 0 as a text', { timeout: '0s' as '1s' }, 'WEIR_INVALID_DURATION'],
    ['a timeout that is NaN', { timeout: Number.NaN }, 'WEIR_INVALID_DURATION'],
    ['a signal that is none', { signal: {} as AbortSignal }, 'WEIR_INVALID_OPTION'],
    [
      'a signal that cannot be left alone',
      { signal: { addEventListener() {}, throwIfAborted() {} } as unknown as AbortSignal },
      'WEIR_INVALID_OPTION',
    ],
    ['an unknown option', { patience: 1 } as object, 'WEIR_INVALID_OPTION'],
    ['a cost below 0', { cost: -1 }, 'WEIR_INVALID_COST'],
    ['a cost of another policy', { cost: { other: 1 } }, 'WEIR_INVALID_COST'],
  ])('refuses %s before the store is asked', async (_, options, code) => {
    const store = memoryStore()
    const decide = vi.spyOn(store, 'decide')
    const limiter = limiterOf({ store, policy })
    await expect(limiter.wait('k', options)).rejects.toMatchObject({ code })
    expect(decide).not.toHaveBeenCalled()
  })

  test('denies requests beyond maxWaiting, which do not overtake the others', async () => {
    const slow = leakyBucket({ capacity: 1, leak: 1, every: '1s', maxWait: '1m' })
    const limiter = limiterOf({ policy: slow, maxWaiting: { perKey: 2, total: 3 } })
    await limiter.consume('k')
    await limiter.consume('other')
    const waiting = [limiter.wait('k'), limiter.wait('k')]
    expect(await limiter.wait('k')).toMatchObject({ allowed: false, retryAfterMs: 3_000 })
    void limiter.wait('other')
    expect(await limiter.wait('third')).toMatchObject({ allowed: true })
    expect(await limiter.wait('third')).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
    await time.advance(2_000)
    expect((await Promise.all(waiting)).map(({ waitedMs }) => waitedMs)).toEqual([1_000, 2_000])
    expect(() => limiterOf({ policy, maxWaiting: { perKey: -1 } })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test('also waits in a store that cannot reserve turns', async () => {
    const { decide, reset } = memoryStore({ clock: time })
    const store: Store = {
      decide: ({ maxWaitMs, atLeast, ...request }) => decide(request),
      reset,
    }
    const limiter = limiterOf({ store, policy })
    const waits: number[] = []
    for (let i = 0; i < 3; i += 1)
      void limiter.wait('k').then(({ waitedMs }) => waits.push(waitedMs))
    await time.advance(200)
    expect(waits).toEqual([0, 100, 200])
  })
})

test('a limiter with another time counts and waits by its clock and timers, even in the store that it makes', async () => {
  const time = virtualTime()
  const policy = leakyBucket({ capacity: 1, leak: 1, every: '1h', maxWait: '1d' })
  const limiter = new RateLimiter(inTime(time, { name: 'other-time', policy }))
  expect((await limiter.consume('k')).allowed).toBe(true)
  const passed = vi.fn()
  void limiter.wait('k').then(passed)
  await time.advance(HOUR_MS - 1)
  expect(passed).not.toHaveBeenCalled()
  await time.advance(1)
  expect(passed).toHaveBeenCalledWith(expect.objectContaining({ waitedMs: HOUR_MS }))
  expect((await limiter.consume('k')).allowed).toBe(false)
  await time.advance(HOUR_MS)
  expect((await limiter.consume('k')).allowed).toBe(true)
})

test('a timeout of exactly the reported wait is enough', async () => {
  for (const policy of [
    leakyBucket({ capacity: 1, leak: 50, every: '1s', maxWait: '1s' }),
    fixedWindow({ limit: 1, window: 20 }),
  ]) {
    const time = virtualTime()
    const limiter = new RateLimiter(inTime(time, { policy }))
    await limiter.consume('k')
    const { retryAfterMs: timeout } = (await limiter.consume('k')) as { retryAfterMs: number }
    expect((await time.settle(limiter.wait('k', { timeout }))).allowed).toBe(true)
  }
})

test('a waiting request keeps the process alive, and nothing else does', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const before = timers()
  const limiter = new RateLimiter({ policy: leakyBucket({ capacity: 1, leak: 1, every: '1m' }) })
  await limiter.consume('k')
  const waiting = limiter.wait('k')
  await Promise.resolve()
  expect(timers()).toBe(before + 1)
  limiter.close()
  await expect(waiting).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
  expect(timers()).toBe(before)
})

/** Processes that wait on one store, which answers after a while. */
function fleet(time: VirtualTime, latencyMs = 5) {
  const store = memoryStoreOf({ clock: time, time, maxKeys: 1_000, keys: 'exact', slackMs: 0 })
  const calls: LayerRequest[] = []
  let underWay = 0
  let most = 0
  const layer: Layer = {
    ask(request, pending) {
      calls.push(request)
      underWay += 1
      most = Math.max(most, underWay)
      time.after(latencyMs / 2, () => {
        const result = store.decide(request as StoreRequest)
        time.after(latencyMs / 2, () => {
          underWay -= 1
          pending.decided(result)
        })
      })
    },
  }
  const process = () =>
    waitingOf({ layer, time, maxWaiting: { perKey: 1_000, total: 10_000 }, reserves: true })
  return {
    store,
    layer,
    calls,
    process,
    get mostUnderWay() {
      return most
    },
  }
}

function consuming(policySet: ReturnType<typeof makePolicySet>, cost = 1): ConsumeRequest {
  return { mode: 'consume', target: { policySet, key: 'k' }, costs: [cost], count: 1, atLeast: 1 }
}

const QUEUE = leakyBucket({ capacity: 1, leak: 10, every: '1s', maxWait: '1m' })

describe('the queue of a bucket', () => {
  const policySet = makePolicySet('queue', [QUEUE])

  /** Starts waiting, and records when it passes. */
  function waitsIn(time: VirtualTime, waiting: Waiting, cost = 1, timeoutMs = 60_000) {
    const controller = new AbortController()
    const noted: { atMs?: number; granted?: number; error?: unknown } = {}
    const { signal } = controller
    waiting.wait({ request: consuming(policySet, cost), timeoutMs, signal }).then(
      ({ result }: Waited) => {
        noted.atMs = Math.round(time.nowMs())
        noted.granted = result?.granted ?? 0
      },
      (error: unknown) => {
        noted.error = error
      },
    )
    return { noted, leave: () => controller.abort() }
  }

  /** One process, and who waits in it. */
  function queue(latencyMs?: number) {
    const time = virtualTime()
    const { store, calls, process } = fleet(time, latencyMs)
    const waiting = process()
    const waits = (cost?: number, timeoutMs?: number) => waitsIn(time, waiting, cost, timeoutMs)
    const left = () => store.decide({ ...consuming(policySet), mode: 'peek' })
    return { time, store, calls, target: { policySet, key: 'k' }, waits, left }
  }
  const atMs = (all: { noted: { atMs?: number } }[]) => all.map(({ noted }) => noted.atMs)

  test('asks once for each request that waits, and once more for each that leaves', async () => {
    const { time, calls, waits } = queue(0)
    const all = Array.from({ length: 6 }, () => waits())
    await time.advance(150)
    all[3]?.leave()
    await time.advance(1_000)
    expect(atMs(all)).toEqual([2, 102, 202, undefined, 302, 402])
    expect(calls.map(({ mode }) => mode)).toEqual([...Array(6).fill('consume'), 'cancel'])
  })

  test('keeps no abandoned turns: a turn that is left, at any position, is free again', async () => {
    const { time, waits, left } = queue()
    const all = Array.from({ length: 8 }, () => waits())
    await time.advance(20)
    for (const place of [1, 2, 5, 7]) all[place]?.leave()
    await time.advance(20)
    const { untilUs, nowUs } = left()
    // Four of eight units are left.
    expect((untilUs[0] as number) - nowUs).toBeLessThanOrEqual(400_000)
    await time.advance(1_000)
    expect(atMs(all).filter((ms) => ms !== undefined)).toEqual([5, 105, 205, 305])
  })

  test('gives back a turn that a reply brings to a request that has left in the meantime', async () => {
    const { time, calls, waits, left } = queue()
    const gone = [waits(), waits(), waits()]
    const stays = waits()
    await time.advance(1)
    for (const { leave } of gone) leave()
    await time.advance(200)
    expect(stays.noted.atMs).toBe(5)
    expect(gone.every(({ noted }) => noted.error !== undefined)).toBe(true)
    const { policies } = left()
    expect(policies[0]?.remaining).toBe(1)
    expect(calls.filter(({ mode }) => mode === 'cancel').flatMap(({ costs }) => costs)).toEqual([
      1, 1, 1,
    ])
  })

  test('denies a request that may pass in the store, but stands behind others for too long', async () => {
    const { time, store, target, waits } = queue()
    store.decide({ mode: 'consume', target, costs: [1], count: 1 })
    const first = [waits(), waits()]
    await time.advance(10)
    store.decide({ mode: 'refund', target, costs: [3], count: 1 })
    const late = waits(1, 50)
    await time.advance(1_000)
    // Requests before it move up into its turn.
    expect(atMs(first)).toEqual([15, 103])
    expect(late.noted).toMatchObject({ granted: 0, atMs: 15 })
  })

  test('denies a request whose turn moves beyond its timeout, since the reply to an earlier one was late', async () => {
    const time = virtualTime()
    const { store } = fleet(time)
    let isFirst = true
    // The first call fails after 100 ms, and its request is then decided at once, like the others.
    const slow: Layer = {
      ask(request, pending) {
        const decide = (): void => pending.decided(store.decide(request as StoreRequest))
        if (!isFirst) decide()
        else time.after(100, decide)
        isFirst = false
      },
    }
    const maxWaiting = { perKey: 1_000, total: 10_000 }
    const waiting = waitingOf({ layer: slow, time, maxWaiting, reserves: true })
    store.decide({ mode: 'penalty', target: { policySet, key: 'k' }, costs: [3], count: 1 })
    const first = waitsIn(time, waiting)
    const second = waitsIn(time, waiting, 1, 350)
    const third = waitsIn(time, waiting, 1, 600)
    await time.advance(2_000)
    expect(first.noted).toMatchObject({ granted: 1 })
    expect(second.noted).toMatchObject({ granted: 0, atMs: 100 })
    expect(third.noted).toMatchObject({ granted: 1 })
    expect(third.noted.atMs).toBeLessThanOrEqual(600)
  })

  test('denies each request whose turn has moved too far for its cost', async () => {
    const time = virtualTime()
    const { store } = fleet(time)
    const two = leakyBucket({ capacity: 2, leak: 10, every: '1s', maxWait: '1m' })
    const target = { policySet: makePolicySet('two', [two]), key: 'k' }
    let latencyMs = 100
    const slow: Layer = {
      ask(request, pending) {
        time.after(latencyMs, () => pending.decided(store.decide(request as StoreRequest)))
        latencyMs = 0
      },
    }
    const maxWaiting = { perKey: 1_000, total: 10_000 }
    const waiting = waitingOf({ layer: slow, time, maxWaiting, reserves: true })
    store.decide({ mode: 'penalty', target, costs: [4], count: 1 })
    const ask = (cost: number, timeoutMs: number): Promise<Waited> => {
      const request: ConsumeRequest = { ...consuming(target.policySet, cost), target }
      return waiting.wait({ request, timeoutMs, signal: undefined })
    }
    const first = ask(2, 60_000)
    const second = ask(1, 350)
    await time.advance(2_000)
    expect((await first).result).toMatchObject({ granted: 1, policies: [{ cost: 2 }] })
    expect((await second).result).toMatchObject({ granted: 0, policies: [{ cost: 1 }] })
  })

  test('takes turns that others have left, without a call', async () => {
    const { time, calls, waits } = queue(100)
    const [first, second] = [waits(), waits()]
    await time.advance(120)
    const third = waits()
    await time.advance(10)
    third.leave()
    second.leave()
    await time.advance(20)
    const last = waits()
    await time.advance(1_000)
    expect(atMs([first, last])).toEqual([100, 200])
    expect(calls.map(({ mode }) => mode)).toEqual(['consume', 'consume', 'consume', 'cancel'])
  })

  test('drops a turn that nobody wants when it is due, so that it is not spent together with later units', async () => {
    const { time, calls, waits, left } = queue(300)
    const gone = waits()
    await time.advance(1)
    gone.leave()
    await time.advance(289)
    const next = waits()
    await time.advance(310)
    expect(next.noted.atMs).toBe(590)
    await time.advance(1_000)
    expect(calls.map(({ mode }) => mode)).toEqual(['consume', 'consume'])
    expect(left().policies[0]?.remaining).toBe(1)
  })

  test('stands behind what was charged past the limit', async () => {
    const { time, store, target, waits } = queue()
    const first = waits()
    const second = waits()
    await time.advance(10)
    store.decide({ mode: 'settle', target, costs: [5], count: 1, untilUs: [9e15] })
    const third = waits()
    await time.advance(2_000)
    // The queue stays; later requests also wait for what was charged.
    expect(atMs([first, second, third])).toEqual([5, 105, 705])
  })

  test('denies at the latest when the call that was sent in time is answered', async () => {
    const { time, waits } = queue(80)
    waits()
    const late = waits(1, 50)
    await time.advance(100)
    expect(late.noted).toMatchObject({ granted: 0, atMs: 80 })
  })

  test('takes the same time for each request that joins or passes, however many wait', async () => {
    let looks = 0
    const looksOf = async (length: number): Promise<number[]> => {
      const time = virtualTime()
      const { layer } = fleet(time, 0)
      const target = { policySet, key: 'k' }
      const queue = new TurnQueue(layer, time, target, () => {})
      const join = () => {
        const request = {
          ...consuming(policySet),
          get costs() {
            looks += 1
            return [1]
          },
        }
        const waiter = { request, untilMs: Infinity, hasLeft: false, decided() {}, failed() {} }
        queue.join(waiter)
      }
      for (let i = 0; i < length; i += 1) join()
      await time.advance(20)
      looks = 0
      join()
      await time.advance(20)
      const joining = looks
      looks = 0
      await time.advance(100)
      expect(queue.size).toBe(length - 1)
      return [joining, looks]
    }
    expect(await looksOf(500)).toEqual(await looksOf(10))
  })

  test('in several processes: no request is early, nothing is lost, and no more calls than needed', async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const time = virtualTime(seed)
      const random = randomFrom(seed)
      const pick = (below: number) => Math.floor(random() * below)
      const most = seed % 2 === 0 ? 1 : 4
      const policy = tokenBucket({ capacity: 1 + pick(4), refill: 20, every: '1s', maxWait: '1m' })
      const set = makePolicySet('fleet', [policy])
      const { calls, process } = fleet(time, 1 + pick(20))
      const processes = [process(), process(), process()]
      const passed: { atMs: number; cost: number }[] = []
      let asked = 0
      let settled = 0
      for (let step = 0; step < 60; step += 1) {
        const cost = 1 + pick(Math.min(most, policy.limit))
        const controller = new AbortController()
        const { signal } = controller
        const request = consuming(set, cost)
        asked += 1
        ;(processes[pick(3)] as Waiting)
          .wait({ request, timeoutMs: pick(4) === 0 ? 200 : 60_000, signal })
          .then(
            ({ result }) => {
              settled += 1
              if ((result?.granted ?? 0) > 0) passed.push({ atMs: time.nowMs(), cost })
            },
            () => {
              settled += 1
            },
          )
        if (pick(3) === 0) {
          time.after(pick(1_000), () => controller.abort())
        }
        await time.advance(pick(40))
      }
      await time.advance(60_000)
      expect(settled).toBe(asked)
      // Timers that are never early, and a clock in ms: exact to the microsecond.
      for (const [i, first] of passed.entries()) {
        let units = 0
        for (const last of passed.slice(i)) {
          units += last.cost
          const room = policy.limit + (last.atMs - first.atMs) / policy.unitMs + 0.001
          // Large costs that move up may spend units a little after they were due.
          expect(units).toBeLessThanOrEqual(room + (most > 1 ? 2 * (policy.limit - 1) : 0))
        }
      }
      const cancels = calls.filter(({ mode }) => mode === 'cancel').length
      expect(calls.length - cancels).toBeLessThanOrEqual(asked)
      expect(cancels).toBeLessThanOrEqual(most * asked)
      expect(time.timers).toBe(0)
    }
  })
})

test.each([
  ['of a bucket', QUEUE],
  ['that asks again', fixedWindow({ limit: 1, window: '100ms' })],
])('a queue %s continues when a turn that it gives back fails', async (_, policy) => {
  const time = virtualTime()
  const { process, layer, store } = fleet(time)
  const policySet = makePolicySet('queue', [policy])
  const ask = layer.ask
  layer.ask = (request, pending) => {
    if (request.mode !== 'consume') throw new Error('the clock is gone')
    ask(request, pending)
  }
  const waiting = process()
  const leaving = new AbortController()
  const wait = (signal?: AbortSignal) =>
    waiting.wait({ request: consuming(policySet), timeoutMs: 60_000, signal })
  const left = expect(wait(leaving.signal)).rejects.toThrow()
  leaving.abort()
  await left
  await time.advance(20)
  expect((await time.settle(wait())).result?.granted).toBe(1)
  expect(store.decide({ ...consuming(policySet), mode: 'peek' }).granted).toBe(0)
})

describe('a queue that asks again', () => {
  const policySet = makePolicySet('queue', [fixedWindow({ limit: 4, window: '1s' })])

  function world(latencyMs?: number) {
    const time = virtualTime()
    const all = fleet(time, latencyMs)
    const waiting = all.process()
    const wait = (cost = 1, timeoutMs = 60_000, signal?: AbortSignal) =>
      waiting.wait({ request: consuming(policySet, cost), timeoutMs, signal })
    return { time, all, wait }
  }

  test('has one call in progress, and asks for all equal costs at once', async () => {
    const { time, all, wait } = world()
    let passed = 0
    for (let i = 0; i < 12; i += 1) void wait().then(() => (passed += 1))
    await time.advance(4_000)
    expect(passed).toBe(12)
    expect(all.mostUnderWay).toBe(1)
    expect(all.calls.map(({ count }) => count)).toEqual([1, 11, 8, 4])
  })

  test('asks for requests that come during a call, however short their time', async () => {
    const { time, wait } = world()
    const results = await time.settle(Promise.all([1, 2, 3, 4].map(() => wait(1, 1))))
    expect(results.map(({ result }) => result?.granted)).toEqual([1, 1, 1, 1])
  })

  test('asks again for a request that cannot wait for as long as the first one has to', async () => {
    const { time, all, wait } = world()
    for (let i = 0; i < 4; i += 1) void wait()
    await time.advance(20)
    const first = wait()
    await time.advance(20)
    await all.store.reset({ policySet, key: 'k' })
    const impatient = wait(1, 100)
    await time.advance(100)
    expect((await first).result?.granted).toBe(1)
    expect((await impatient).result?.granted).toBe(1)
  })

  test('denies no request for coming together with others of other costs', async () => {
    const { time, wait } = world(100)
    const all = await time.settle(Promise.all([1, 2, 1].map((cost) => wait(cost, 0))))
    // One call each time that the cost changes.
    expect(all.map(({ result, waitedMs }) => [result?.granted, waitedMs])).toEqual([
      [1, 100],
      [1, 200],
      [1, 300],
    ])
  })

  test('gives a grant for a request that has left in the meantime to the next one, or back', async () => {
    const { time, all, wait } = world()
    const left = () =>
      all.store.decide({ ...consuming(policySet), mode: 'peek' }).policies[0]?.remaining
    const leaves = async () => {
      const controller = new AbortController()
      const rejected = expect(wait(4, 60_000, controller.signal)).rejects.toThrow()
      time.after(1, () => controller.abort())
      await rejected
    }
    await time.settle(leaves())
    await time.advance(20)
    expect(left()).toBe(4)
    const [, second] = await time.settle(Promise.all([leaves(), wait(4)]))
    expect(second).toMatchObject({ result: { granted: 1 }, waitedMs: 5 })
    expect(left()).toBe(0)
  })

  test('denies at once requests that would wait for longer than they may, and lets the next one try', async () => {
    const { time, wait } = world()
    const ended: [number, number, number][] = []
    for (const [cost, timeoutMs] of [
      [4, 5_000],
      [4, 500],
      [4, 1_500],
      [9, 5_000],
      [1, 5_000],
    ] as const) {
      void wait(cost, timeoutMs).then(({ result }) =>
        ended.push([cost, result?.granted ?? 0, Math.round(time.nowMs())]),
      )
    }
    await time.advance(4_000)
    expect(ended).toEqual([
      [4, 1, 5],
      [9, 0, 5],
      [4, 0, 10],
      [4, 1, 1_010],
      [1, 1, 2_015],
    ])
  })

  test.each([false, true])(
    'passes a failure on to its request, and continues with the others (reserves: %s)',
    async (reserves) => {
      const time = virtualTime()
      const { store } = fleet(time)
      const failures = [
        () => {
          throw new Error('no clock')
        },
        (pending: Pending) => pending.failed(new Error('away')),
      ]
      const layer: Layer = {
        ask(request, pending) {
          const fail = failures.shift()
          if (fail === undefined) pending.decided(store.decide(request as StoreRequest))
          else fail(pending)
        },
      }
      const waiting = waitingOf({ layer, time, maxWaiting: { perKey: 9, total: 9 }, reserves })
      const request = consuming(makePolicySet('broken', [QUEUE]))
      const wait = () => waiting.wait({ request, timeoutMs: 60_000, signal: undefined })
      await expect(wait()).rejects.toThrow('no clock')
      await expect(wait()).rejects.toThrow('away')
      const passed = await time.settle(wait())
      expect(passed.result?.granted).toBe(1)
    },
  )
})
