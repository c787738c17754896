// Costs by the names of policies, as many units as there are, and costs that are known afterwards.

import { describe, expect, test, vi } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
  slidingLog,
  unlimited,
} from '../../src/index.js'

const requests = fixedWindow({ name: 'requests', limit: 10, window: '1m' })
const tokens = slidingLog({ name: 'tokens', limit: 1_000, window: '1m' })
const both = [requests, tokens]

function limiterOf(options: Partial<RateLimiterOptions> = {}): RateLimiter {
  return new RateLimiter({ policy: both, ...options })
}

async function leftOf(limiter: RateLimiter, key = 'k'): Promise<number[]> {
  const { policies } = await limiter.peek(key)
  return policies.map(({ remaining }) => remaining)
}

describe('a cost by the names of policies', () => {
  test('charges each policy its own, and 1 if it is not named', async () => {
    const limiter = limiterOf()
    await limiter.consume('k', { cost: { requests: 2, tokens: 300 } })
    expect(await leftOf(limiter)).toEqual([8, 700])
    await limiter.consume('k', { cost: { tokens: 0 } })
    expect(await leftOf(limiter)).toEqual([7, 700])
    await limiter.penalty('k', { cost: { tokens: 1_000 } })
    await limiter.refund('k', { cost: { tokens: 400 } })
    expect(await leftOf(limiter)).toEqual([6, 100])
    expect((await limiter.peek('k', { cost: { tokens: 101 } })).allowed).toBe(false)
  })

  test('takes precedence over the cost of a policy, and may name one that limits nothing', async () => {
    const policy = [{ policy: requests, cost: 3 }, tokens, unlimited({ name: 'free' })]
    const limiter = limiterOf({ policy })
    await limiter.consume('k', { cost: { tokens: 5, free: 9 } })
    expect(await leftOf(limiter)).toEqual([7, 995])
    await limiter.consume('k', { cost: { requests: 1 } })
    expect(await leftOf(limiter)).toEqual([6, 994])
  })

  test('refunds a part of a decision', async () => {
    const limiter = limiterOf()
    const decision = await limiter.consume('k', { cost: { tokens: 300 } })
    await expect(limiter.refund(decision, { cost: { tokens: 301 } })).rejects.toMatchObject({
      code: 'WEIR_INVALID_COST',
    })
    await limiter.refund(decision, { cost: { tokens: 100 } })
    expect(await leftOf(limiter)).toEqual([9, 800])
  })

  test.each([
    ['an unknown policy', { others: 1 }],
    ['a name of every object', { constructor: 1 }],
    ['a negative number', { tokens: -1 }],
    ['a fraction', { tokens: 0.5 }],
    ['a text', { tokens: '5' as unknown as number }],
    ['no policy', {}],
    ['a list', [1] as unknown as Record<string, number>],
    ['null', null as unknown as Record<string, number>],
  ])('with %s is refused before the store is asked', async (_, cost) => {
    const store = memoryStore()
    const decide = vi.spyOn(store, 'decide')
    const limiter = limiterOf({ store })
    const decision = await limiter.consume('k')
    decide.mockClear()
    const invalid = { code: 'WEIR_INVALID_COST' }
    await expect(limiter.consume('k', { cost })).rejects.toMatchObject(invalid)
    await expect(limiter.wait('k', { cost })).rejects.toMatchObject(invalid)
    await expect(limiter.settle(decision, cost)).rejects.toMatchObject(invalid)
    expect(decide).not.toHaveBeenCalled()
    await limiter.settle(decision, { tokens: 3 })
    expect(await leftOf(limiter)).toEqual([9, 997])
  })
})

describe('up to n', () => {
  test('takes what there is, at once', async () => {
    const limiter = limiterOf({ policy: requests })
    expect(await limiter.consumeUpTo('k', 7)).toMatchObject({ allowed: true, granted: 7 })
    const rest = await limiter.consumeUpTo('k', 7)
    expect(rest).toMatchObject({ allowed: true, granted: 3, remaining: 0 })
    expect(rest.policies[0]?.cost).toBe(3)
    const none = await limiter.consumeUpTo('k', 7)
    expect(none).toMatchObject({ allowed: false, granted: 0, reason: 'limit' })
    await limiter.refund(rest)
    expect(await leftOf(limiter)).toEqual([3])
  })

  test('takes the same number from each policy, at the cost of each', async () => {
    const limiter = limiterOf({ policy: [requests, { policy: tokens, cost: 300 }] })
    expect((await limiter.consumeUpTo('k', 10)).granted).toBe(3)
    expect(await leftOf(limiter)).toEqual([7, 100])
  })

  test('takes everything if nothing limits', async () => {
    expect((await limiterOf({ policy: unlimited() }).consumeUpTo('k', 9)).granted).toBe(9)
    const limiter = limiterOf()
    limiter.enabled = false
    expect((await limiter.consumeUpTo('k', 9)).granted).toBe(9)
  })

  test.each([
    ['n of 0', 0, {}, 'WEIR_INVALID_COST'],
    ['n that is a fraction', 1.5, {}, 'WEIR_INVALID_COST'],
    ['at least 0', 5, { atLeast: 0 }, 'WEIR_INVALID_COST'],
    ['at least more than n', 5, { atLeast: 6 }, 'WEIR_INVALID_COST'],
    ['at least NaN', 5, { atLeast: Number.NaN }, 'WEIR_INVALID_COST'],
    ['a cost', 5, { cost: 2 } as object, 'WEIR_INVALID_OPTION'],
  ])('%s is refused before the store is asked', async (_, n, options, code) => {
    const store = memoryStore()
    const decide = vi.spyOn(store, 'decide')
    const limiter = limiterOf({ store })
    await expect(limiter.consumeUpTo('k', n, options)).rejects.toMatchObject({ code })
    expect(decide).not.toHaveBeenCalled()
  })
})

describe('a settlement', () => {
  async function decided(limiter: RateLimiter): Promise<Decision> {
    return limiter.consume('k', { cost: { requests: 1, tokens: 400 } })
  }

  test('by a number applies to all policies without their own cost', async () => {
    const limiter = limiterOf({ policy: [{ policy: requests, cost: 1 }, tokens] })
    await limiter.settle(await limiter.consume('k', { cost: 400 }), 100)
    expect(await leftOf(limiter)).toEqual([9, 900])
  })

  test('is one call, and none if the estimate was right', async () => {
    const store = memoryStore()
    const decide = vi.spyOn(store, 'decide')
    const limiter = limiterOf({ store })
    const [one, other] = [await decided(limiter), await decided(limiter)]
    decide.mockClear()
    await limiter.settle(one, { requests: 2, tokens: 1 })
    expect(decide).toHaveBeenCalledOnce()
    await limiter.settle(other, { tokens: 400 })
    expect(decide).toHaveBeenCalledOnce()
  })

  test('is done once, even if it is requested twice at once, or after a refund', async () => {
    const limiter = limiterOf()
    const decision = await decided(limiter)
    await Promise.all([1, 2, 3].map(() => limiter.settle(decision, { tokens: 500 })))
    expect(await leftOf(limiter)).toEqual([9, 500])
    await limiter.refund(decision)
    expect(await leftOf(limiter)).toEqual([9, 500])
    const other = await decided(limiter)
    await limiter.refund(other)
    await limiter.settle(other, { tokens: 900 })
    expect(await leftOf(limiter)).toEqual([9, 500])
  })

  test('that failed spends the receipt, and is not repeated', async () => {
    const store = memoryStore()
    const decide = vi.spyOn(store, 'decide')
    const limiter = limiterOf({ store })
    const decision = await decided(limiter)
    decide.mockImplementationOnce(() => {
      throw new Error('away')
    })
    await expect(limiter.settle(decision, 1)).rejects.toThrow('away')
    await limiter.settle(decision, 1)
    expect(await leftOf(limiter)).toEqual([9, 600])
  })

  test('does nothing for a denied decision, a peek, or an unlimited policy', async () => {
    const limiter = limiterOf()
    await limiter.consume('k', { cost: { tokens: 1_000 } })
    await limiter.settle(await decided(limiter), 5)
    await limiter.settle(await limiter.peek('k', { cost: 0 }), 5)
    limiter.enabled = false
    await limiter.settle(await decided(limiter), 5)
    limiter.enabled = true
    expect(await leftOf(limiter)).toEqual([9, 0])
  })

  test.each([
    ['a negative cost', -1],
    ['NaN', Number.NaN],
    ['a text', '5' as unknown as number],
    ['nothing', undefined as unknown as number],
  ])('to %s is refused, even for a denied decision', async (_, actual) => {
    const limiter = limiterOf()
    const decision = await decided(limiter)
    const denied = await limiter.consume('k', { cost: 2_000 })
    for (const each of [decision, denied])
      await expect(limiter.settle(each, actual)).rejects.toMatchObject({
        code: 'WEIR_INVALID_COST',
      })
    await limiter.settle(decision, { tokens: 0 })
    expect(await leftOf(limiter)).toEqual([9, 1_000])
  })

  test('of a decision from another limiter is refused', async () => {
    const store = memoryStore()
    const decision = await decided(limiterOf({ store, name: 'one' }))
    const other = limiterOf({ store, name: 'other' })
    await expect(other.settle(decision, 1)).rejects.toThrow(
      'settle() of limiter "other" was given a decision of a limiter of the name "one"; settle it there',
    )
  })
})
