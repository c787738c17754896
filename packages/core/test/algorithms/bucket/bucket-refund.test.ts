// What the receipts of a bucket give back, compared with a queue of charges that drain one after
// another. Whatever was given back before, a receipt never gives back more than what is left of its
// charge in the queue.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Scratch } from '../../../src/algorithms/algorithm.js'
import { bucket } from '../../../src/algorithms/bucket/kernel.js'

const CAPACITY = 10
/** A unit comes back in 100 ms. */
const PRICE = 800_000
const START_US = Date.UTC(2026, 0, 1) * 1_000

const RUNS = stepsOf(200, 10_000)

interface Charge {
  readonly units: number
  readonly chargedUs: number
  readonly untilUs: number
  /** What is left of it, in ticks. */
  weight: number
}

const steps = fc.array(
  fc.record({
    waitUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400_000 })),
    do: fc.constantFrom('consume', 'penalty', 'refund'),
    units: fc.integer({ min: 1, max: CAPACITY }),
    which: fc.nat({ max: 50 }),
  }),
  { minLength: 1, maxLength: 60 },
)

test.each([PRICE, PRICE + 3])('of a price of %d ticks', (price) => {
  let givenBack = 0
  fc.assert(
    fc.property(steps, (walk) => {
      const numbers = [CAPACITY, CAPACITY * price, 3 * CAPACITY * price] as const
      const scratch = bucket.prepare(numbers) as Scratch & { now: number; tat: number }
      const cells = new Float64Array(1)
      let nowUs = START_US
      const queue: Charge[] = []
      const receipts: Charge[] = []
      let gaveUs = 0
      for (const step of walk) {
        nowUs += step.waitUs
        let drained = step.waitUs * 8
        for (const charge of queue) {
          const some = Math.min(drained, charge.weight)
          charge.weight -= some
          drained -= some
        }
        bucket.read(scratch, cells, 0, nowUs)
        const left = CAPACITY - bucket.used(scratch)
        const before = scratch.tat
        expect(before - scratch.now).toBe(queue.reduce((sum, { weight }) => sum + weight, 0))
        // A penalty that would exceed two buckets is cut there, and given back whole.
        const fits = before + step.units * price <= scratch.now + 2 * CAPACITY * price
        if ((step.do === 'penalty' && fits) || (step.do === 'consume' && left >= step.units)) {
          bucket.take(scratch, step.units)
          const untilUs = nowUs + bucket.resetAfterUs(scratch)
          const charge = {
            units: step.units,
            chargedUs: nowUs,
            untilUs,
            weight: scratch.tat - before,
          }
          queue.push(charge)
          receipts.push(charge)
        } else if (step.do === 'refund' && receipts.length > 0) {
          const [receipt] = receipts.splice(step.which % receipts.length, 1) as [Charge]
          const isOlder = gaveUs >= receipt.chargedUs
          bucket.refund(
            scratch,
            receipt.units,
            receipt.untilUs,
            isOlder ? receipt.chargedUs : undefined,
          )
          const back = before - scratch.tat
          expect(back).toBeLessThanOrEqual(receipt.weight)
          // The whole charge, unless an earlier refund has moved it by an unknown amount.
          if (!isOlder || receipt.chargedUs === nowUs) {
            expect(back).toBeGreaterThanOrEqual(receipt.weight - 16)
          }
          receipt.weight -= back
          if (back === 0) continue
          givenBack += 1
          gaveUs = nowUs
        }
        if (scratch.dirty) bucket.write(scratch, cells, 0)
      }
    }),
    { numRuns: RUNS },
  )
  expect(givenBack).toBeGreaterThan(RUNS / 2)
})
