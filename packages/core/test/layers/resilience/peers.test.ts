// Parts of a limit: they add up to it.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkedInstances, partOf } from '../../../src/layers/resilience/peers.js'

test('parts of a number add up to it, or to less if ranks are unknown', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 1, max: 50 }),
      (units, count) => {
        const ranks = Array.from({ length: count }, (_, rank) => rank)
        const sum = (parts: number[]) => parts.reduce((total, part) => total + part, 0)
        expect(sum(ranks.map((rank) => partOf(units, { count, rank })))).toBe(units)
        expect(sum(ranks.map(() => partOf(units, { count, rank: undefined })))).toBeLessThanOrEqual(
          units,
        )
      },
    ),
  )
})

test.each([0, -1, 1.5, '4', { count: 2, rank: 2 }, { count: 2, rank: -1 }, { count: 0, rank: 0 }])(
  'instances of %j are refused',
  (option) => {
    expect(() => checkedInstances(option as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  },
)
