// The bucket compared with exact arithmetic. `rounded` is the kernel's definition in BigInt: the
// price of a unit is rounded up once, everything else is exact; the kernel must always agree with
// it. `ideal` does not round at all: the kernel must never allow more, and its debt may exceed the
// ideal one only by the rounding of the units taken, less than an eighth of a microsecond each.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucket } from '../../../src/algorithms/bucket/kernel.js'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../../src/base/clock.js'

const WALKS = stepsOf(50, 2_500)
const STEPS_PER_WALK = 100
const MILLION = 10 ** 6
/** 2044: a bucket is exact until 2045, and some retries of a long one may go beyond that. */
const LAST_US = (EPOCH_MS + 19 * 365 * 86_400_000) * 1_000

/**
 * A bucket that counts time in shards: `shards` of them make a tick, an eighth of a microsecond, so
 * that its price is a whole number.
 */
class Reference {
  readonly #price: bigint
  readonly #capacity: bigint
  readonly #shards: bigint
  #tat = 0n
  #now = 0n

  /** @param price of a unit, in shards; `shards` make a tick */
  constructor(price: bigint, capacity: number, shards: bigint) {
    this.#price = price
    this.#capacity = BigInt(capacity)
    this.#shards = shards
  }

  at(nowUs: number): this {
    this.#now = BigInt(nowUs) * 8n * this.#shards
    return this
  }

  /** In shards. */
  get owed(): bigint {
    return this.#tat > this.#now ? this.#tat - this.#now : 0n
  }

  get left(): bigint {
    const free = this.#price * this.#capacity - this.owed
    return free > 0n ? free / this.#price : 0n
  }

  take(units: number): void {
    const tat = this.#now + this.owed + BigInt(units) * this.#price
    const furthest = this.#now + 2n * this.#price * this.#capacity
    this.#tat = tat < furthest ? tat : furthest
  }

  refund(units: number): void {
    const tat = this.#tat - BigInt(units) * this.#price
    this.#tat = tat > this.#now ? tat : this.#now
  }

  retryAfterMs(cost: number): bigint {
    if (BigInt(cost) > this.#capacity) return -1n
    const wait = this.owed + BigInt(cost) * this.#price - this.#price * this.#capacity
    return wait > 0n ? ceil(wait, 8_000n * this.#shards) : 0n
  }

  get resetAfterUs(): bigint {
    return ceil(this.owed, 8n * this.#shards)
  }
}

function ceil(value: bigint, unit: bigint): bigint {
  return (value + unit - 1n) / unit
}

interface Rate {
  readonly refill: number
  readonly everyMs: number
  readonly capacity: number
}

const rate: fc.Arbitrary<Rate> = fc
  .record({
    refill: fc.oneof(
      fc.constantFrom(7, 333, 99_999, 999_983),
      fc.integer({ min: 1, max: 100_000 }),
    ),
    everyMs: fc.oneof(
      fc.constantFrom(1_000, 60_000, 86_400_000),
      fc.integer({ min: 1, max: 10 ** 7 }),
    ),
    capacity: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10 ** 6 })),
  })
  .filter((numbers) => policyOf(numbers) !== undefined)

function policyOf({ refill, everyMs, capacity }: Rate): Policy | undefined {
  try {
    return tokenBucket({ capacity, refill, every: everyMs })
  } catch {
    return undefined
  }
}

interface Step {
  /** How the clock moves: by this many us, or to an edge that the last step reported. */
  readonly by: number | 'retry' | 'beforeRetry' | 'reset'
  readonly verb: 'consume' | 'penalty' | 'refund'
  /** A part of the capacity in millionths, or that many units. */
  readonly share: number
  readonly units: number | undefined
}

const verbs: Step['verb'][] = [...Array<'consume'>(8).fill('consume'), 'penalty', 'refund']

const step: fc.Arbitrary<Step> = fc.record({
  by: fc.oneof(
    { weight: 24, arbitrary: fc.constantFrom(0, 'retry' as const, 'beforeRetry' as const) },
    { weight: 1, arbitrary: fc.constant('reset' as const) },
    { weight: 12, arbitrary: fc.nat(10 ** 5) },
    { weight: 1, arbitrary: fc.nat(10 ** 10) },
  ),
  verb: fc.constantFrom(...verbs),
  share: fc.nat(MILLION),
  units: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
})

describe('the bucket agrees with exact arithmetic', () => {
  test(`agree over ${WALKS * STEPS_PER_WALK} steps`, () => {
    const sums = { steps: 0, denials: 0 }
    const startMs = fc.integer({ min: EPOCH_MS, max: EPOCH_MS + 10 * 365 * 86_400_000 })
    const steps = fc.array(step, { minLength: STEPS_PER_WALK, maxLength: STEPS_PER_WALK })
    fc.assert(
      fc.property(rate, startMs, steps, (numbers, start, taken) =>
        walk(numbers, start, taken, sums),
      ),
      { numRuns: WALKS },
    )
    // A few walks end early, at LAST_US.
    expect(sums.steps).toBeGreaterThan(0.99 * WALKS * STEPS_PER_WALK)
    expect(sums.denials / sums.steps).toBeGreaterThan(1 / 10)
  })
})

function walk(
  numbers: Rate,
  startMs: number,
  steps: readonly Step[],
  sums: { steps: number; denials: number },
): void {
  const { capacity, refill, everyMs } = numbers
  const policy = policyOf(numbers) as Policy
  const price = Math.round(policy.unitMs * 8_000)
  const scratch = bucket.prepare(policy.numbers)
  const cells = new Float64Array(1)
  const rounded = new Reference(BigInt(price), capacity, 1n)
  // refill shards make a tick, so a unit costs 8000 * everyMs shards, without rounding.
  const ideal = new Reference(8_000n * BigInt(everyMs), capacity, BigInt(refill))
  let nowUs = startMs * 1_000
  let cost = 1
  let stored = false
  let onlyConsumed = true
  let taken = 0n
  const rounding = BigInt(price) * BigInt(refill) - 8_000n * BigInt(everyMs)
  expect(rounding, 'rounded up by less than a tick').toBeLessThan(BigInt(refill))

  for (const { by, verb, share, units } of steps) {
    nowUs += typeof by === 'number' ? by : edge(by, cost, rounded)
    if (nowUs > LAST_US) return
    // After a wait, the same cost is requested again.
    if (by !== 'retry' && by !== 'beforeRetry')
      cost = units ?? Math.ceil((share / MILLION) * capacity)
    bucket.read(scratch, stored ? cells : undefined, 0, nowUs)
    const left = Math.max(0, capacity - bucket.used(scratch))
    expect(BigInt(left)).toBe(rounded.at(nowUs).left)
    if (left < cost && cost <= capacity)
      expect(BigInt(bucket.retryAfterMs(scratch, cost))).toBe(rounded.retryAfterMs(cost))
    expect(BigInt(bucket.resetAfterUs(scratch))).toBe(rounded.resetAfterUs)
    if (onlyConsumed) {
      expect(rounded.left, 'more than without rounding').toBeLessThanOrEqual(ideal.at(nowUs).left)
      const lag = rounded.owed * BigInt(refill) - ideal.owed
      expect(lag, 'later than rounding explains').toBeLessThanOrEqual(taken * rounding)
    }
    sums.steps += 1
    if (verb === 'consume' && left < cost) {
      sums.denials += 1
      continue
    }
    if (verb === 'refund') {
      bucket.refund(scratch, cost, Number.POSITIVE_INFINITY, undefined)
      rounded.refund(cost)
    } else {
      bucket.take(scratch, cost)
      rounded.take(cost)
    }
    onlyConsumed &&= verb === 'consume'
    ideal.take(cost)
    taken += BigInt(cost)
    bucket.write(scratch, cells, 0)
    stored = true
  }
}

function edge(by: 'retry' | 'beforeRetry' | 'reset', cost: number, rounded: Reference): number {
  if (by === 'reset') return Number(rounded.resetAfterUs)
  const retryMs = Number(rounded.retryAfterMs(cost))
  return Math.max(0, by === 'retry' ? retryMs : retryMs - 1) * 1_000
}
