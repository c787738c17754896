// The contract of a kernel: an algorithm's arithmetic, written twice, in TypeScript and in the .lua
// file beside it. The two must do the same operations on the same doubles in the same order;
// test/redis/differential checks that they do.

import type { Period } from '../base/calendar.js'

/**
 * The numbers of one state. Keys of a kernel with a fixed width share one array; those of other
 * kernels have an array each.
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
 * All times are whole; amounts are rounded down, and lengths of time up. `S` is the kernel's own
 * scratch.
 */
export interface Kernel<S extends Scratch = Scratch> {
  /** Names the kernel and the version of its stored form. It is part of each key in Redis, so a new
   *  form needs a new id. */
  readonly id: string
  /** The same kernel in Lua. */
  readonly lua: KernelLua
  readonly traits: Traits
  /** How many numbers a state has; 0: it varies, and every key has cells of its own. */
  readonly width: number
  /** How many of these cells a state takes; NaN: the cells hold no state. Only where the width is
   *  0. */
  sizeOf?(cells: Cells): number
  /** For windows that are calendar periods: the period at a time. Its start and end, in ms, travel
   *  to Redis as the second and third of the policy's numbers. */
  readonly periodAt?: (nowUs: number) => Period
  /** Makes the scratch for a policy with these numbers. */
  prepare(numbers: PolicyNumbers): S
  /** Brings the scratch to `nowUs`, from the state at `offset` in `cells` or, if `cells` is
   *  undefined, from an empty state. Does not change `cells`. */
  read(scratch: S, cells: Cells | undefined, offset: number, nowUs: number): void
  /** The units in use, which may be more than the limit. */
  used(scratch: S): number
  /** The units available within `ms`; below 0: how many are still missing. Only kernels whose turns
   *  can be reserved have it. */
  within?(scratch: S, ms: number): number
  /** Takes units, past the limit if need be, up to the kernel's own maximum. */
  take(scratch: S, units: number): void
  /** Takes units that no request was judged by, such as a penalty's. A kernel without it takes them
   *  as others. */
  spend?(scratch: S, units: number): void
  /** Makes units that are taken afterwards count as if taken at `untilUs`, which is later than now:
   *  they may be spent at any time until then. For kernels whose units, if taken sooner, are free
   *  again sooner. */
  ahead?(scratch: S, untilUs: number): void
  /** Gives back units that count until `untilUs` (the receipt's now plus its reset, or Infinity
   *  without a receipt), but no more than are in use or still count, and none in a later window.
   *  `chargedUs`, the instant of the charge, is given if units were given back since then, because
   *  the units may then count until another time than `untilUs`. */
  refund(scratch: S, units: number, untilUs: number, chargedUs: number | undefined): void
  /** Settles a charge of `charged` units, made at `chargedUs`: `actual` units were used, which may
   *  be as many. Called whether or not the charge still counts, unless the key was forgotten since.
   *  A kernel without it takes or gives back the difference, if there is one. */
  settle?(scratch: S, charged: number, actual: number, untilUs: number, chargedUs: number): void
  /** True: a request that this policy alone refuses begins a block, so `refuse` is to be called. */
  mayBegin?(scratch: S): boolean
  /** Notes that a request was refused only by policies that may begin a block. */
  refuse?(scratch: S): void
  /** Blocks for `ms`, whatever was taken. A longer block stays. */
  block?(scratch: S, ms: number): void
  /** Ends a block. */
  unblock?(scratch: S): void
  /** Renews slots that count until `untilUs`: from now on, they are held for the whole time again.
   *  Slots that are gone are taken anew, past the limit if need be. For kernels that hold slots. */
  renew?(scratch: S, units: number, untilUs: number): void
  /** How long units are held, in ms. For kernels that hold them. */
  holdMs?(numbers: PolicyNumbers): number
  /** When units that count until `untilUs` are no longer held, in ms. For kernels that settle what
   *  they hold. */
  expiryMs?(numbers: PolicyNumbers, untilUs: number): number
  /** The numbers of a policy that holds nothing: a process that decides without the store spends at
   *  once, as nobody settles there. */
  withoutHolds?(numbers: PolicyNumbers): PolicyNumbers
  /** The longest block, in ms. For kernels that `block`. */
  longestBlockMs?(numbers: PolicyNumbers): number
  /** Gives back reserved units whose turn has not come, unless units taken or reserved later build
   *  on them. A kernel without it reserves nothing; the mode `cancel` then calls `refund`. */
  cancel?(scratch: S, units: number, untilUs: number): void
  /** Takes units that were taken elsewhere and count until `untilUs`: no more than still count. */
  reconcile(scratch: S, units: number, untilUs: number): void
  /** Restores what was seen before a loss: `used` units that count until `untilUs`, as far as they
   *  are more than the base, which is what others have restored since; undefined: nobody has, and
   *  the units in use are what was not lost. Returns the new base, a whole number: units or, where
   *  they drain, the time at which all of them will have drained. 0 units only tell the base. A
   *  kernel whose units are not restored has none. */
  restore?(scratch: S, used: number, untilUs: number, base: number | undefined): number
  /** Milliseconds until `cost` units are available; -1: never, by time alone. `cost` is more than
   *  what is left now, and at most the limit. */
  retryAfterMs(scratch: S, cost: number): number
  /** Microseconds until the key answers like a new one; 0: it does now. Kernels that count whole
   *  milliseconds count from the start of the current one. A kernel that `blocks` puts a code into
   *  the microseconds below a millisecond (block-code.ts). */
  resetAfterUs(scratch: S): number
  /** Microseconds for which the state is kept, where that may be longer than the reset. Such a
   *  kernel is asked about all corrections, and itself ignores units that no longer count. */
  lifeUs?(scratch: S): number
  /** Writes the state into `cells`. Called only if it is dirty and `resetAfterUs` is above 0;
   *  otherwise there is nothing to keep. Returns the cells that hold the state: new ones if `cells`
   *  had no room. */
  write(scratch: S, cells: Cells, offset: number): Cells
}

/** What other code needs to know about an algorithm, so that no code asks for its name. */
export interface Traits {
  /** Units come back one by one, each `unitMs` after the one before; the reset tells how much is in
   *  use. */
  readonly drains: boolean
  /** All units in use come back at once, at the reset, and none before. */
  readonly hasOneEnd: boolean
  /** It does harm if it takes units and another policy then refuses the request, so it is asked
   *  last across Cluster slots. */
  readonly isAskedLast: boolean
  /** Units may be taken ahead of the requests that spend them. */
  readonly isLeased: boolean
  /** It counts attempts, and then blocks, as the kernel's `block` does. */
  readonly blocks: boolean
  /** A cost that is one number for all policies takes one unit of it. */
  readonly takesOne: boolean
  /** Units are taken for a time, and the kernel's `renew` renews them while work is in progress. At
   *  any time, fewer of them may be in use than were last seen. */
  readonly isHeld: boolean
  /** Units are given back by `release`, and by no refund and no settlement. */
  readonly isReleased: boolean
  /** Units may come back at any moment: waits are hints, and no denial is remembered. */
  readonly isHint: boolean
  /** Time alone does not give units back: a wait may be for ever, though the cost is within the
   *  limit. */
  readonly isLasting: boolean
  /** Units that were seen in use and then lost are taken again, by the kernel's `restore`. */
  readonly restores: boolean
  /** The limit is for a window, which clients can be told. */
  readonly hasWindow: boolean
}

/** The traits of a kernel that counts units in a window. */
export const COUNTED: Traits = {
  drains: false,
  hasOneEnd: false,
  isAskedLast: false,
  isLeased: true,
  blocks: false,
  takesOne: false,
  isHeld: false,
  isReleased: false,
  isHint: false,
  isLasting: false,
  restores: true,
  hasWindow: true,
}

/** Microseconds for which a state matters. */
export function lifeUsOf<S extends Scratch>(kernel: Kernel<S>, scratch: S): number {
  return kernel.lifeUs === undefined ? kernel.resetAfterUs(scratch) : kernel.lifeUs(scratch)
}

/**
 * What a kernel needs to know about a policy. The first number is the limit; the parameters of the
 * kernel's Lua say how many follow and what they mean. They travel as script arguments, so all are
 * whole.
 */
export type PolicyNumbers = readonly number[]

/** Counts saturate here: far above any limit, yet the sum of two counts is still exact. */
export const MAX_UNITS: number = 2 ** 50

/**
 * A kernel in Lua, cut into pieces by the build (tools/kernel-lua.mjs): the driver uses the whole
 * kernel, and the loop over plain requests pastes its functions. In a pasted piece, an `@` stands
 * before each name that every policy has for itself.
 */
export interface KernelLua {
  /** Constants and functions that all policies use. */
  readonly shared: string
  /** A function that takes a policy's numbers and makes the kernel's functions. `special` is the
   *  one that the mode needs: `within` to reserve, `ahead` to lease, `cancel` (or else `refund`) to
   *  cancel, `refund` to settle, or the one named after the mode (`refund`, `reconcile`, `restore`,
   *  `block`, `unblock`, `renew`). A kernel may also have `settle`, `spend`, `may_begin`, `refuse`
   *  and `life`, which are `Kernel`'s `settle`, `spend`, `mayBegin`, `refuse` and `lifeUs`. */
  readonly kernel: string
  /** The kernel's names for a policy's numbers, which also say how many there are; the first is
   *  `@limit`. */
  readonly numbers: readonly string[]
  /** False: the kernel has functions that the loop does not call, so the driver answers all its
   *  requests. */
  readonly isPlain: boolean
  /** A policy's locals: what is fixed for a call, and a key's state. */
  readonly locals: string
  /**
   * - read(key) reads a key's state, and heals it. Returns whether the key is ours.
   * - used() returns the units in use.
   * - take(units) takes them, past the limit if need be.
   * - retry_after(cost) returns the ms until `cost` units are available, -1 if never, or nil if the
   *   key is not ours. `cost` is more than is left now, and at most the limit.
   * - reset_after() returns the us until the key answers like a new one, and whether the state
   *   differs from what is stored.
   * - write(key, reset) writes the state. Called only if it differs and the reset is above 0.
   */
  readonly functions: Readonly<Record<Pasted, PastedLua>>
}

type Pasted = 'read' | 'used' | 'take' | 'retry_after' | 'reset_after' | 'write'

/** A function that is pasted in place of a call. */
export interface PastedLua {
  readonly parameters: readonly string[]
  readonly body: string
  /** What it returns; '': nothing. */
  readonly result: string
}
