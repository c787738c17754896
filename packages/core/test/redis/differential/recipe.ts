// The recipe of a walk: data that fast-check draws, shrinks and prints. A recipe may say "exactly
// when the wait is over" or "as much as is left"; the walk looks up in the model what that is.

import fc from 'fast-check'
import type { PolicyNumbers } from '../../../src/algorithms/algorithm.js'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { budget } from '../../../src/algorithms/budget/policies.js'
import { concurrency } from '../../../src/algorithms/concurrency/policies.js'
import type { PolicyDescription } from '../../../src/algorithms/description.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import { lockout } from '../../../src/algorithms/lockout/policies.js'
import type { Mode } from '../../../src/algorithms/modes.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { slidingLog, slidingWindow } from '../../../src/algorithms/sliding-log/policies.js'
import { EPOCH_MS } from '../../../src/base/clock.js'
import { algorithms, kernels } from '../../../src/testing/algorithms.js'
import { calendarDay } from './model.js'

export interface WalkRecipe {
  /** The policies of each version. The n-th of all versions share a name, kernel and time scale,
   *  and so their states. */
  readonly versions: readonly (readonly DrawnPolicy[])[]
  readonly startUs: number
  readonly steps: readonly StepRecipe[]
}

/** A policy as far as a walk needs it, in a form that can be printed. */
export interface DrawnPolicy {
  readonly name: string
  readonly kernel: KernelName
  readonly limit: number
  readonly windowMs: number
  readonly timeScale: string
  readonly numbers: PolicyNumbers
}

export interface StepRecipe {
  readonly move: Move
  readonly mode: Mode
  readonly version: number
  readonly groups: readonly GroupRecipe[]
  /** Further conditions of a consume or a peek. */
  readonly limits?: Limits | undefined
  /** How often the step is repeated, a fraction of a window apart, which makes logs long. */
  readonly repeat: number
  /** Refund, settle, reconcile or restore by one of the receipts of earlier consumes, not by the
   *  groups. */
  readonly byReceipt: boolean
  /** Until when a correction without a receipt counts, in eighths of a window from now. For a
   *  settlement it also selects the costs that are given back. */
  readonly until: number
  /** Whether to check the contract for this step, which costs a dozen calls. */
  readonly probe: boolean
}

export interface GroupRecipe {
  readonly key: number
  /** For each policy; policies without their own cost take the first one. */
  readonly costs: readonly Cost[]
  readonly count: number
}

export interface Limits {
  /** At most the count. */
  readonly atLeast: number
  /** In eighths of a window; undefined: it does not wait. */
  readonly wait: number | undefined
  /** How long the consumed units are kept, in fiftieths of the shortest window; undefined: they are
   *  spent at once. */
  readonly ahead?: number | undefined
  /** Units, or what is left and this many more. */
  readonly keep: Cost
}

/**
 * How the clock moves before a step. `retry`: if the last step was denied, to 1 ms before its wait
 * is over, and to its exact end. `reset`: to when everything is forgotten, and `n - 1` ms further.
 * Parts and spans are those of the first policy.
 */
export interface Move {
  readonly to:
    | 'stay'
    | 'micros'
    | 'millis'
    | 'bit'
    | 'part'
    | 'spans'
    | 'reset'
    | 'retry'
    | 'backPart'
    | 'backSpans'
  readonly n: number
}

export interface Cost {
  readonly of: 'one' | 'units' | 'left' | 'limit' | 'most'
  readonly n: number
}

/** The algorithms, by the names of their folders; and fixed windows of the calendar. */
export type KernelName = string
export const kernelNames: readonly KernelName[] = [...Object.keys(algorithms), 'calendar']

/** A policy in a form that can be printed. */
export function drawnOf(policy: Policy): DrawnPolicy {
  const kernel = kernelNames.find((name) => kernels[name]?.id === policy.kernel?.id)
  return { ...shownOf(policy), kernel: kernel as KernelName }
}

/** Walks whose first policy uses the given kernel. */
export function walks(kernel: KernelName): fc.Arbitrary<WalkRecipe> {
  const others = fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 2,
      arbitrary: fc.array(fc.constantFrom(...kernelNames), { minLength: 1, maxLength: 2 }),
    },
  )
  return fc.tuple(others, fc.integer({ min: 1, max: 3 })).chain(([more, versions]) => {
    const places = [kernel, ...more].map((name, i) => versionsOf(name)(`policy${i}`, versions))
    return fc.record({
      versions: fc.tuple(...places).map((drawn) => {
        return Array.from({ length: versions }, (_, n) =>
          drawn.map((each) => each[n] as DrawnPolicy),
        )
      }),
      startUs: fc.integer({ min: 0, max: 10 * 365 * 86_400_000 }).chain(startIn),
      steps: fc.array(step, { minLength: 1, maxLength: 120, size: 'max' }),
    })
  })
}

/** A start in the given millisecond since 2025: at its beginning, or anywhere in it. */
function startIn(ms: number): fc.Arbitrary<number> {
  return fc.oneof(fc.constant(0), fc.nat(999)).map((us) => (EPOCH_MS + ms) * 1_000 + us)
}

const limit: fc.Arbitrary<number> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(60, 1_000, 99_999, 2 ** 31, 2 ** 50) },
)

const span: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 100_000 }),
  fc.constantFrom(7, 60, 100, 1_000, 60_000, 3_600_000, 86_400_000, 3_650 * 86_400_000),
)

/** Mostly short: the wait for slots is reported only up to a second. */
const holdTimeout: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1_000, max: 1_300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(60_000, 3_600_000, 86_400_000) },
)

/** Units and the ms that they take: odd rates and plain ones. */
const rates: [number, number][] = [
  [7, 60_000],
  [333, 1_000],
  [99_999, 86_400_000],
  [2.5, 1_000],
  [1, 1],
  [8_000, 1],
  [1, 86_400_000],
]
const rate: fc.Arbitrary<[number, number]> = fc.oneof(
  fc.constantFrom(...rates),
  fc.tuple(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 100_000 })),
)

/** How far ahead turns are reserved; undefined: not given. */
const wait: fc.Arbitrary<number | undefined> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: span.filter((ms) => ms < 1_826 * 86_400_000) },
)

/** This many policies with one time scale. */
type Versions = (name: string, count: number) => fc.Arbitrary<readonly DrawnPolicy[]>

/** Policies with more to draw than a limit and a window. */
const policies: Readonly<Record<string, Versions>> = {
  bucket: (name, count) =>
    drawn('bucket', fc.tuple(rate, times(limit, count), wait), (numbers) => {
      const [[refill, every], capacities, maxWait] = numbers
      const [first = 0] = capacities
      return capacities.map((capacity) => {
        // The same time to refill from empty: a bucket of twice the size refills twice as fast.
        const scaled = capacity === first ? refill : (refill * capacity) / first
        return tokenBucket({ name, capacity, refill: scaled, every, maxWait })
      })
    }),
  'fixed-window': (name, count) =>
    drawn(
      'fixed-window',
      fc.tuple(span, fc.boolean(), times(limit, count)),
      ([window, aligned, limits]) =>
        limits.map((most) => fixedWindow({ name, limit: most, window, aligned })),
    ),
  calendar: (name, count) =>
    drawn('calendar', times(limit, count), (limits) =>
      limits.map((most) => calendarDay(name, most)),
    ),
  lockout: (name, count) => {
    const starts = fc.constantFrom<('limit' | 'excess')[]>('limit', 'excess')
    return drawn(
      'lockout',
      fc.tuple(span, span, times(fc.tuple(limit, blocks, starts), count)),
      ([window, forget, each]) =>
        each.map(([most, block, start]) => {
          const shorter = block.filter((ms) => ms <= forget)
          const lengths = shorter.length > 0 ? shorter : [forget]
          return lockout({ name, limit: most, window, forget, block: lengths, starts: start })
        }),
    )
  },
  concurrency: (name, count) =>
    drawn('concurrency', fc.tuple(holdTimeout, times(limit, count)), ([hold, limits]) =>
      limits.map((most) => concurrency({ name, limit: most, holdTimeout: hold })),
    ),
  // Policies of one key may hold for other times.
  budget: (name, count) =>
    drawn(
      'budget',
      fc.tuple(span, times(fc.tuple(limit, fc.option(holdTimeout)), count)),
      ([ms, each]) => {
        const longest = Math.max(...each.map(([, hold]) => hold ?? 0))
        const forgetAfter = Math.max(ms, 2 * longest)
        return each.map(([most, hold]) =>
          budget({ name, limit: most, holdTimeout: hold ?? undefined, forgetAfter }),
        )
      },
    ),
  'sliding-log': (name, count) => {
    const parts = fc.option(fc.integer({ min: 2, max: 60 }))
    return drawn(
      'sliding-log',
      fc.tuple(span, times(fc.tuple(limit, parts), count)),
      ([window, each]) =>
        each.map(([most, some]) =>
          some === null
            ? slidingLog({ name, limit: most, window })
            : slidingWindow({ name, limit: most, window, parts: some }),
        ),
    )
  },
}

/** The lengths of blocks, in ascending order. */
const blocks: fc.Arbitrary<number[]> = fc
  .uniqueArray(span, { minLength: 1, maxLength: 8 })
  .map((lengths) => lengths.sort((one, other) => one - other))

function versionsOf(kernel: KernelName): Versions {
  const known = policies[kernel]
  if (known !== undefined) return known
  const [{ of }] = Object.values(algorithms[kernel]?.policies ?? {}) as [PolicyDescription]
  return (name, count) =>
    drawn(kernel, fc.tuple(span, times(limit, count)), ([window, limits]) =>
      limits.map((most) => ({ ...shownOf(of(most, window)), name })),
    )
}

function times<Value>(of: fc.Arbitrary<Value>, count: number): fc.Arbitrary<Value[]> {
  return fc.array(of, { minLength: count, maxLength: count })
}

function shownOf({
  name,
  limit: most,
  windowMs,
  timeScale,
  numbers,
}: Omit<DrawnPolicy, 'kernel'>): Omit<DrawnPolicy, 'kernel'> {
  return { name, limit: most, windowMs, timeScale, numbers }
}

/** Draws numbers until they make policies: the factories refuse what they cannot keep exactly. */
function drawn<Numbers>(
  kernel: KernelName,
  from: fc.Arbitrary<Numbers>,
  make: (numbers: Numbers) => readonly Omit<DrawnPolicy, 'kernel'>[],
): fc.Arbitrary<readonly DrawnPolicy[]> {
  const tried = from.map((options): readonly DrawnPolicy[] | undefined => {
    try {
      const made = make(options).map((policy) => ({ ...shownOf(policy), kernel }))
      return made.every(({ timeScale }) => timeScale === made[0]?.timeScale) ? made : undefined
    } catch {
      return undefined
    }
  })
  return tried.filter((some) => some !== undefined)
}

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 28, arbitrary: fc.record({ to: fc.constant('retry' as const), n: fc.constant(0) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      to: fc.constantFrom(
        ...(['stay', 'stay', 'micros', 'millis', 'bit', 'part', 'part', 'part'] as const),
      ),
      n: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      to: fc.constantFrom(...(['spans', 'reset', 'backPart', 'backPart', 'backSpans'] as const)),
      n: fc.integer({ min: 0, max: 4 }),
    }),
  },
)

const cost: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ of: fc.constant('one' as const), n: fc.constant(0) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      of: fc.constantFrom(...(['units', 'left', 'left', 'limit'] as const)),
      n: fc.integer({ min: 0, max: 2 }),
    }),
  },
)
/** Only ever charged: nothing else takes that much, and one such charge fills everything up. */
const most: fc.Arbitrary<Cost> = fc.record({ of: fc.constant('most' as const), n: fc.nat(2) })

const mode: fc.Arbitrary<Mode> = fc.oneof(
  { weight: 18, arbitrary: fc.constant<Mode>('consume') },
  { weight: 1, arbitrary: fc.constant<Mode>('peek') },
  { weight: 2, arbitrary: fc.constant<Mode>('refund') },
  { weight: 1, arbitrary: fc.constant<Mode>('penalty') },
  { weight: 2, arbitrary: fc.constantFrom<Mode[]>('reconcile', 'restore') },
  { weight: 3, arbitrary: fc.constantFrom<Mode[]>('cancel', 'settle') },
  { weight: 1, arbitrary: fc.constantFrom<Mode[]>('block', 'unblock') },
  { weight: 3, arbitrary: fc.constantFrom<Mode[]>('release', 'renew') },
)

const limits: fc.Arbitrary<Limits> = fc.record({
  atLeast: fc.integer({ min: 1, max: 6 }),
  wait: fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 20 })),
  ahead: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 6 }) },
  ),
  keep: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ of: 'units' as const, n: 0 }) },
    {
      weight: 1,
      arbitrary: fc.record({
        of: fc.constantFrom(...(['units', 'left', 'limit'] as const)),
        n: fc.integer({ min: 0, max: 2 }),
      }),
    },
  ),
})

const step: fc.Arbitrary<StepRecipe> = mode.chain((chosen) => {
  const costs =
    chosen === 'penalty'
      ? fc.oneof({ weight: 4, arbitrary: cost }, { weight: 1, arbitrary: most })
      : cost
  const group = fc.record({
    key: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constant(1) },
    ),
    costs: fc.oneof(
      { weight: 2, arbitrary: fc.tuple(costs) },
      { weight: 1, arbitrary: fc.tuple(costs, costs, costs) },
    ),
    count: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) },
    ),
  })
  return fc.record({
    move,
    mode: fc.constant(chosen),
    limits:
      chosen === 'consume' || chosen === 'peek'
        ? fc.oneof(
            { weight: 2, arbitrary: fc.constant(undefined) },
            { weight: 1, arbitrary: limits },
          )
        : fc.constant(undefined),
    version: fc.oneof(
      { weight: 5, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(2) },
    ),
    groups: fc.oneof(
      { weight: 6, arbitrary: fc.tuple(group) },
      { weight: 1, arbitrary: fc.array(group, { minLength: 2, maxLength: 4 }) },
    ),
    repeat: fc.oneof(
      { weight: 24, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 2, max: 30 }) },
    ),
    byReceipt: fc.boolean(),
    until: fc.integer({ min: -2, max: 10 }),
    probe: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
  })
})
