// The contract of a kernel: the arithmetic of an algorithm, written twice, here and in the .lua
// file beside it. The two must do the same operations on the same doubles in the same order;
// test/redis/differential holds them to it.

import type { Period } from '../base/calendar.js'

/**
 * The numbers of one state. A kernel of fixed size shares one array with other keys; the log has an
 * array a key.
 */
export type Cells = Float64Array

/**
 * What a kernel works on for one policy: the policy's numbers, and a copy of a key's state that
 * `read` fills and `take` changes. One object serves all decisions of a policy set, so nothing is
 * allocated per decision.
 */
export interface Scratch {
  readonly limit: number
  /** The state differs from what is stored: it was changed, or `read` healed it. */
  dirty: boolean
}

/**
 * All times are whole; "how many" is floored, "how long" is ceiled. `S` is the kernel's own
 * scratch.
 */
export interface Kernel<S extends Scratch = Scratch> {
  /** Kernel and version of its state; the last part of a key in Redis. A new state form needs a new
   *  id. */
  readonly id: string
  /** The same kernel in Lua. */
  readonly lua: KernelLua
  readonly traits: Traits
  /** How many numbers a state has; 0: it varies, and every key has cells of its own. */
  readonly width: number
  /** How many of these cells are a state; NaN: they are none. Only where the width is 0. */
  sizeOf?(cells: Cells): number
  /** Of windows that are periods of a calendar: the one at a time. To Redis its start and end, in
   *  ms, travel as the second and the third of the policy's numbers. */
  readonly periodAt?: (nowUs: number) => Period
  /** Scratch space for a policy of these numbers. */
  prepare(numbers: PolicyNumbers): S
  /** Brings the scratch to `nowUs`, from the state at `offset` of `cells` or, if those are
   *  undefined, from nothing. Changes nothing in `cells`. */
  read(scratch: S, cells: Cells | undefined, offset: number, nowUs: number): void
  /** The units in use, which may be more than the limit. */
  used(scratch: S): number
  /** The units that come within `ms`; below 0: how many more are missing. Only kernels on which
   *  turns can be reserved have it. */
  within?(scratch: S, ms: number): number
  /** Takes units, past the limit if need be, where it saturates. */
  take(scratch: S, units: number): void
  /** What is taken after it counts as if it were taken at `untilUs`, which is later than now: it
   *  may be spent at any time until then. Of kernels where a unit that is taken sooner is free
   *  again sooner. */
  ahead?(scratch: S, untilUs: number): void
  /** Gives back units that count until `untilUs` (their receipt's now and reset; Infinity: there is
   *  no receipt): no more than are in use or still count of them, and never into a later window.
   *  With `chargedUs`, the instant of the charge, also no more than that after an earlier
   *  refund. */
  refund(scratch: S, units: number, untilUs: number, chargedUs: number | undefined): void
  /** True: a request that was refused by this policy alone begins a block, and is to be told. */
  mayBegin?(scratch: S): boolean
  /** A request was refused that all policies but those that may begin a block have granted. */
  refuse?(scratch: S): void
  /** Blocks for `ms`, whatever was taken. A longer block stays. */
  block?(scratch: S, ms: number): void
  /** Ends a block. */
  unblock?(scratch: S): void
  /** Takes slots on that are counted until `untilUs`: from now for their whole time; as many as are
   *  gone anew, past the limit if need be. Of kernels that `hold`. */
  renew?(scratch: S, units: number, untilUs: number): void
  /** The longest time to block for, in ms. Of kernels that `block`. */
  longestBlockMs?(numbers: PolicyNumbers): number
  /** Gives back units that were reserved and whose turn has not come, unless something that was
   *  taken or reserved later stands on them. Where it is missing nothing can be reserved, and
   *  `refund` does. */
  cancel?(scratch: S, units: number, untilUs: number): void
  /** Takes units that were taken elsewhere and count until `untilUs`: no more than still count of
   *  them. */
  reconcile(scratch: S, units: number, untilUs: number): void
  /** Restores what was seen before and lost since: `used` units that count until `untilUs`. It is
   *  idempotent, changes nothing that is intact, and makes no more than what was seen and what was
   *  taken since. */
  restore(scratch: S, used: number, untilUs: number): void
  /** Milliseconds until `cost` units are available, which is more than there are now, and not above
   *  the limit. */
  retryAfterMs(scratch: S, cost: number): number
  /** Microseconds until the key answers as a fresh one; 0: it does now. Kernels that count whole
   *  milliseconds count them from the last whole one. Of one that `blocks`, with a code in the
   *  rest of a millisecond (block-code.ts). */
  resetAfterUs(scratch: S): number
  /** Microseconds for which the state matters, where that may be longer: it is kept so long, and
   *  the kernel itself knows whether units of it still count. */
  lifeUs?(scratch: S): number
  /** Puts the state back. Called only if it is dirty and `resetAfterUs` is above 0; else there is
   *  nothing to keep. Returns the cells that hold it, which are new ones when `cells` had no
   *  room. */
  write(scratch: S, cells: Cells, offset: number): Cells
}

/** What others need to know of an algorithm, so that nobody asks for its name. */
export interface Traits {
  /** Units come back one by one, each `unitMs` after the one before; the reset tells all that is in
   *  use. */
  readonly drains: boolean
  /** All that is in use comes back at once: at the reset, and nothing before. */
  readonly hasOneEnd: boolean
  /** What it takes for a request that others refuse does harm: in several slots it is asked after
   *  them, and nothing of it is taken ahead. */
  readonly isAskedLast: boolean
  /** It counts attempts, whatever they cost, and then blocks: by the arithmetic of `block`. */
  readonly blocks: boolean
  /** Its units are slots, which are taken for a time, renewed and released. A key that was seen may
   *  have fewer of them at any time. */
  readonly holds: boolean
}

/** Microseconds for which a state matters. */
export function lifeUsOf<S extends Scratch>(kernel: Kernel<S>, scratch: S): number {
  return kernel.lifeUs === undefined ? kernel.resetAfterUs(scratch) : kernel.lifeUs(scratch)
}

/**
 * What a kernel needs to know of a policy. The first number is the limit; the kernel says how many
 * follow and what they mean, by the parameters of its Lua. They travel as arguments of a script, so
 * all are whole.
 */
export type PolicyNumbers = readonly number[]

/** Counts saturate here: far above any limit, and sums of two are still exact. */
export const MAX_UNITS: number = 2 ** 50

/**
 * A kernel in Lua, cut into pieces by the build (tools/kernel-lua.mjs): the driver uses the whole
 * kernel, and the loop over plain requests pastes its functions. Where a piece is pasted, an `@`
 * stands before each name that every policy has for itself.
 */
export interface KernelLua {
  /** Constants and functions that all policies use. */
  readonly shared: string
  /** A function of a policy's numbers, which makes the functions of its kernel and, as
   *  `special`, that of the mode: `within` to reserve, `ahead` to lease, `cancel` (or else
   *  `refund`), `refund`, also to settle, `reconcile`, `restore`, `block`, `unblock`, `renew`. A
   *  kernel may have `may_begin`, `refuse` and `life`, which are the functions of `Kernel` of these
   *  names. */
  readonly kernel: string
  /** What the kernel calls a policy's numbers, and so how many there are; the first is `@limit`. */
  readonly numbers: readonly string[]
  /** False: the driver alone answers its requests, as it has functions that the loop does not
   *  call. */
  readonly isPlain: boolean
  /** The locals of a policy: what is fixed for a call, and the state of a key. */
  readonly locals: string
  /**
   * - read(key) reads the state of a key, and heals it. Returns whether the key is ours.
   * - used() returns the units in use.
   * - take(units) takes them, past the limit if need be.
   * - retry_after(cost) returns the ms until it is available, which it is not now, and is not above
   *   the limit; nil: the key is not ours.
   * - reset_after() returns the us until the key answers as a fresh one, and whether the state
   *   differs from what is stored.
   * - write(key, reset) writes the state. Called only if it differs and the reset is above 0.
   */
  readonly functions: Readonly<Record<Pasted, PastedLua>>
}

type Pasted = 'read' | 'used' | 'take' | 'retry_after' | 'reset_after' | 'write'

/** A function, to be pasted in place of a call. */
export interface PastedLua {
  readonly parameters: readonly string[]
  readonly body: string
  /** What it returns; '': nothing. */
  readonly result: string
}
