// A block that a process has seen stands even if the store loses it, and does not if it was lifted.

import { describe, expect, test } from 'vitest'
import type { Duration } from '../../../src/base/duration.js'
import { resilient } from '../../../src/entries/store.js'
import { type Decision, lockout, memoryStore, RateLimiter, type Store } from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'

/** Processes that share a store, which may lose all its data, or go away. */
function fleetOf(limit: number, block: readonly Duration[], processes = 2) {
  const clock = fakeClock()
  let inner = memoryStore({ clock })
  let isAway = false
  const shared: Store = {
    recovers: true,
    decide: (request) => (isAway ? Promise.reject(new Error('away')) : inner.decide(request)),
    reset: (target) => inner.reset(target),
  }
  const policy = lockout({ limit, window: '1m', block, forget: '1d' })
  const limiters = Array.from({ length: processes }, () => {
    const store = resilient(shared)
    return new RateLimiter({ name: 'login', store, policy })
  })
  const lose = (): void => {
    inner = memoryStore({ clock })
  }
  const goAway = (): void => {
    isAway = true
  }
  return { clock, limiters: limiters as [RateLimiter, RateLimiter], lose, goAway }
}

const allowed = async (limiter: RateLimiter): Promise<boolean> =>
  (await limiter.consume('k')).allowed

test('after a loss, the level is the highest one seen by a process that asks', async () => {
  const limit = 3
  const blocks = ['1s', '2s', '3s', '4s'] as const
  const { clock, limiters, lose } = fleetOf(limit, blocks)
  const [one, other] = limiters
  const attempts = async (limiter: RateLimiter): Promise<number> => {
    let granted = 0
    while (await allowed(limiter)) granted += 1
    return granted
  }
  await attempts(one)
  clock.advance(1_000)
  // The other has not seen the first block, nor has the first one seen the later ones.
  await attempts(other)
  clock.advance(2_000)
  await attempts(other)
  clock.advance(3_000)
  lose()
  const granted = []
  const waits = []
  for (let i = 0; i < 3; i += 1) {
    granted.push(await attempts(one))
    const denied = await one.consume('k')
    if (denied.allowed) throw new Error('it is not blocked')
    waits.push(denied.retryAfterMs)
    clock.advance(denied.retryAfterMs)
  }
  // Level 3 was reached, and the first process has seen level 1: two blocks are shorter than the
  // next one would have been, so 3 x (1 + 3 - 1) attempts pass until one is as long.
  expect(granted).toEqual([limit, limit, limit])
  expect(waits).toEqual([2_000, 3_000, 4_000])
})

describe('a block that a process has seen', () => {
  test.each<[string, number, number, (limiter: RateLimiter, of: Decision) => Promise<unknown>]>([
    ['resets', 1, 1, (limiter) => limiter.reset('k')],
    ['resets', 1, 2, (limiter) => limiter.reset('k')],
    ['resets', 3, 2, (limiter) => limiter.reset('k')],
    ['lifts', 1, 1, (limiter) => limiter.unblock('k')],
    ['lifts', 3, 1, (limiter) => limiter.unblock('k')],
    ['refunds an attempt at', 1, 1, (limiter, of) => limiter.refund(of)],
  ])(
    'is over when another process %s the key, with a limit of %i and level %i',
    async (_, limit, level, lift) => {
      const { clock, limiters } = fleetOf(limit, ['10s', '30s'])
      const [one, other] = limiters
      const decisions: Decision[] = []
      for (let i = 1; i <= level; i += 1) {
        clock.advance(10_000)
        for (let j = 0; j < limit; j += 1) decisions.push(await other.consume('k'))
        expect(await allowed(one)).toBe(false)
      }
      clock.advance(1_000)
      await lift(other, decisions.at(-1) as Decision)
      for (let i = 0; i < limit; i += 1) expect(await allowed(one)).toBe(true)
      expect(await allowed(one)).toBe(false)
    },
  )

  test.each([0, 1, 20, 49, 50, 60])(
    'is over when this process lifts it, though the clock has stepped back by %i ms',
    async (ms) => {
      const { clock, limiters, lose } = fleetOf(1, ['10s'])
      const [one] = limiters
      const decision = await one.consume('refunded')
      await one.block('by-hand', '1h')
      clock.advance(-ms)
      await one.refund(decision)
      await one.unblock('by-hand')
      clock.advance(ms + 1)
      for (const key of ['refunded', 'by-hand'])
        expect(await one.consume(key)).toMatchObject({ allowed: true })
      // What was begun since is remembered.
      lose()
      for (const key of ['refunded', 'by-hand'])
        expect(await one.consume(key)).toMatchObject({ allowed: false })
    },
  )

  test.each([1, 20, 49])(
    'is over when this process lifts it %i ms earlier by the clock, and the store then loses all',
    async (ms) => {
      const { clock, limiters, lose } = fleetOf(1, ['10s'])
      const [one] = limiters
      const decision = await one.consume('refunded')
      await one.block('by-hand', '1h')
      clock.advance(-ms)
      await one.refund(decision)
      await one.unblock('by-hand')
      lose()
      clock.advance(ms + 1)
      for (const key of ['refunded', 'by-hand'])
        expect(await one.consume(key)).toMatchObject({ allowed: true })
    },
  )

  test('is over when this process lifts it, even if another begins in the same millisecond', async () => {
    const { clock, limiters } = fleetOf(1, ['10s'])
    const [one] = limiters
    const decision = await one.consume('k')
    clock.advance(-20)
    await one.refund(decision)
    clock.advance(20)
    expect(await allowed(one)).toBe(true)
    expect(await allowed(one)).toBe(false)
  })
})

test('a count whose block two processes have lifted is continued without the store', async () => {
  const { limiters, goAway } = fleetOf(3, ['2h'])
  const [one, other] = limiters
  const theirs = await other.consume('k')
  const own = [await one.consume('k'), await one.consume('k')]
  expect(await allowed(one)).toBe(false)
  // The reply to the second refund shows more to be free than was seen, so that is not believed.
  await other.refund(theirs)
  await one.refund(own[1] as Decision)
  goAway()
  expect(await allowed(one)).toBe(false)
})
