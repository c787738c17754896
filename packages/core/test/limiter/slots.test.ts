// The effect of each part of the API on slots: the rows of the table in
// docs/concurrency.md.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { budget, concurrency, fixedWindow, RateLimiter, unlimited } from '../../src/index.js'
import { inTime } from '../../src/limiter/limiter.js'
import { livePoliciesIn } from '../../src/live/live-policies.js'
import { memoryStoreIn } from '../../src/memory/store.js'
import { virtualTime } from '../virtual-time.js'
import { HOLD_MS, noted, rate, STREAMS, world } from './slots-world.js'

const error = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })
const ended = (why: string) => error('WEIR_HOLD_ENDED', `the work should end: ${why}`)

describe('consume and release', () => {
  test('a slot is taken only if all policies allow it, and a rate is charged only if a slot is free', async () => {
    const { limiter, left } = world({ policy: [concurrency(STREAMS), rate] })
    const first = await limiter.consume('k')
    await limiter.consume('k')
    const denied = await limiter.consume('k')
    expect(denied).toMatchObject({ allowed: false, reason: 'limit', policy: { name: 'streams' } })
    expect(denied.retryAfterMs).toBe(1_000)
    const rated = (await limiter.peek('k')).policies[1]
    expect(rated?.remaining).toBe(8)
    await limiter.release(first)
    expect(await left()).toBe(1)
    expect((await limiter.peek('k')).policies[1]?.remaining).toBe(8)
  })

  test('a decision is released once, and one that was denied or took no slot has nothing to release', async () => {
    const { limiter, left } = world()
    const decision = await limiter.consume('k')
    await limiter.consume('k')
    const denied = await limiter.consume('k')
    await limiter.release(denied)
    await limiter.release(await limiter.consume('k', { cost: 0 }))
    await limiter.release(await limiter.peek('other'))
    expect(await left()).toBe(0)
    await limiter.release(decision)
    await limiter.release(decision)
    expect(await left()).toBe(1)
  })

  test('a copy of a decision, and a decision of another limiter, is refused', async () => {
    const { limiter, store } = world()
    const other = new RateLimiter({ name: 'other', store, policy: concurrency(STREAMS) })
    const decision = await limiter.consume('k')
    const refused = expect.objectContaining({ code: 'WEIR_INVALID_RECEIPT' })
    await expect(limiter.release({ ...decision, receipt: {} } as never)).rejects.toEqual(refused)
    await expect(other.release(decision)).rejects.toEqual(refused)
  })

  test('a request takes one slot whatever it costs, and more by the name of the policy', async () => {
    const { limiter, left } = world({ policy: [concurrency({ ...STREAMS, limit: 5 }), rate] })
    const one = await limiter.consume('k', { cost: 3 })
    expect(await left()).toBe(4)
    expect((await limiter.peek('k')).policies[1]?.remaining).toBe(7)
    const more = await limiter.consume('k', { cost: { streams: 4 } })
    expect(await left()).toBe(0)
    await limiter.release(one)
    await limiter.release(more)
    expect(await left()).toBe(5)
  })
})

describe('settle, refund, penalty and reset', () => {
  test('settle and refund never change slots, and release never changes units', async () => {
    const { limiter, left } = world({ policy: [concurrency(STREAMS), rate] })
    const settled = await limiter.consume('k')
    await limiter.settle(settled, 4)
    expect(await left()).toBe(1)
    await limiter.release(settled)
    const refunded = await limiter.consume('k', { cost: 2 })
    await limiter.refund(refunded)
    expect(await left()).toBe(1)
    await limiter.release(refunded)
    expect(await left()).toBe(2)
    expect((await limiter.peek('k')).policies[1]?.remaining).toBe(6)
  })

  test('slots cannot be named to settle, refund or penalise', async () => {
    const { limiter } = world({ policy: [concurrency(STREAMS), rate] })
    const decision = await limiter.consume('k')
    const refused = expect.objectContaining({ code: 'WEIR_INVALID_COST' })
    const cost = { streams: 1 }
    await expect(limiter.settle(decision, cost)).rejects.toEqual(refused)
    await expect(limiter.refund(decision, { cost })).rejects.toEqual(refused)
    await expect(limiter.refund('k', { cost })).rejects.toEqual(refused)
    await expect(limiter.penalty('k', { cost })).rejects.toEqual(refused)
  })

  test('a penalty charges the policies that count units, and is refused if there are none', async () => {
    const { limiter, left } = world({ policy: [concurrency(STREAMS), rate] })
    await limiter.penalty('k', { cost: 3 })
    await limiter.refund('k')
    expect(await left()).toBe(2)
    expect((await limiter.peek('k')).policies[1]?.remaining).toBe(8)
    const alone = world().limiter
    const refused = expect.objectContaining({ code: 'WEIR_INVALID_POLICY' })
    await expect(alone.penalty('k')).rejects.toEqual(refused)
    await expect(alone.refund('k')).rejects.toEqual(refused)
  })
})

describe('acquire', () => {
  test('`await using` releases at the end of the block, and does nothing for a denied decision', async () => {
    const { limiter, left } = world({ policy: concurrency({ ...STREAMS, limit: 1 }) })
    {
      await using held = await limiter.acquire('k')
      expect(held).toMatchObject({ allowed: true, remaining: 0 })
      await using denied = await limiter.acquire('k')
      expect(denied).toMatchObject({ allowed: false, reason: 'limit' })
      expect(denied.signal.aborted).toBe(false)
    }
    expect(await left()).toBe(1)
  })

  test('slots stay taken until what was given to `until` has settled, however it settles', async () => {
    const { limiter, left } = world()
    const held = await limiter.acquire('k')
    let reject: (error: Error) => void = () => {}
    const promise = new Promise<void>((_, failed) => {
      reject = failed
    })
    expect(held.until(promise)).toBe(promise)
    const released = held.release()
    expect(await left()).toBe(1)
    reject(new Error('of the work'))
    await released
    expect(await left()).toBe(2)
    await expect(promise).rejects.toThrow('of the work')
  })

  test('a slot that has expired is taken again, past the limit if need be', async () => {
    const { time, store: memory, limiter: others, left } = world()
    const { state, store } = noted(memory)
    const options = { name: 'gateway', store, policy: concurrency(STREAMS), shared: true }
    const limiter = new RateLimiter(inTime(time, options))
    const held = await limiter.acquire('k')
    const slots = () => limiter.stats().policies[0]?.slots
    state.isAway = true
    await time.advance(2 * HOLD_MS)
    expect(held.signal.aborted).toBe(false)
    expect(slots()).toEqual({ held: 1, expired: 1 })
    // Others take all slots before this process reaches the store again.
    await others.consume('k')
    const other = await others.consume('k')
    state.isAway = false
    await time.advance(HOLD_MS / 12)
    await others.release(other)
    expect(await left()).toBe(0)
    await held.release()
    expect(await left()).toBe(1)
    expect(slots()).toEqual({ held: 0, expired: 1 })
  })

  test("with onExpiry 'abort', the signal aborts when the slot has expired, and the slot is not renewed", async () => {
    const { time, store: memory } = world()
    const { state, store, asked } = noted(memory)
    const limiter = new RateLimiter(inTime(time, { store, policy: concurrency(STREAMS) }))
    const held = await limiter.acquire('k', { onExpiry: 'abort' })
    state.isAway = true
    await time.advance(HOLD_MS - 1)
    expect(held.signal.aborted).toBe(false)
    await time.advance(1)
    expect(held.signal.reason).toEqual(ended('its slot expired before it was renewed'))
    state.isAway = false
    asked.length = 0
    await time.advance(HOLD_MS)
    expect(asked).toEqual([])
    limiter.close()
  })

  test('at maxHold, the signal aborts, and the slot is no longer renewed', async () => {
    const { limiter, left, time } = world()
    const held = await limiter.acquire('k', { maxHold: '2m' })
    await time.advance(119_999)
    expect(held.signal.aborted).toBe(false)
    expect(await left()).toBe(1)
    await time.advance(1)
    expect(held.signal.reason).toEqual(ended('maxHold is over'))
    await time.advance(HOLD_MS + HOLD_MS / 60)
    expect(await left()).toBe(2)
    await held.release()
    expect(await left()).toBe(2)
  })

  test.each([
    [{ timeout: -1 }, 'WEIR_INVALID_DURATION', 'timeout is -1'],
    [{ maxHold: 0 }, 'WEIR_INVALID_DURATION', 'maxHold is 0'],
    [{ onExpiry: 'x' }, 'WEIR_INVALID_OPTION', `onExpiry is "x"; give 'renew' or 'abort'`],
    [{ unknown: 1 }, 'WEIR_INVALID_OPTION', 'acquire()'],
    [{ signal: {} }, 'WEIR_INVALID_OPTION', 'signal is'],
  ])('%s is refused, and takes nothing', async (options, code, message) => {
    const { limiter, left } = world()
    const call = limiter.acquire('k', { timeout: 5, ...options } as never)
    await expect(call).rejects.toEqual(error(code, message))
    expect(await left()).toBe(2)
  })

  test('without a policy that is held, it is refused and charges nothing', async () => {
    const { limiter } = world({ policy: [rate, budget({ name: 'run', limit: 10 })] })
    const refused = error(
      'WEIR_INVALID_POLICY',
      'acquire() of limiter "gateway" can hold nothing of its policies (rate, run); give concurrency({...}), or a budget with holdTimeout',
    )
    await expect(limiter.acquire('k')).rejects.toEqual(refused)
    await expect(limiter.hold('k', () => 1)).rejects.toEqual(refused)
    expect((await limiter.peek('k')).remaining).toBe(10)
  })

  test('an aborted signal takes nothing, and one that aborts later ends the wait', async () => {
    const { limiter, left, time } = world({ policy: concurrency({ ...STREAMS, limit: 1 }) })
    const reason = new Error('left')
    const aborted = limiter.acquire('k', { signal: AbortSignal.abort(reason) })
    await expect(aborted).rejects.toBe(reason)
    expect(await left()).toBe(1)
    const controller = new AbortController()
    const { signal } = controller
    const held = await limiter.acquire('k', { signal })
    const waiting = limiter.acquire('k', { timeout: '10s', signal })
    await time.advance(100)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await held.release()
    expect(await left()).toBe(1)
  })

  test('a policy function is called once', async () => {
    let calls = 0
    const policy = (key: string) => {
      calls += 1
      return concurrency({ ...STREAMS, limit: key.length })
    }
    const { limiter } = world({ policy })
    expect(await limiter.acquire('abc')).toMatchObject({ allowed: true, limit: 3 })
    expect(calls).toBe(1)
  })

  test("a call's own policy counts instead of the limiter's, and an unlimited one holds nothing", async () => {
    const { limiter, stats } = world()
    const policy = vi.fn(() => concurrency({ ...STREAMS, limit: 9 }))
    expect(await limiter.acquire('k', { policy })).toMatchObject({ allowed: true, limit: 9 })
    expect(policy).toHaveBeenCalledTimes(1)
    const free = await limiter.acquire('k', { policy: unlimited() })
    expect(free.limit).toBe(Infinity)
    await free.release()
    expect(stats()?.held).toBe(1)
  })

  test.each([true, false])(
    'a settlement spends the estimate that is held, as last renewed; a slot beside it stays: %s',
    async (hasSlot) => {
      const run = budget({ name: 'run', limit: 10, holdTimeout: HOLD_MS })
      const { limiter, time } = world({
        policy: [rate, run, ...(hasSlot ? [concurrency(STREAMS)] : [])],
      })
      const remaining = async () => (await limiter.peek('k')).policies.map((each) => each.remaining)
      const slots = (count: number) => (hasSlot ? [count] : [])
      const [held, other] = [await limiter.acquire('k', { cost: 3 }), await limiter.acquire('k')]
      await other.release()
      await time.advance(2 * HOLD_MS)
      expect(await remaining()).toEqual([6, 7, ...slots(1)])
      await limiter.settle(held, 1)
      await time.advance(2 * HOLD_MS)
      expect(await remaining()).toEqual([8, 9, ...slots(1)])
      await held.release()
      expect(await remaining()).toEqual([8, 9, ...slots(2)])
    },
  )

  test('while the limiter is switched off, all are allowed and hold nothing', async () => {
    const { limiter, left } = world()
    const before = await limiter.acquire('k')
    limiter.enabled = false
    for (let i = 0; i < 5; i += 1) expect((await limiter.acquire('k')).allowed).toBe(true)
    await before.release()
    limiter.enabled = true
    expect(await left()).toBe(2)
  })
})

describe('hold', () => {
  test('returns the result of the work, and releases when it has ended', async () => {
    const { limiter, left } = world()
    const result = await limiter.hold('k', async ({ signal }) => {
      expect(signal.aborted).toBe(false)
      return (await left()) + 40
    })
    expect(result).toMatchObject({
      allowed: true,
      value: 41,
      decision: { policy: { name: 'streams' } },
    })
    expect(await left()).toBe(2)
  })

  test('returns the denial, without doing the work', async () => {
    const { limiter } = world({ policy: concurrency({ ...STREAMS, limit: 0 }) })
    const result = await limiter.hold('k', () => expect.unreachable())
    expect(result).toMatchObject({ allowed: false, reason: 'cost-exceeds-limit' })
  })

  test('rejects with the error of the work, and releases', async () => {
    const { limiter, left } = world()
    const work = () => {
      throw new Error('of the work')
    }
    await expect(limiter.hold('k', work)).rejects.toThrow('of the work')
    expect(await left()).toBe(2)
  })

  test('a release that fails does not affect the work, whose slot expires', async () => {
    const { time, store: memory } = world()
    const { state, store } = noted(memory)
    const limiter = new RateLimiter(inTime(time, { store, policy: concurrency(STREAMS) }))
    const work = async () => {
      state.isAway = true
      return 'done'
    }
    expect(await limiter.hold('k', work)).toMatchObject({ allowed: true, value: 'done' })
    state.isAway = false
    const held = await limiter.acquire('k')
    state.isAway = true
    await held[Symbol.asyncDispose]()
    await expect(held.release()).rejects.toThrow('away')
    state.isAway = false
    await time.advance(HOLD_MS + HOLD_MS / 60)
    expect((await limiter.peek('k')).remaining).toBe(2)
  })

  test('work that is not a function is refused, and takes nothing', async () => {
    const { limiter, left } = world()
    const refused = error('WEIR_INVALID_OPTION', 'work is 5; give a function, for hold(key, work)')
    await expect(limiter.hold('k', 5 as never)).rejects.toEqual(refused)
    expect(await left()).toBe(2)
  })
})

describe('wait', () => {
  test('a release in this process wakes waiting requests, in order', async () => {
    const { limiter, time } = world({ policy: concurrency({ ...STREAMS, limit: 1 }) })
    let holder = await limiter.acquire('k')
    const order: number[] = []
    const waiters = [0, 1, 2].map(async (i) => {
      const held = await limiter.acquire('k', { timeout: '10s' })
      order.push(i)
      return held
    })
    for (const waiter of waiters) {
      await time.advance(10)
      const startMs = time.nowMs()
      await holder.release()
      holder = await time.settle(waiter)
      // At once, and not when it would ask again.
      expect(time.nowMs() - startMs).toBeLessThan(5)
    }
    expect(order).toEqual([0, 1, 2])
    await holder.release()
  })

  test('a waiting request asks again within a second, since slots may be released elsewhere', async () => {
    const { limiter, time, store } = world({ policy: concurrency({ ...STREAMS, limit: 1 }) })
    const policy = concurrency({ ...STREAMS, limit: 1 })
    const elsewhere = new RateLimiter({ name: 'gateway', store, policy, shared: true })
    const other = await elsewhere.consume('k')
    const waiting = limiter.wait('k', { timeout: '10s' })
    await time.advance(300)
    await elsewhere.release(other)
    const { allowed, waitedMs } = await time.settle(waiting)
    expect(allowed).toBe(true)
    expect(waitedMs).toBeLessThanOrEqual(1_001)
  })

  test('a timeout below a second is used completely', async () => {
    const { limiter, time } = world({ policy: concurrency({ ...STREAMS, limit: 1 }) })
    const held = await limiter.acquire('k')
    const late = limiter.wait('k', { timeout: 400 })
    const lucky = limiter.wait('k', { timeout: 500 })
    await time.advance(450)
    expect(await time.settle(late)).toMatchObject({ allowed: false, waitedMs: 400 })
    await held.release()
    expect(await time.settle(lucky)).toMatchObject({ allowed: true, waitedMs: 450 })
  })

  test('a rate that refuses for longer than the timeout denies at once', async () => {
    const { limiter, time } = world({
      policy: [
        concurrency({ ...STREAMS, limit: 1 }),
        fixedWindow({ name: 'rate', limit: 1, window: '1h' }),
      ],
    })
    await limiter.acquire('k')
    const denied = await time.settle(limiter.wait('k', { timeout: '5s' }))
    expect(denied).toMatchObject({ allowed: false, waitedMs: 0 })
  })

  test('a release wakes requests that wait for the same slots under another key', async () => {
    const open = { policy: concurrency({ ...STREAMS, limit: 1 }), key: 'all' }
    const { limiter, time } = world({ policy: [open, rate] })
    const held = await limiter.acquire('one')
    const waiting = limiter.acquire('two', { timeout: '10s' })
    await time.advance(100)
    const startMs = time.nowMs()
    await held.release()
    expect((await time.settle(waiting)).allowed).toBe(true)
    expect(time.nowMs() - startMs).toBeLessThan(5)
  })
})

describe('the rest of the API', () => {
  test('a refund of slots names release(), which frees them', async () => {
    const { limiter, left } = world()
    const decision = await limiter.consume('k')
    for (const cost of [1, { streams: 1 }])
      await expect(limiter.refund(decision, { cost })).rejects.toMatchObject({
        code: 'WEIR_INVALID_COST',
        message: expect.stringContaining('release()'),
      })
    expect(await left()).toBe(1)
    const both = world({ policy: [concurrency(STREAMS), rate] })
    const paid = await both.limiter.consume('k', { cost: 2 })
    await expect(both.limiter.refund(paid, { cost: 3 })).rejects.toThrow(
      'cost is 3, but 2 was charged besides slots, which release() frees; give 2 or less',
    )
  })

  test('a peek says what an acquire would get, and takes nothing', async () => {
    const { limiter, left } = world()
    expect(await limiter.peek('k', { cost: { streams: 3 } })).toMatchObject({
      allowed: false,
      retryAfterMs: Infinity,
    })
    expect(await left()).toBe(2)
  })

  test('stats show how many slots are held here, and how many expired', async () => {
    const { limiter, stats, time } = world()
    const held = await limiter.acquire('k')
    await limiter.consume('k')
    expect(stats()).toEqual({ held: 1, expired: 0 })
    await time.advance(HOLD_MS)
    await held.release()
    expect(stats()).toEqual({ held: 0, expired: 0 })
    const { policies } = world({ policy: rate }).limiter.stats()
    expect(policies[0]?.slots).toBeUndefined()
  })

  test('live policies change the limit, and keep the slots that are taken', async () => {
    const time = virtualTime()
    const store = memoryStoreIn(time)
    const defaults = { open: concurrency(STREAMS) }
    const limits = livePoliciesIn(time, store, { name: 'limits', defaults })
    onTestFinished(() => limits.close())
    const policy = limits.policy('open')
    const limiter = new RateLimiter(inTime(time, { name: 'gateway', store, policy }))
    onTestFinished(() => limiter.close())
    const first = await limiter.acquire('k')
    await limiter.acquire('k')
    expect((await limiter.acquire('k')).allowed).toBe(false)
    const change = await limits.set('open', concurrency({ ...STREAMS, limit: 3 }))
    expect(change.isNewCounter).toBe(false)
    await time.advance(2_000)
    expect(await limiter.acquire('k')).toMatchObject({ allowed: true, limit: 3, remaining: 0 })
    await limits.set('open', concurrency({ ...STREAMS, limit: 2 }))
    await time.advance(2_000)
    await first.release()
    expect(await limiter.acquire('k')).toMatchObject({ allowed: false, limit: 2 })
    const other = await limits.set('open', concurrency({ ...STREAMS, holdTimeout: '1m' }))
    expect(other.isNewCounter).toBe(true)
  })

  test('a limiter that is closed renews what is held until it is released, or leaves it to expire', async () => {
    const drained = world()
    const held = await drained.limiter.acquire('k')
    drained.limiter.close()
    await drained.time.advance(3 * HOLD_MS)
    expect(await drained.left()).toBe(1)
    await held.release()
    expect(await drained.left()).toBe(2)
    const left = world()
    await left.limiter.acquire('k')
    left.limiter.close({ slots: 'expire' })
    await left.time.advance(HOLD_MS + HOLD_MS / 60)
    expect(await left.left()).toBe(2)
    expect(() => left.limiter.close({ slots: 'keep' } as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })
})
