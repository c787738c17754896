// What a process holds: what happens to it when renewals fail, are slow or are answered without the
// store, and when it ends in an unusual way.

import { describe, expect, onTestFinished, test } from 'vitest'
import { budget, concurrency, RateLimiter, type RateLimiterOptions } from '../../src/index.js'
import type { Layer, LayerRequest } from '../../src/layer.js'
import { localRequest } from '../../src/layers/resilience/fallback.js'
import { resilientIn } from '../../src/layers/resilience/resilient.js'
import { inTime } from '../../src/limiter/limiter.js'
import { Holds } from '../../src/limiter/slots/holds.js'
import { Slots } from '../../src/limiter/slots/slots.js'
import { memoryStoreIn } from '../../src/memory/store.js'
import { makePolicySet, partOfTarget } from '../../src/request.js'
import type { Store, StoreRequest, StoreResult, Target } from '../../src/store.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'
import { HOLD_MS, noted, STREAMS, world } from './slots-world.js'

const policySet = makePolicySet('gateway', [concurrency(STREAMS)])
const request: StoreRequest = {
  mode: 'consume',
  target: { policySet, key: 'k' },
  costs: [1],
  count: 1,
}
const resultOf = (untilUs: number, degraded = false): StoreResult => ({
  granted: 1,
  nowUs: 1,
  untilUs: [untilUs],
  policies: [],
  source: degraded ? 'local' : 'store',
  degraded,
})
const named = (asked: LayerRequest) => (asked as { untilUs?: readonly number[] }).untilUs

/** A hold that aborts when it has expired, over a layer that may answer without the store. */
function ofLayer() {
  const time = virtualTime()
  const layer = { isDegraded: false, granted: 1, asked: 0 }
  const answers: Layer = {
    ask(_, pending) {
      layer.asked += 1
      pending.decided({ ...resultOf(1, layer.isDegraded), granted: layer.granted })
    },
  }
  const expired: Slots[] = []
  const holds = new Holds({ layer: answers, freed: () => {} }, time, (slots) => expired.push(slots))
  const limits = { isAborted: true, maxHoldMs: Number.POSITIVE_INFINITY }
  const hold = holds.add(new Slots(request, [0], resultOf(1)), limits)
  return { time, layer, expired, hold }
}

describe('until', () => {
  // biome-ignore lint/suspicious/noThenProperty: it is about such objects.
  const noPromises = [undefined, null, 5, () => Promise.resolve(), { then: 5 }]

  test.each(noPromises)('%s is refused, and keeps no slot', async (work) => {
    const { limiter, left, stats } = world()
    const held = await limiter.acquire('k')
    const refused = expect.objectContaining({
      code: 'WEIR_INVALID_OPTION',
      message: expect.stringMatching(/^work is .*; give a promise, for until\(work\)/),
    })
    expect(() => held.until(work as never)).toThrow(refused)
    await held.release()
    expect(await left()).toBe(2)
    expect(stats()).toEqual({ held: 0, expired: 0 })
    // Even if there is no slot to keep, so that tests notice it.
    await limiter.consume('k')
    await limiter.consume('k')
    const denied = await limiter.acquire('k')
    expect(() => denied.until(work as never)).toThrow(refused)
  })

  test('an object that only looks like a promise counts once, even if it calls back twice or throws', async () => {
    const { limiter, left } = world()
    const held = await limiter.acquire('k')
    const other = await limiter.acquire('k')
    const twice = {
      // biome-ignore lint/suspicious/noThenProperty: it is about such objects.
      then(done: () => void) {
        done()
        done()
      },
    }
    const throwing = {
      // biome-ignore lint/suspicious/noThenProperty: it is about such objects.
      then() {
        throw new Error('of the work')
      },
    }
    held.until(twice as never)
    other.until(throwing as never)
    await new Promise(setImmediate)
    expect(await left()).toBe(0)
    await held.release()
    await other.release()
    expect(await left()).toBe(2)
  })
})

describe('release', () => {
  test('twice does not end what was given to `until`', async () => {
    const { limiter, left } = world()
    const held = await limiter.acquire('k')
    let done: () => void = () => {}
    const work = new Promise<void>((resolve) => {
      done = resolve
    })
    void held.until(work)
    const released = [held.release(), held.release(), held[Symbol.asyncDispose]()]
    await new Promise(setImmediate)
    expect(await left()).toBe(1)
    done()
    await Promise.all(released)
    expect(await left()).toBe(2)
  })

  test('of one slot leaves another one renewed', async () => {
    const { limiter, time, left } = world()
    const held = await limiter.acquire('k')
    const other = await limiter.acquire('k')
    await other.release()
    await time.advance(5 * HOLD_MS)
    expect(await left()).toBe(1)
    expect(held.signal.aborted).toBe(false)
    await held.release()
    expect(await left()).toBe(2)
  })

  test('by the decision ends its renewals', async () => {
    const { time, store: memory } = world()
    const { asked, store } = noted(memory)
    const limiter = new RateLimiter(inTime(time, { store, policy: concurrency(STREAMS) }))
    const held = await limiter.acquire('k')
    await limiter.acquire('k')
    await limiter.release(held)
    asked.length = 0
    await time.advance(HOLD_MS / 2)
    expect(asked.map(({ mode }) => mode)).toEqual(['renew'])
    expect((await limiter.peek('k')).remaining).toBe(1)
    limiter.close({ slots: 'expire' })
  })
})

/** A store whose renewals take this many ms. */
function slow(delayMs: number, options: Partial<RateLimiterOptions> = {}) {
  const its = world()
  const { asked, store } = noted(its.store)
  const late: Store = {
    async decide(request) {
      const result = await store.decide(request)
      if (request.mode === 'renew')
        await new Promise<void>((resolve) => its.time.after(delayMs, resolve))
      return result
    },
    reset: (target) => store.reset(target),
  }
  const policy = concurrency(STREAMS)
  const limiter = new RateLimiter(inTime(its.time, { store: late, policy, ...options }))
  onTestFinished(() => limiter.close({ slots: 'expire' }))
  return { ...its, asked, limiter }
}

describe('renewals', () => {
  test('begin when a third of the time of the shortest policy is over', async () => {
    const { time, store: memory } = world()
    const { asked, store } = noted(memory)
    const longer = concurrency({ name: 'longer', limit: 9, holdTimeout: 2 * HOLD_MS })
    const policy = [longer, concurrency(STREAMS)]
    const limiter = new RateLimiter(inTime(time, { store, policy }))
    await limiter.acquire('k')
    asked.length = 0
    await time.advance(HOLD_MS / 3 - 1)
    expect(asked).toEqual([])
    await time.advance(1)
    expect(asked.map(({ mode }) => mode)).toEqual(['renew', 'renew'])
    limiter.close({ slots: 'expire' })
  })

  test('that are on their way at maxHold are the last ones', async () => {
    const { limiter, time, asked } = slow(HOLD_MS / 2)
    const held = await limiter.acquire('k', { maxHold: 0.6 * HOLD_MS })
    await time.advance(0.6 * HOLD_MS)
    expect(held.signal.aborted).toBe(true)
    await time.advance(5 * HOLD_MS)
    expect(asked.filter(({ mode }) => mode === 'renew')).toHaveLength(1)
    expect((await limiter.peek('k')).remaining).toBe(2)
  })

  test('without the store do not keep a slot from expiring', async () => {
    const { time, layer, expired, hold } = ofLayer()
    layer.isDegraded = true
    await time.advance(HOLD_MS - 1)
    expect(layer.asked).toBeGreaterThanOrEqual(2)
    expect([expired.length, hold.controller.signal.aborted]).toEqual([0, false])
    await time.advance(1)
    expect([expired.length, hold.controller.signal.aborted]).toEqual([1, true])
  })

  test('without the store are repeated soon, so that a store that is back in time gets them', async () => {
    const { time, layer, expired, hold } = ofLayer()
    layer.isDegraded = true
    await time.advance(0.7 * HOLD_MS)
    layer.isDegraded = false
    await time.advance(HOLD_MS)
    expect([expired.length, hold.controller.signal.aborted]).toEqual([0, false])
  })

  test('of a slot unknown to whatever decides in place of the store end nothing', async () => {
    const { time, layer, hold } = ofLayer()
    Object.assign(layer, { isDegraded: true, granted: 0 })
    await time.advance(HOLD_MS / 2)
    Object.assign(layer, { isDegraded: false, granted: 1 })
    const asked = layer.asked
    await time.advance(5 * HOLD_MS)
    expect(layer.asked - asked).toBeGreaterThanOrEqual(14)
    expect([hold.slots.isReleased, hold.controller.signal.aborted]).toEqual([false, false])
  })

  test('by the store keep a slot from expiring', async () => {
    const { time, expired, hold } = ofLayer()
    await time.advance(5 * HOLD_MS)
    expect([expired.length, hold.controller.signal.aborted]).toEqual([0, false])
  })

  test('slower than a third of the time to hold are neither repeated nor waited for by a timer', async () => {
    const { limiter, time, asked } = slow(HOLD_MS / 2)
    const held = await limiter.acquire('k')
    const delays: number[] = []
    const { after } = time
    time.after = (ms, action) => {
      delays.push(ms)
      return after(ms, action)
    }
    for (let i = 0; i < 60; i += 1) await time.advance(HOLD_MS / 6)
    const renewals = asked.filter(({ mode }) => mode === 'renew').length
    // One at a time: each begins when the one before has ended.
    expect(renewals).toBeGreaterThanOrEqual(15)
    expect(renewals).toBeLessThanOrEqual(20)
    // A late one begins at once.
    expect(delays.filter((ms) => ms < 100).length).toBeLessThanOrEqual(renewals)
    expect(held.signal.aborted).toBe(false)
    await time.settle(held.release())
    expect((await limiter.peek('k')).remaining).toBe(2)
  })

  test('a reset ends them, and what was held no longer counts', async () => {
    const { limiter, time, stats, left } = world()
    const held = await limiter.acquire('k')
    await time.advance(1)
    await limiter.reset('k')
    await time.advance(HOLD_MS / 3)
    expect(stats()).toEqual({ held: 0, expired: 0 })
    // Longer than the store remembers the reset.
    await time.advance(10 * HOLD_MS)
    expect(await left()).toBe(2)
    await held.release()
    expect(await left()).toBe(2)
    expect(stats()).toEqual({ held: 0, expired: 0 })
    expect(held.signal.aborted).toBe(false)
  })

  test('a limiter that leaves its slots to expire still ends work at maxHold, and by onExpiry', async () => {
    const { limiter, time, stats, left } = world({ policy: concurrency({ ...STREAMS, limit: 3 }) })
    const bounded = await limiter.acquire('k', { maxHold: HOLD_MS / 2 })
    const expiring = await limiter.acquire('k', { onExpiry: 'abort' })
    const renewed = await limiter.acquire('k')
    limiter.close({ slots: 'expire' })
    await time.advance(HOLD_MS / 2)
    expect(bounded.signal.reason).toMatchObject({ code: 'WEIR_HOLD_ENDED' })
    expect(expiring.signal.aborted).toBe(false)
    await time.advance(HOLD_MS / 2)
    expect(expiring.signal.reason).toMatchObject({ code: 'WEIR_HOLD_ENDED' })
    expect(renewed.signal.aborted).toBe(false)
    expect(stats()).toEqual({ held: 3, expired: 3 })
    await time.advance(HOLD_MS)
    expect(await left()).toBe(3)
    for (const held of [bounded, expiring, renewed]) await held.release()
    expect(stats()).toEqual({ held: 0, expired: 3 })
  })

  test('slots that are taken afterwards are also left to expire', async () => {
    const { limiter, time, left } = world()
    limiter.close({ slots: 'expire' })
    await limiter.acquire('k')
    await time.advance(HOLD_MS + HOLD_MS / 60)
    expect(await left()).toBe(2)
  })
})

describe('what is counted', () => {
  test('a release by the decision ends a hold, and an expiry after maxHold counts', async () => {
    const { limiter, time, stats } = world()
    const held = await limiter.acquire('k')
    await limiter.release(held)
    expect(stats()).toEqual({ held: 0, expired: 0 })
    await held.release()
    expect(stats()).toEqual({ held: 0, expired: 0 })
    const bounded = await limiter.acquire('k', { maxHold: HOLD_MS / 2 })
    await time.advance(2 * HOLD_MS)
    expect(stats()).toEqual({ held: 1, expired: 1 })
    await bounded.release()
    expect(stats()).toEqual({ held: 0, expired: 1 })
  })
})

describe('the names of slots', () => {
  test('a renewal without the store keeps the name that the store knows', async () => {
    const asked: LayerRequest[] = []
    let answer = resultOf(205, true)
    const layer: Layer = {
      ask(request, pending) {
        asked.push(request)
        pending.decided(answer)
      },
    }
    const slots = new Slots(request, [0], resultOf(100))
    await slots.renew(layer)
    answer = resultOf(300)
    await slots.renew(layer)
    const renewal = asked[1] as LayerRequest
    expect([named(renewal), named(localRequest(renewal, false))]).toEqual([[100], [205]])
    await slots.release({ layer, freed: () => {} })
    const release = asked[2] as LayerRequest
    expect([named(release), named(localRequest(release, false))]).toEqual([[300], [300]])
  })

  /** Two estimates of 5 that expire together. The reply to the first one's renewal is lost, if the
   *  store has made it at all. */
  async function ofLostReply(isMade: boolean) {
    const time = virtualTime()
    const { decide, reset } = memoryStoreIn(time)
    const isLost = { next: true }
    const store: Store = {
      decide(request) {
        if (request.mode !== 'renew' || !isLost.next) return decide(request)
        isLost.next = false
        if (isMade) decide(request)
        throw new Error('the reply is lost')
      },
      reset,
    }
    const policy = budget({ name: 'total', limit: 40, holdTimeout: HOLD_MS })
    const limiter = new RateLimiter(inTime(time, { name: 'gateway', store, policy }))
    onTestFinished(() => limiter.close({ slots: 'expire' }))
    const held = await limiter.acquire('k', { cost: 5 })
    const other = await limiter.consume('k', { cost: 5 })
    await time.advance(HOLD_MS / 3 + 1)
    const left = async () => (await limiter.peek('k')).remaining
    return { time, limiter, held, other, left }
  }

  describe.each([
    ['lost', true],
    ['never made', false],
  ])('of estimates, after a renewal whose reply is %s', (_, isMade) => {
    test('a settlement charges what was used, beside what expires', async () => {
      const { time, limiter, held, other, left } = await ofLostReply(isMade)
      expect((await limiter.settle(held, 7)).late).toBe(true)
      await held.release()
      expect(await left()).toBe(40 - 10 - 7)
      expect((await limiter.settle(other, 4)).late).toBe(false)
      expect(await left()).toBe(40 - 5 - 7 - 4)
      await time.advance(2 * HOLD_MS)
      expect(await left()).toBe(40 - 7 - 4)
    })

    test('a refund charges nothing, and takes nothing of others', async () => {
      const { time, limiter, held, other, left } = await ofLostReply(isMade)
      await limiter.refund(held)
      expect(await left()).toBe(40 - 10)
      await limiter.settle(other, 4)
      expect(await left()).toBe(40 - 5 - 4)
      await time.advance(2 * HOLD_MS)
      expect(await left()).toBe(40 - 4)
    })

    test('the next renewal holds them anew, and a settlement then knows them', async () => {
      const { time, limiter, held, other, left } = await ofLostReply(isMade)
      await time.advance(HOLD_MS / 12 + 1)
      expect(await left()).toBe(40 - 15)
      await limiter.settle(other, 4)
      expect(await left()).toBe(40 - 10 - 4)
      expect((await limiter.settle(held, 7)).late).toBe(false)
      await held.release()
      expect(await left()).toBe(40 - 5 - 7 - 4)
      await time.advance(2 * HOLD_MS)
      expect(await left()).toBe(40 - 7 - 4)
    })
  })

  const late = (result: () => StoreResult, time: VirtualTime) =>
    new Promise<StoreResult>((reply) => void time.after(150, () => reply(result())))
  const refused = () => Promise.reject(Object.assign(new Error('LOADING'), { name: 'ReplyError' }))

  test.each([
    ['whose reply is late', late, 'local'],
    ['that the store refuses', refused, 'local'],
    ["whose reply is late, with 'throw'", late, 'throw'],
    ["that the store refuses, with 'throw'", refused, 'throw'],
  ] as const)(
    'after a renewal %s, an estimate has a name, and counts once',
    async (_, answer, whenUnavailable) => {
      const time = virtualTime()
      const memory = memoryStoreIn(time)
      const isFirst = { renewal: true }
      const users: Store = {
        async decide(request) {
          if (request.mode !== 'renew' || !isFirst.renewal) return memory.decide(request)
          isFirst.renewal = false
          return answer(() => memory.decide(request) as StoreResult, time)
        },
        reset: (target) => memory.reset(target),
      }
      const store = resilientIn(time, users, { deadlineMs: 100, whenUnavailable })
      const policy = budget({ name: 'total', limit: 40, holdTimeout: HOLD_MS })
      const limiter = new RateLimiter(inTime(time, { name: 'gateway', store, policy }))
      onTestFinished(() => limiter.close({ slots: 'expire' }))
      const left = async () => (await time.settle(limiter.peek('k'))).remaining
      const held = await time.settle(limiter.acquire('k', { cost: 5 }))
      await time.settle(limiter.consume('k', { cost: 5 }))
      await time.advance(HOLD_MS / 3 + 200)
      expect([isFirst.renewal, await left()]).toEqual([false, 40 - 10])
      expect(await time.settle(limiter.settle(held, 7))).toMatchObject({ late: false })
      expect(await left()).toBe(40 - 5 - 7)
      await time.advance(2 * HOLD_MS)
      expect(await left()).toBe(40 - 7)
    },
  )

  test('what was lost before a renewal and reset before the next one is reported by the last renewal', async () => {
    const asked: LayerRequest[] = []
    const slots = new Slots(request, [0], resultOf(100))
    const layer: Layer = {
      ask(each, pending) {
        asked.push(each)
        pending.decided({ ...resultOf(100 * asked.length), nowUs: 10 * asked.length })
      },
    }
    for (let i = 0; i < 3; i += 1) await slots.renew(layer)
    expect(asked.map((each) => (each as StoreRequest).seenUs)).toEqual([1, 10, 20])
  })
})

describe('slots of two policies', () => {
  const open = concurrency({ name: 'open', limit: 9, holdTimeout: HOLD_MS })
  const both = makePolicySet('gateway', [concurrency(STREAMS), open])
  const target: Target = { policySet: both, key: 'k' }

  /** Two slots that are held, one of each policy, and what a store does for one of them. */
  function taken(whenOpen: (result: StoreResult) => StoreResult) {
    const time = virtualTime()
    const store = memoryStoreIn(time)
    onTestFinished(() => void store.close())
    const layer: Layer = {
      ask(each, pending) {
        const result = store.decide(each as StoreRequest)
        if (each.target.policySet.policies[0] !== open) pending.decided(result)
        else {
          try {
            pending.decided(whenOpen(result))
          } catch (error) {
            pending.failed(error)
          }
        }
      },
    }
    const asked: StoreRequest = { mode: 'consume', target, costs: [1, 1], count: 1 }
    const slots = new Slots(asked, [0, 1], store.decide(asked))
    const left = () => store.decide({ ...asked, mode: 'peek' }).policies.map((p) => p.remaining)
    return { time, store, layer, slots, left }
  }

  test.each([
    ['is answered without the store', (result: StoreResult) => ({ ...result, degraded: true })],
    [
      'fails',
      () => {
        throw new Error('away')
      },
    ],
  ])('if the renewal of one %s, that of the other leaks no slot', async (_, whenOpen) => {
    const { time, layer, slots, left } = taken(whenOpen)
    for (let i = 1; i <= 20; i += 1) {
      await time.advance(HOLD_MS / 12)
      expect(await slots.renew(layer)).toBe(false)
      expect(left()[0]).toBe(1)
    }
    const freed: unknown[] = []
    await slots.release({ layer, freed: (each) => freed.push(each) }).catch(() => {})
    expect([left()[0], freed]).toEqual([2, [slots]])
  })

  test('a reset of one policy ends its slot, and a newcomer keeps its own', async () => {
    const { time, store, layer, slots, left } = taken((result) => result)
    await time.advance(1_000)
    await store.reset(partOfTarget(target, [1]))
    store.decide({ mode: 'consume', target, costs: [0, 1], count: 1 })
    await time.advance(HOLD_MS / 3)
    expect(await slots.renew(layer)).toBe(true)
    expect([left(), slots.isReleased]).toEqual([[1, 8], false])
    await slots.release({ layer, freed: () => {} })
    expect(left()).toEqual([2, 8])
  })
})

test('a release while a renewal is on its way gives back its slots, and leaves no timer', async () => {
  const { limiter, time } = slow(HOLD_MS / 2)
  const held = [await limiter.acquire('k'), await limiter.acquire('k')]
  await time.advance(HOLD_MS / 3 + 1)
  // While their renewals are on their way.
  const released = held.map((each) => each.release())
  await time.settle(Promise.all(released))
  // The timer of the store, which sweeps.
  expect(time.timers).toBe(1)
  expect(await limiter.peek('k')).toMatchObject({ remaining: 2 })
})
