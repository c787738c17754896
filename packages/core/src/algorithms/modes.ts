// What each mode does. Drivers, layers, transport and limiters ask this table, and the build makes
// the Lua driver's locals from it (tools/embed.mjs), so modes are listed nowhere else.

/**
 * What a request does to its counters.
 *
 * - `consume`: takes units if all policies allow it
 * - `peek`: says what `consume` would, and changes nothing
 * - `penalty`: takes units, past the limit if need be
 * - `refund`: gives units back
 * - `cancel`: gives back a reservation whose turn has not come
 * - `settle`: corrects what was charged, by a penalty or, below 0, a refund
 * - `reconcile`: takes units that were taken elsewhere, as far as they still count
 * - `restore`: takes units that were seen before a loss, less those that others have restored
 *   since; the first one takes them less those that were not lost
 * - `block`, `unblock`: begins or ends a block; a lock-out's cost is the length of its block in ms
 * - `release`: gives slots back
 * - `renew`: extends slots, or takes them anew, past the limit if need be, unless the key was
 *   forgotten since
 */
export type Mode =
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
  | 'release'
  | 'renew'

/** The kernel's function that a request calls with its units, or `forget`, which deletes the
 *  counter. */
type Effect = Exclude<ModeTraits['correction'], undefined> | 'take' | 'forget'

/** What a mode does. All objects have the same shape, because every request reads one. */
export interface ModeTraits {
  /** Grants only what the limits allow; other modes are always granted. */
  readonly judges: boolean
  /** Changes counters. */
  readonly changes: boolean
  /** Takes units above 0 as new ones. */
  readonly takes: boolean
  /** Gives units back: all of them, or (`settle`) those below 0. */
  readonly gives: boolean
  /** Gives units back and takes none. */
  readonly givesOnly: boolean
  /** The kernel's function for units that are not new; undefined: there are none. */
  readonly correction:
    | 'refund'
    | 'cancel'
    | 'reconcile'
    | 'restore'
    | 'block'
    | 'unblock'
    | 'release'
    | 'renew'
    | undefined
  /** Reads or writes marks: when a key was forgotten on purpose, and when units were given back. */
  readonly marks: boolean
  /** Notes that it gave units back, so that they are not restored. */
  readonly notes: boolean
  /** Corrects a charge both ways, so it says what was charged. */
  readonly settles: boolean
  /** May raise usage, so it may cross a share of `notifyAt`. */
  readonly raises: boolean
  /** Answers whether it changed anything; other modes answer how often they were granted. */
  readonly tells: boolean
  /** May leave more units than before, so that a remembered denial may no longer hold. */
  readonly frees: boolean
  /** Concerns what the store itself holds, so it means nothing where something else decides. */
  readonly isForStore: boolean
  /** The results of equal requests follow from the last one's, so they may be decided as one. */
  readonly merges: boolean
}

function traits(judges: boolean, above?: Effect, below: Effect | undefined = above): ModeTraits {
  const releases = below === 'release'
  const gives = below === 'refund' || below === 'cancel' || below === 'unblock' || releases
  const takes = above === 'take'
  const correction = below === 'take' || below === 'forget' ? undefined : below
  return Object.freeze({
    judges,
    changes: above !== undefined,
    takes,
    gives,
    givesOnly: gives && !takes,
    correction,
    marks: gives || below === 'restore' || below === 'forget' || below === 'renew',
    notes: gives && !releases,
    settles: takes && gives,
    raises: takes || below === 'reconcile' || below === 'renew',
    tells: below === 'restore' || below === 'renew',
    frees: gives || below === 'forget',
    isForStore:
      below === 'reconcile' || below === 'restore' || below === 'forget' || below === 'unblock',
    merges: judges || (correction !== undefined && correction !== 'block' && !takes),
  })
}

/** For each mode, whether it judges, and what it does with units above and below 0. `reset` has no
 *  units. */
const MODES: Readonly<Record<Mode | 'reset', ModeTraits>> = Object.freeze({
  consume: traits(true, 'take'),
  peek: traits(true),
  penalty: traits(false, 'take'),
  refund: traits(false, 'refund'),
  cancel: traits(false, 'cancel'),
  settle: traits(false, 'take', 'refund'),
  reconcile: traits(false, 'reconcile'),
  restore: traits(false, 'restore'),
  block: traits(false, 'block'),
  unblock: traits(false, 'unblock'),
  release: traits(false, 'release'),
  renew: traits(false, 'renew'),
  reset: traits(false, 'forget'),
})

const CONSUME = MODES.consume

/** All that a store may be asked. */
export const MODE_NAMES = Object.keys(MODES) as readonly (Mode | 'reset')[]

/** Most requests consume, and a comparison is faster than a lookup by name. */
export function traitsOf(mode: Mode | 'reset'): ModeTraits {
  return mode === 'consume' ? CONSUME : MODES[mode]
}

/** What a call asks of the Lua driver: a mode or, with more arguments, `reserve` and `lease`, which
 *  consume, and `preview`, which peeks. */
export type CallMode = Mode | 'reset' | 'reserve' | 'preview' | 'lease'

export const CALL_MODES: Readonly<Record<CallMode, ModeTraits>> = Object.freeze({
  ...MODES,
  reserve: MODES.consume,
  preview: MODES.peek,
  lease: MODES.consume,
})

/** Whether the reply says what was used before, if one of the policies has a `notifyAt`. Costs and
 *  what is left do not show it where usage may pass the limit, or the kernel decides what is
 *  charged. */
export function tellsUsed(mode: CallMode): boolean {
  return mode !== 'consume' && CALL_MODES[mode].raises
}

/** Whether a call carries the `atLeast` and the `keep` of its requests, and the time for which they
 *  wait for units or hold leased ones. */
export function reserves(mode: CallMode): boolean {
  return mode === 'reserve' || mode === 'preview' || mode === 'lease'
}
