// What a walk is made from: policies as data, which any version can read, and steps. A step says
// "exactly when the wait is over" or "by an earlier receipt"; the walk looks up what that is.

import type { RedisStoreOptions } from '@weir/core'
import type { Random } from '@weir/testkit/virtual-time'
import { KINDS, type PolicyData, type Scaled } from './kinds.js'

export interface Walk {
  readonly seed: number
  readonly options: RedisStoreOptions
  /** Of the first policy, as in `KINDS`. */
  readonly kind: string
  /** Sets of policies. Those at one place have one name and time scale, and differ in their limits:
   *  they share a counter. */
  readonly sets: readonly (readonly PolicyData[])[]
  /** Whether the policy at this place counts under a key that all share. */
  readonly isShared: readonly boolean[]
  readonly startMs: number
  /**
   * The clock steps back. Then a process may take for lost what another one has given back or has
   * counted in another window, also one of the same version: only worlds of one version are
   * compared.
   */
  readonly isApart: boolean
  readonly steps: readonly Step[]
}

export interface Step {
  /** Which of two versions on one Redis is asked: 0 the earlier one, 1 the present. */
  readonly by: 0 | 1
  readonly move: Move
  /** Asked for in one turn of the event loop, each under a key of its own. */
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
  /** For each policy; below 0: the limit and so much less. Of a settlement, what is given back. */
  readonly costs: readonly number[]
  readonly count: number
  readonly atLeast?: number
  readonly maxWaitMs?: number
  /** Units that must remain, for each policy. */
  readonly keep?: readonly number[]
  /** Which of the last receipts of the key; undefined: none. */
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

/** @param kinds as in `KINDS`; that of the first policy in turns */
export function walkFrom(seed: number, random: Random, kinds: readonly string[]): Walk {
  const kind = kinds[seed % kinds.length] as string
  const others = random.chance(0.4) ? random.whole(1, 2) : 0
  const places = [kind, ...Array.from({ length: others }, () => random.pick(kinds))]
  const scaled = places.map((of, i) => KINDS[of]?.make(`policy${i}`, random) as Scaled)
  const times = random.chance(0.4) ? [1, random.whole(2, 4)] : [1]
  const keys = [random.pick(KEYS), random.pick(KEYS)]
  const goesBack = random.chance(0.2)
  const hasBlocks = places.map((of) => of === 'lockout')
  // 0.2.0 cancels only what can be reserved. A log that is asked to may give back other units.
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
  /** Of each policy, whether it can be blocked. */
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
  ['restore', 4],
  ['reset', 2],
]

const COSTS = [0, 1, 1, 1, 1, 2, 3, 7, -1, -2, -5]

function askFrom(random: Random, key: string, { sets, hasBlocks, cancels }: Choices): Ask {
  const set = random.whole(0, sets - 1)
  if (hasBlocks.includes(true) && random.chance(0.05)) {
    const mode = random.pick(['block', 'unblock'] as const)
    // Milliseconds; or all that there may be.
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

/** Modes that say nothing without a receipt. */
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
