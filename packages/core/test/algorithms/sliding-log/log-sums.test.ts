// The sums of a log wrap around: they are kept modulo 2^51, and only their differences are used. A
// log near the point where they wrap is compared with one that stores the time of each unit and
// nothing else.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cells, MAX_UNITS } from '../../../src/algorithms/algorithm.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/kernel.js'
import { EPOCH_MS } from '../../../src/base/clock.js'

const LIMIT = 12
const SPAN = 1_000
const START = 5_000
const ROUND = 2 * MAX_UNITS

type Step = { readonly waitMs: number; readonly units: number } & (
  | { readonly do: 'consume' | 'penalty' | 'refund' }
  | { readonly do: 'reconcile' | 'restore'; readonly untilMs: number }
)

/** The ticks of the units in use, oldest first. */
class Naive {
  ticks: number[] = []
  now = START

  go(now: number): void {
    this.now = now
    this.ticks = this.ticks.filter((tick) => tick + SPAN > now)
  }

  take(units: number, tick = this.now): void {
    // Ticks never run backwards.
    const last = Math.max(tick, this.ticks.at(-1) ?? 0)
    for (let i = 0; i < units; i += 1) this.ticks.push(last)
  }

  restore(units: number, tick: number): void {
    if (tick + SPAN <= this.now) return
    const [first = tick] = this.ticks
    const known = first > tick ? 0 : this.ticks.length
    this.take(Math.max(0, units - known), tick)
  }

  get left(): number {
    return Math.max(0, LIMIT - this.ticks.length)
  }

  retryAfterMs(cost: number): number {
    const excess = this.ticks.length + cost - LIMIT
    return excess <= 0 ? 0 : (this.ticks[excess - 1] as number) + SPAN - this.now
  }

  get resetMs(): number {
    return this.ticks.length > 0 ? (this.ticks.at(-1) as number) + SPAN - this.now : 0
  }
}

const units = fc.integer({ min: 1, max: LIMIT })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        waitMs: fc.integer({ min: 0, max: 300 }),
        units,
        do: fc.constantFrom('consume' as const, 'penalty' as const, 'refund' as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        waitMs: fc.integer({ min: 0, max: 300 }),
        units,
        do: fc.constantFrom('reconcile' as const, 'restore' as const),
        untilMs: fc.integer({ min: -1, max: SPAN }),
      }),
    },
  ),
  { minLength: 1, maxLength: 60 },
)

const RUNS = stepsOf(300, 20_000)

test('a log answers the same wherever its sums wrap around', () => {
  let passed = 0
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 60 }), (walk, short) => {
      const naive = new Naive()
      const scratch = slidingLog.prepare([LIMIT, SPAN, 1])
      const sum = ROUND - 1 - short
      // One unit that was taken last; the sum counts everything before it.
      let cells: Cells | undefined = new Float64Array([0, 1, sum - 1, START, sum, 0, 0])
      naive.take(1)
      const leftOf = () => Math.max(0, LIMIT - slidingLog.used(scratch))
      for (const step of walk) {
        naive.go(naive.now + step.waitMs)
        const nowUs = (EPOCH_MS + naive.now) * 1_000
        slidingLog.read(scratch, cells, 0, nowUs)
        const left = leftOf()
        expect(left).toBe(naive.left)
        if (step.do === 'consume' && left >= step.units) {
          slidingLog.take(scratch, step.units)
          naive.take(step.units)
        } else if (step.do === 'penalty') {
          slidingLog.take(scratch, step.units)
          naive.take(step.units)
        } else if (step.do === 'refund') {
          slidingLog.refund(scratch, step.units, Number.POSITIVE_INFINITY, undefined)
          naive.ticks.splice(0, step.units)
        } else if (step.do === 'reconcile' || step.do === 'restore') {
          const untilMs = naive.now + step.untilMs
          const untilUs = (EPOCH_MS + untilMs) * 1_000
          if (untilUs > nowUs) slidingLog[step.do]?.(scratch, step.units, untilUs, undefined)
          const tick = untilMs - SPAN
          if (step.do === 'restore') naive.restore(step.units, tick)
          else if (tick + SPAN > naive.now) naive.take(step.units, tick)
        }
        expect(leftOf()).toBe(naive.left)
        for (const cost of [1, 2, 5, LIMIT].filter((each) => each > naive.left)) {
          expect(slidingLog.retryAfterMs(scratch, cost)).toBe(naive.retryAfterMs(cost))
        }
        expect(slidingLog.resetAfterUs(scratch)).toBe(naive.resetMs * 1_000)
        if (!scratch.dirty) continue
        const before: Cells = cells ?? new Float64Array(7)
        cells = naive.resetMs > 0 ? slidingLog.write(scratch, before, 0) : undefined
        if (cells === undefined) continue
        const last = cells[2 + 2 * (cells[1] as number)] as number
        if (sum - last > ROUND / 2) passed += 1
        expect(last).toBeLessThan(ROUND)
      }
    }),
    { numRuns: RUNS },
  )
  expect(passed).toBeGreaterThan(RUNS / 2)
})
