// The recipe of a walk: policies as data, which any version can read, and steps. A step may say
// "exactly when the wait is over" or "by an earlier receipt"; the walk looks up what that is.

import type { RedisStoreOptions } from '@weir/core'
import type { Random } from '@weir/testkit/virtual-time'
import { KINDS, type PolicyData, type Scaled } from './kinds.js'

export interface Walk {
  readonly seed: number
  readonly options: RedisStoreOptions
  /** The kind of the first policy, as in `KINDS`. */
  readonly kind: string
  /** Sets of policies. Those at the same position share a name and a time scale, and so a counter;
   *  their limits differ. */
  readonly sets: readonly (readonly PolicyData[])[]
  /** Whether the policy at this position counts under a shared key. */
  readonly isShared: readonly boolean[]
  readonly startMs: number
  /**
   * The clock steps back. A process may then take for lost what another one has given back or has
   * counted in another window, even with the same version, so only worlds with one version are
   * compared.
   */
  readonly isApart: boolean
  readonly steps: readonly Step[]
}

export interface Step {
  /** Which of two versions on one Redis is asked: 0 for the earlier one, 1 for the present one. */
  readonly by: 0 | 1
  readonly move: Move
  /** The requests of one turn of the event loop, each for a different key. */
  readonly asks: readonly Ask[]
}

/** How the clock moves before a step. Spans are those of the first policy. */
export interface Move {
  readonly to:
    | 'stay'
    | 'micros'
    | 'millis'
    | 'part'
    | 'spans'
    | 'retry'
    | 'almost'
    | 'reset'
    | 'back'
  readonly n: number
}

export type AskMode =
  | 'consume'
  | 'peek'
  | 'penalty'
  | 'refund'
  | 'cancel'
  | 'settle'
  | 'reconcile'
  | 'restore'
  | 'block'
  | 'unblock'
  | 'reset'

export interface Ask {
  readonly mode: AskMode
  readonly set: number
  readonly key: string
  /** For each policy; below 0, the limit minus this much. For a settlement, what is given back. */
  readonly costs: readonly number[]
  readonly count: number
  readonly atLeast?: number
  readonly maxWaitMs?: number
  /** The units that must remain, for each policy. */
  readonly keep?: readonly number[]
  /** The index of a recent receipt of the key; undefined: none. */
  readonly receipt?: number
}

/** Texts that are keys as they are, and some that have to be encoded or hashed. */
const KEYS = ['a', 'b', 'user:7', '{x}', 'é😀', '\ud800', ' ', 'y'.repeat(200), 'z'.repeat(300)]
const VARIANTS: readonly RedisStoreOptions[] = [
  {},
  {},
  { hashTags: 4 },
  { hashKeys: 'a secret of two versions' },
]
const STEPS_OF_WALK = 60
/** From 2026 on, for some years. */
const START_MS = Date.UTC(2026, 0, 1)
const START_RANGE_S = 3 * 365 * 86_400

/** @param kinds as in `KINDS`; walks use them in turn for the first policy */
export function walkFrom(seed: number, random: Random, kinds: readonly string[]): Walk {
  const kind = kinds[seed % kinds.length] as string
  const others = random.chance(0.4) ? random.whole(1, 2) : 0
  const places = [kind, ...Array.from({ length: others }, () => random.pick(kinds))]
  const scaled = places.map((of, i) => KINDS[of]?.make(`policy${i}`, random) as Scaled)
  const times = random.chance(0.4) ? [1, random.whole(2, 4)] : [1]
  const keys = [random.pick(KEYS), random.pick(KEYS)]
  const goesBack = random.chance(0.2)
  const hasBlocks = places.map((of) => of === 'lockout')
  // 0.2.0 cancels only what can be reserved. A sliding log that cancels may give back other units.
  const cancels = places.every((of) => KINDS[of]?.kernel !== 'sliding-log')
  const choices = { keys, sets: times.length, hasBlocks, cancels, goesBack }
  return {
    seed,
    kind,
    options: random.pick(VARIANTS),
    sets: times.map((n) => scaled.map((make) => make(n))),
    isShared: places.map((_, i) => i > 0 && random.chance(0.2)),
    startMs: START_MS + random.whole(0, START_RANGE_S) * 1_000 + random.whole(0, 1),
    isApart: goesBack,
    steps: Array.from({ length: STEPS_OF_WALK }, () => stepFrom(random, choices)),
  }
}

interface Choices {
  readonly keys: readonly string[]
  readonly sets: number
  /** For each policy, whether it can be blocked. */
  readonly hasBlocks: readonly boolean[]
  /** Whether there are steps that cancel. */
  readonly cancels: boolean
  readonly goesBack: boolean
}

function stepFrom(random: Random, choices: Choices): Step {
  const keys = random.chance(0.15) ? [...new Set(choices.keys)] : [random.pick(choices.keys)]
  return {
    by: random.pick([0, 1]),
    move: moveFrom(random, choices),
    asks: keys.map((key) => askFrom(random, key, choices)),
  }
}

const MOVES: readonly [Move['to'], number][] = [
  ['stay', 30],
  ['micros', 4],
  ['millis', 12],
  ['part', 20],
  ['spans', 3],
  ['almost', 10],
  ['retry', 12],
  ['reset', 4],
]

function moveFrom(random: Random, { goesBack }: Choices): Move {
  const to = goesBack && random.chance(0.05) ? 'back' : weighted(random, MOVES)
  return { to, n: random.whole(1, 40) }
}

const MODES: readonly [AskMode, number][] = [
  ['consume', 55],
  ['peek', 6],
  ['penalty', 6],
  ['refund', 10],
  ['cancel', 4],
  ['settle', 8],
  ['reconcile', 4],
  ['reset', 2],
]

const COSTS = [0, 1, 1, 1, 1, 2, 3, 7, -1, -2, -5]

function askFrom(random: Random, key: string, { sets, hasBlocks, cancels }: Choices): Ask {
  const set = random.whole(0, sets - 1)
  if (hasBlocks.includes(true) && random.chance(0.05)) {
    const mode = random.pick(['block', 'unblock'] as const)
    // A number of milliseconds, or the largest possible one.
    const cost = mode === 'block' ? random.pick([1, 500, 10_000]) : -1
    return { mode, set, key, costs: hasBlocks.map((has) => (has ? cost : 0)), count: 1 }
  }
  const drawn = weighted(random, MODES)
  const mode = drawn === 'cancel' && !cancels ? 'refund' : drawn
  const each = <Value>(make: () => Value): Value[] => hasBlocks.map(make)
  const count = random.chance(0.2) ? random.whole(2, 6) : 1
  const costs = random.chance(0.7)
    ? each(() => 1)
    : mode === 'settle'
      ? each(() => random.whole(-3, 3))
      : each(() => random.pick(COSTS))
  const asked = { mode, set, key, costs, count: takes(mode) ? count : 1 }
  if (mode === 'consume' || mode === 'peek') {
    return {
      ...asked,
      ...(random.chance(0.15) ? { keep: each(() => random.whole(0, 3)) } : {}),
      ...(random.chance(0.2)
        ? { atLeast: random.whole(1, count), maxWaitMs: random.pick([0, 100, 2_000, 60_000]) }
        : {}),
    }
  }
  const byReceipt = mode !== 'penalty' && mode !== 'reset' && (needs(mode) || random.chance(0.7))
  return byReceipt ? { ...asked, receipt: random.whole(0, 5) } : asked
}

function takes(mode: AskMode): boolean {
  return mode === 'consume' || mode === 'peek' || mode === 'penalty'
}

/** Modes that mean nothing without a receipt. */
function needs(mode: AskMode): boolean {
  return mode === 'cancel' || mode === 'reconcile' || mode === 'restore' || mode === 'settle'
}

function weighted<Value>(random: Random, weights: readonly [Value, number][]): Value {
  let left = random.next() * weights.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [value, weight] of weights) {
    left -= weight
    if (left < 0) return value
  }
  return (weights[0] as [Value, number])[0]
}
