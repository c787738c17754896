// What a decision gives back, which objects are decisions, and which options calls have.

import { describe, expect, test } from 'vitest'
import {
  type Allowed,
  type Decision,
  fixedWindow,
  memoryStore,
  RateLimiter,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1h' })
const other = fixedWindow({ name: 'q', limit: 10, window: '1h' })

function limiterOf(name = 'refunds') {
  const store = memoryStore({ clock: fakeClock() })
  return { store, limiter: new RateLimiter({ name, store, policy }) }
}

async function left(limiter: RateLimiter): Promise<number[]> {
  return (await limiter.peek('k')).policies.map(({ remaining }) => remaining)
}

describe('a refund of a part', () => {
  test('gives back at most what each policy was charged', async () => {
    const limiter = new RateLimiter({
      store: memoryStore({ clock: fakeClock() }),
      policy: [policy, { policy: other, cost: 2 }],
    })
    const decision = await limiter.consume('k', { cost: 6 })
    await limiter.refund(decision, { cost: 4 })
    expect(await left(limiter)).toEqual([8, 10])
  })

  test('above the charge is refused, and the decision can still be refunded', async () => {
    const { limiter } = limiterOf()
    const decision = await limiter.consume('k', { cost: 5 })
    for (const cost of [6, 2 ** 50, -1, 0.5, '1' as never, null as never]) {
      await expect(limiter.refund(decision, { cost })).rejects.toMatchObject({
        code: 'WEIR_INVALID_COST',
      })
    }
    await expect(limiter.refund(decision, { cost: 6 })).rejects.toThrow(
      'cost is 6, but 5 was charged',
    )
    await limiter.refund(decision)
    expect(await left(limiter)).toEqual([10])
  })
})

describe('a refund needs a decision that a limiter with this name on this store has made', () => {
  const refused = { code: 'WEIR_INVALID_RECEIPT' }

  test.each([
    ['a clone', (decision: Decision) => structuredClone(decision)],
    ['what came out of JSON', (decision: Decision) => JSON.parse(JSON.stringify(decision))],
    [
      'a copy of the receipt',
      (decision: Allowed) => ({ ...decision, receipt: { ...decision.receipt } }),
    ],
    ['a receipt of no decision', () => ({ allowed: true, receipt: {} })],
    ['a decision without a receipt', () => ({ allowed: true })],
    ['no receipt', () => ({ allowed: true, receipt: null })],
    ['an empty object', () => ({})],
    ['an array', () => []],
  ])('%s is refused with a code, and nothing is given back', async (_, copyOf) => {
    const { limiter } = limiterOf()
    const decision = (await limiter.consume('k', { cost: 5 })) as Allowed
    const refund = limiter.refund(copyOf(decision))
    await expect(refund).rejects.toMatchObject(refused)
    await expect(refund).rejects.toThrow('give the decision itself, or a key')
    expect(await left(limiter)).toEqual([5])
    await limiter.refund({ ...decision })
    expect(await left(limiter)).toEqual([10])
  })

  test('a decision of another limiter is refused with a code, and is still valid there', async () => {
    const { limiter, store } = limiterOf()
    const decision = await limiter.consume('k', { cost: 5 })
    const elsewhere = limiterOf().limiter
    await expect(elsewhere.refund(decision)).rejects.toMatchObject(refused)
    await expect(elsewhere.refund(decision)).rejects.toThrow('that name on another store')
    const namesake = new RateLimiter({ name: 'other-refunds', store, policy })
    await expect(namesake.refund(decision)).rejects.toMatchObject(refused)
    await expect(namesake.refund(decision)).rejects.toThrow('the name "refunds"')
    const twin = new RateLimiter({ name: 'refunds', store, policy, shared: true })
    await twin.refund(decision)
    expect(await left(limiter)).toEqual([10])
  })

  test('a decision without a charge is harmless: denied, peeked, or made by a limiter that is switched off', async () => {
    const { limiter } = limiterOf()
    await limiter.consume('k', { cost: 9 })
    const denied = await limiter.consume('k', { cost: 2 })
    expect(denied.allowed).toBe(false)
    limiter.enabled = false
    const free = await limiter.consume('k')
    limiter.enabled = true
    for (const decision of [denied, structuredClone(denied), await limiter.peek('k'), free]) {
      await limiter.refund(decision)
    }
    await limiter.refund(denied, { cost: 1 })
    expect(await left(limiter)).toEqual([1])
  })
})

describe('an unknown option of a call is refused with a code, before the store is asked', () => {
  const { limiter } = limiterOf('options')
  const METHODS = ['consume', 'peek', 'penalty', 'refund', 'reset'] as const

  test.each(METHODS)('%s', async (method) => {
    for (const wrong of [{ timeout: 5 }, { Cost: 1 }, 5, 'x', null]) {
      const call = limiter[method]('k', wrong as never)
      await expect(call).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
      await expect(call).rejects.toThrow(`${method}() `)
    }
    expect(await left(limiter)).toEqual([10])
  })

  test('decide', () => {
    expect(() => limiter.decide('k', { timeout: 5 } as never)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message:
          'consume() does not know the option "timeout"; it knows cost, policy, priority (see docs/errors.md#weir_invalid_option)',
      }),
    )
  })

  test('a reset has no cost, and a decision implies its policy', async () => {
    const decision = await limiter.consume('k')
    const refused = { code: 'WEIR_INVALID_OPTION' }
    await expect(limiter.reset('k', { cost: 1 } as never)).rejects.toMatchObject(refused)
    await expect(limiter.refund(decision, { policy } as never)).rejects.toMatchObject(refused)
    await limiter.refund(decision, {})
    expect(await left(limiter)).toEqual([10])
  })
})
