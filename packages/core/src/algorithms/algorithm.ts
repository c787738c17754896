// The contract of a kernel: the arithmetic of an algorithm, written twice, here and in the .lua
// file beside it. The two must do the same operations on the same doubles in the same order;
// test/redis/differential holds them to it.

/**
 * The numbers of one state. A kernel of fixed size shares one array with other keys; the log has an
 * array a key.
 */
export type Cells = Float64Array<ArrayBufferLike>

/**
 * What a kernel works on for one policy: the policy's numbers, and a copy of a key's state that
 * `read` fills and `take` changes. One object serves all decisions of a policy set, so nothing is
 * allocated per decision.
 */
export interface Scratch {
  /** The state differs from what is stored: `take` or `refund` moved it, or `read` healed it. */
  dirty: boolean
}

/**
 * All times are whole; "how many" is floored, "how long" is ceiled. `C` is the kernel's own
 * scratch.
 */
export interface Kernel<C extends Scratch = Scratch> {
  /** Kernel and version of its state; the last part of a key in Redis. A new state form needs a new
   *  id. */
  readonly id: string
  /** The same kernel in Lua. */
  readonly lua: KernelLua
  readonly traits: Traits
  /** How many numbers a state has; 0: it varies, and every key has cells of its own. */
  readonly width: number
  /** Scratch space for a policy of these numbers. */
  prepare(numbers: PolicyNumbers): C
  /** The numbers of one of `instances` equal parts of a policy, whose limit is `limit` units of the
   *  whole. */
  share(numbers: PolicyNumbers, limit: number, instances: number): PolicyNumbers
  /** Brings the scratch to `nowUs`, from the state at `offset` of `cells` or, if those are
   *  undefined, from nothing. Returns the units available, >= 0. Changes nothing in `cells`. */
  read(scratch: C, cells: Cells | undefined, offset: number, nowUs: number): number
  /** Takes units, past the limit if need be, where it saturates. Returns the units available. */
  take(scratch: C, units: number): number
  /** Gives units back, saturating at none used. With `untilUs`, the instant up to which the charge
   *  weighs (its now and the reset that it answered), no more than still weighs of it, and never
   *  into a later window. With `chargedUs`, the instant of the charge, also no more than that after
   *  an earlier refund. Returns the units available. */
  refund(scratch: C, units: number, untilUs: number | undefined, chargedUs?: number): number
  /** Takes units that were taken elsewhere and weigh until `untilUs`: no more than still weighs of
   *  them. */
  reconcile(scratch: C, units: number, untilUs: number): number
  /** Restores what was seen before and lost since: `used` units that weigh until `untilUs`. Twice
   *  is as once, it changes nothing that is intact, and makes no more than what was seen and what
   *  was taken since. */
  restore(scratch: C, used: number, untilUs: number): number
  /** Milliseconds until `cost` units are available; 0: now; -1: never. */
  retryAfterMs(scratch: C, cost: number): number
  /** Microseconds until the key answers as a fresh one; 0: it does now. Kernels that count whole
   *  milliseconds count them from the last whole one. */
  resetAfterUs(scratch: C): number
  /** Puts the state back. Called only if it is dirty and `resetAfterUs` is above 0; else there is
   *  nothing to keep. Returns the cells that hold it, which are new ones when `cells` had no
   *  room. */
  write(scratch: C, cells: Cells, offset: number): Cells
}

/** What others need to know of an algorithm, so that nobody asks for its name. */
export interface Traits {
  /** Units come back one by one, each `unitMs` after the one before; the reset tells all that is in
   *  use. */
  readonly drains: boolean
  /** All that is in use comes back at once: at the reset, and nothing before. */
  readonly hasOneEnd: boolean
}

/**
 * What a kernel needs to know of a policy; each kernel says what they mean. Sent as ARGV, so three
 * whole numbers.
 */
export type PolicyNumbers = readonly [number, number, number]

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
  /** A function of a policy's three numbers, which makes the functions of its kernel and, as
   *  `correct`, that of the mode: refund, reconcile or restore. */
  readonly kernel: string
  /** What the kernel calls the numbers. */
  readonly numbers: readonly string[]
  /** The locals of a policy: what is fixed for a call, and the state of a key. */
  readonly locals: string
  readonly functions: {
    /** (key) reads the state of a key, and heals it. Returns whether the key is ours. */
    readonly read: PastedLua
    /** () returns the units available. */
    readonly available: PastedLua
    /** (units) takes them, past the limit if need be. */
    readonly take: PastedLua
    /** (cost) returns the ms until it is available; 0: now; -1: never; nil: the key is not ours. */
    readonly retry_after: PastedLua
    /** () returns the us until the key answers as a fresh one, and whether the state differs from
     *  what is stored. */
    readonly reset_after: PastedLua
    /** (key, reset) writes the state. Called only if it differs and the reset is above 0. */
    readonly write: PastedLua
  }
}

/** A function, to be pasted in place of a call. */
export interface PastedLua {
  readonly parameters: readonly string[]
  readonly body: string
  /** What it returns; '': nothing. */
  readonly result: string
}
