// The turns of a bucket, compared with the definition of a queue and not with the kernel's
// arithmetic: by all pairs of instants at which something passes.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { memoryStore } from '../../../src/memory/store.js'
import { makePolicySet } from '../../../src/request.js'
import type { StoreRequest } from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/clock.js'

/** Something that passes, now or later. */
interface Pass {
  readonly atUs: number
  readonly units: number
}

/** Whether no span has more units than the capacity and what comes back in it. */
function keepsBound(passes: readonly Pass[], capacity: number, priceUs: number): boolean {
  const sorted = [...passes].sort((one, other) => one.atUs - other.atUs)
  return sorted.every((first, i) => {
    let units = 0
    return sorted.slice(i).every((last) => {
      units += last.units
      return units <= capacity + (last.atUs - first.atUs) / priceUs
    })
  })
}

/** The first instant from `fromUs` on at which these units may pass as well. */
function firstTurn(
  passes: readonly Pass[],
  units: number,
  fromUs: number,
  { capacity, priceUs }: { readonly capacity: number; readonly priceUs: number },
): number {
  // At once, or when a span that begins with an earlier pass has room again.
  const candidates = [fromUs]
  for (const first of passes) {
    const since = passes.filter(({ atUs }) => atUs >= first.atUs)
    const taken = since.reduce((sum, each) => sum + each.units, units)
    candidates.push(first.atUs + (taken - capacity) * priceUs)
  }
  return Math.max(...candidates)
}

const step = fc.record({
  moveUs: fc.oneof(fc.constant(0), fc.nat(400_000)),
  does: fc.constantFrom('consume', 'wait', 'wait', 'wait', 'leave'),
  units: fc.integer({ min: 1, max: 4 }),
  patienceMs: fc.nat(2_500),
  who: fc.nat(),
})

const RUNS = stepsOf(120, 5_000)

describe('in any walk of requests that wait and leave', () => {
  const drawn = {
    capacity: fc.integer({ min: 1, max: 5 }),
    refill: fc.constantFrom(1, 2, 5, 8, 10),
    maxWait: fc.option(fc.integer({ min: 1, max: 8_000 }), { nil: undefined }),
    steps: fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
  }

  test('nobody passes too early, and each turn is the earliest possible', () => {
    let turns = 0
    fc.assert(
      fc.property(fc.record(drawn), ({ capacity, refill, maxWait, steps }) => {
        const clock = fakeClock()
        const store = memoryStore({ clock })
        const policy = tokenBucket({ capacity, refill, every: '1s', maxWait })
        const target = { policySet: makePolicySet('line', [policy]), key: 'k' }
        const priceUs = 1_000_000 / refill
        let passes: Pass[] = []
        let line: (Pass & Pick<StoreRequest, 'untilUs' | 'seenUs'>)[] = []
        let hasGhosts = false
        for (const { moveUs, does, units, patienceMs, who } of steps) {
          clock.advance(moveUs / 1_000)
          const nowUs = clock.nowUs()
          line = line.filter(({ atUs }) => atUs > nowUs)
          const request = { mode: 'consume', target, costs: [units], count: 1 } as const
          if (does === 'leave') {
            const gone = line[who % line.length]
            if (gone === undefined) continue
            hasGhosts ||= gone !== line.at(-1)
            line = line.filter((each) => each !== gone)
            passes = passes.filter((each) => each !== gone)
            store.decide({ ...request, ...gone, mode: 'cancel', costs: [gone.units] })
            continue
          }
          // As the limiter does, which knows the policy.
          const maxWaitMs = Math.min(patienceMs, policy.maxWaitMs)
          const limits = does === 'wait' ? { atLeast: 1, maxWaitMs } : {}
          const { granted, untilUs } = store.decide({ ...request, ...limits })
          const atUs = Math.max(nowUs, (untilUs[0] as number) - policy.windowMs * 1_000)
          const most = does === 'wait' ? maxWaitMs * 1_000 : 0
          // Requests in the queue pass in their order.
          const expected = firstTurn(passes, units, nowUs, { capacity, priceUs })
          const fits = units <= capacity && expected - nowUs <= most
          if (granted === 0) {
            expect(fits && !hasGhosts).toBe(false)
            continue
          }
          expect(fits).toBe(true)
          if (!hasGhosts) expect(atUs).toBe(expected)
          else expect(atUs).toBeGreaterThanOrEqual(expected)
          const pass = { atUs, units, untilUs, seenUs: nowUs }
          passes.push(pass)
          if (atUs > nowUs) {
            turns += 1
            line.push(pass)
          }
        }
        expect(keepsBound(passes, capacity, priceUs)).toBe(true)
      }),
      { numRuns: RUNS },
    )
    expect(turns).toBeGreaterThan(RUNS)
  })
})
