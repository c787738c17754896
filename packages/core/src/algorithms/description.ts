// What an algorithm says of itself, in `description.ts` of its folder: for the suites of this
// package, for tools, and for tests of stores. @weir/core/testing publishes all descriptions.

import type { Duration } from '../base/duration.js'
import type { Policy } from './policy.js'

/** An algorithm: one arithmetic, and the policies that are decided by it. */
export interface AlgorithmDescription {
  /** Its policies, by the names of their factories. */
  readonly policies: Readonly<Record<string, PolicyDescription>>
  /** Policies that a store has to keep exactly, with numbers that divide badly. */
  readonly examples: readonly PolicyExample[]
  /** What the parts of a limiter's API do with it. */
  readonly api: ApiTable
  /** The longest time, in ms, for which a step back of the clock may block a key: letter (h) of the
   *  contract. */
  readonly longestMs: (policy: {
    readonly windowMs: number
    readonly numbers: readonly number[]
  }) => number
}

/** What a factory's policies promise and cost. */
export interface PolicyDescription {
  /** The factory itself, for any of its options. */
  readonly create: (options: never) => Policy
  /** Makes a policy from a limit, which comes back in `window`. */
  readonly of: (limit: number, window: Duration, name?: string) => Policy
  /** The most that such a policy lets pass.
   *  @param ms how long a span is, where the policy has a rate; default: its window */
  readonly bound: (policy: Policy, ms?: number) => Bound
  /** Requests that all come later by a multiple of each of these times, in ms, get the same
   *  decisions. */
  readonly gridMs: (policy: Policy) => readonly number[]
  /** The limits among which one may be suggested for a window. Undefined: none can be suggested. */
  readonly limits?: LimitSearch | undefined
  /** Why the requests of a log cannot be decided by it. Undefined: they can. */
  readonly notInLogs?: string | undefined
  /** What a decision costs Redis. */
  readonly cost: DecisionCost
}

/** The most that a policy promises to let pass, in any window or in each period. */
export interface Bound {
  /** The most units. */
  readonly units: number
  /** Where the bound holds, and why it is as large as it is. */
  readonly says: string
  /** How long the windows are in which passed units are measured. Undefined: they are measured in
   *  the calendar period in which a request lies. */
  readonly windowMs: number | undefined
}

export interface LimitSearch {
  readonly ranges: (windowMs: number) => readonly LimitRange[]
  /** Units taken, or in use, never leave more for later requests: where all costs are 1, a larger
   *  limit refuses no more requests. */
  readonly isMonotone: boolean
}

/** A range of limits under each of which a key's count is the same. */
export interface LimitRange {
  readonly least: number
  readonly most: number
  /** False: the count depends on the limit. */
  readonly isCounted: boolean
  /** In a log whose times do not go back, a key's count is at most this many times its count in the
   *  range before. Undefined: nothing is known. */
  readonly timesBefore?: number
}

/** What a decision costs Redis. */
export interface DecisionCost {
  /** The commands of a key's first decision, of the next one, of a denied one and of a peek. */
  readonly first: string
  readonly next: string
  readonly denied: string
  readonly peek: string
  /** The most bytes of a key with a name of 24 bytes, after its first decision. */
  readonly bytes: number
  /** The most time, as a multiple of that of a script with INCR and PEXPIRE: of a decision among 64
   *  in a call, and alone. */
  readonly batched: number
  readonly alone: number
}

/**
 * Letters of the contract (docs/algorithms.md) that an algorithm may be exempt from:
 * - `a`: the refusal that begins a block changes the state
 * - `b`: the wait is a hint, as nobody knows when a slot is released
 * - `d`: after its reset a key still has its level
 * - `k`: under several limits more may pass than under the most generous alone, because that one
 *   blocks keys that take all there is
 *
 * And `by-key`: units can be given back only by naming their decision.
 */
export type Letter = 'a' | 'b' | 'd' | 'k' | 'by-key'

export interface PolicyExample {
  readonly label: string
  readonly limit: number
  /** Makes the policy with a limit, on a time scale that is `times` the usual one. Default 1. */
  readonly make: (limit: number, times?: number) => Policy
  /** The parts of the contract that it does not keep. Default: it keeps all. */
  readonly exempt?: readonly Letter[] | undefined
}

/** What parts of the API do, in a few words. test/algorithms/api.test.ts does the same, and
 *  compares. */
export interface ApiTable {
  /** With a cost of 3. */
  readonly consume: 'takes 3' | 'takes 1'
  /** With 3 units. */
  readonly consumeUpTo: 'takes 3' | 'is refused'
  /** Where all is taken. */
  readonly wait: 'reserves a turn' | 'asks again' | 'does not wait'
  /** With a cost of 3. */
  readonly penalty: 'takes 3' | 'takes 1' | 'is refused'
  /** Of a decision that cost 3. */
  readonly refund: 'gives all back' | 'gives nothing back'
  /** Such a decision, to 5. */
  readonly settle: 'takes 2 more' | 'changes nothing'
  readonly release: 'gives all back' | 'changes nothing'
  /** A class that must leave half of the limit. */
  readonly reserve: 'leaves half' | 'leaves nothing'
  readonly block: 'denies' | 'is refused'
  readonly 'deny cache': 'remembers' | 'asks again'
  readonly leases: 'take ahead' | 'take nothing'
  /** The policy's item of the `RateLimit-Policy` header. */
  readonly header: 'has a window' | 'has no window'
  /** The type of the problem that a refusal is. */
  readonly problem: 'quota-exceeded' | 'abnormal-usage-detected'
  readonly 'a larger limit': 'keeps the count'
  /** What was seen before Redis lost it. */
  readonly 'after a loss': 'is restored' | 'is renewed'
}

/** The answers of most algorithms. */
export const UNITS: ApiTable = {
  consume: 'takes 3',
  consumeUpTo: 'takes 3',
  wait: 'asks again',
  penalty: 'takes 3',
  refund: 'gives all back',
  settle: 'takes 2 more',
  release: 'changes nothing',
  reserve: 'leaves half',
  block: 'is refused',
  'deny cache': 'remembers',
  leases: 'take ahead',
  header: 'has a window',
  problem: 'quota-exceeded',
  'a larger limit': 'keeps the count',
  'after a loss': 'is restored',
}

/** A bound on units in any window as long as the policy's. */
export function inAnyWindow(units: number, { windowMs }: Policy, says: string): Bound {
  return { units, says, windowMs }
}

/** The grid of windows of the clock. */
export function ofWindows({ windowMs }: Policy): readonly number[] {
  return [windowMs]
}

/** Two full resets of a window. */
export const twoWindows = ({ windowMs }: Pick<Policy, 'windowMs'>): number => 2 * windowMs

export const noGrid = (): readonly number[] => []

/** The largest limit that counts are exact to. */
const MOST = 2 ** 50 - 1

/** The limits of a policy whose counts do not depend on its limit. */
export function counted(most: number = MOST): readonly LimitRange[] {
  return [{ least: 0, most: Math.min(most, MOST), isCounted: true }]
}
