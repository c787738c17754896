// Decisions that hold slots while work is in progress: a limiter's `acquire` and `hold`, and what
// HTTP adapters hold for a request.

import { durationMs } from '../../base/duration.js'
import { invalid, typeError } from '../../base/errors.js'
import { isPromise } from '../../base/maybe-async.js'
import { checkedOptions } from '../../base/options.js'
import { checkedKey, type Key } from '../../policy-input.js'
import type { StoreRequest } from '../../store.js'
import { countSlots, SLOTS_HELD } from '../counters.js'
import { decide, decideInTurn } from '../decide.js'
import { type Allowed, type Decision, type Denied, withMore } from '../decision.js'
import { observed } from '../observers.js'
import type { AcquireOptions, DecideOptions } from '../options.js'
import type { LimiterParts } from '../parts.js'
import { slotsOf } from '../receipts.js'
import type { HoldLimits } from './holds.js'
import { hasHeld } from './slots.js'

// TypeScript before 5.2, and libraries without `esnext.disposable`, lack `Symbol.asyncDispose`.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
}

/** Work in progress that holds slots. */
export interface Holding {
  /** Aborts at `maxHold` and, if `onExpiry` is `'abort'`, when the slot has expired. Its reason has
   *  the code WEIR_HOLD_ENDED. */
  readonly signal: AbortSignal
  /** Keeps the slots until `work` has settled as well, however it settles. Returns `work`: handle
   *  its rejection yourself, as Node does not report it as unhandled. Throws WEIR_INVALID_OPTION if
   *  `work` is not a promise. */
  until<Work extends PromiseLike<unknown>>(work: Work): Work
  /** Call it when the work has ended. Resolves once the slots are free again; does nothing the
   *  second time, or if the decision was denied. Rejects if the store cannot be asked: the slots
   *  then expire. */
  release(): Promise<void>
  /** The same for `await using`, except that it never rejects: the work has been done. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A decision, and the slots that it took. A denied one holds nothing. */
export type Held = Decision & Holding

/** What `hold` answers: what the work returned, or the denial. */
export type HoldResult<Value> =
  | { readonly allowed: true; readonly value: Value; readonly decision: Allowed }
  | Denied

/** How long slots may be held. */
export type HoldOptions = Pick<AcquireOptions, 'onExpiry' | 'maxHold'>

/** Holds the slots of a decision. */
export type Holder = (decision: Decision, limits: HoldLimits) => Holding

/** By limiter, for other parts of this package that hold what it has granted. */
export const holders: WeakMap<object, Holder> = new WeakMap()

/** Holds what a limiter's decision took, for other packages. */
export function heldOf(limiter: object, decision: Decision): Holding | undefined {
  return holders.get(limiter)?.(decision, holdLimits({}))
}

const ACQUIRE = ['cost', 'policy', 'timeout', 'signal', 'priority', 'onExpiry', 'maxHold']

export async function acquire(
  limiter: LimiterParts,
  of: Key,
  options: AcquireOptions = {},
): Promise<Held> {
  checkedOptions(options, 'acquire()', ACQUIRE)
  const limits = holdLimits(options)
  const { onExpiry: _, maxHold: __, timeout = 0, signal, ...call } = options
  const policy = await policyOf(limiter, of, call)
  const asked: DecideOptions = { ...call, ...(policy && { policy }) }
  const waits = timeout !== 0 || signal !== undefined
  const decision = waits
    ? await decideInTurn(limiter, of, { ...asked, timeout, signal })
    : await observed(limiter, 'consume', decide(limiter, 'consume', of, asked))
  return withMore(decision, holdingOf(limiter, decision, limits))
}

export async function hold<Value>(
  limiter: LimiterParts,
  of: Key,
  work: (holding: Holding) => Value | PromiseLike<Value>,
  options: AcquireOptions | undefined,
): Promise<HoldResult<Value>> {
  if (typeof work !== 'function')
    throw invalid('WEIR_INVALID_OPTION', 'work', work, 'a function, for hold(key, work)')
  const held = await acquire(limiter, of, options)
  if (!held.allowed) return held
  try {
    return { allowed: true, value: await work(held), decision: held }
  } finally {
    await held[Symbol.asyncDispose]()
  }
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION */
export function holdLimits(options: HoldOptions): HoldLimits {
  const { onExpiry = 'renew', maxHold } = options
  if (onExpiry !== 'renew' && onExpiry !== 'abort')
    throw invalid('WEIR_INVALID_OPTION', 'onExpiry', onExpiry, "'renew' or 'abort'")
  const maxHoldMs =
    maxHold === undefined ? Number.POSITIVE_INFINITY : durationMs(maxHold, 'maxHold')
  return { isAborted: onExpiry === 'abort', maxHoldMs }
}

/**
 * The policies of a key, so that a call is refused before it is charged if none is held;
 * undefined: the limiter's own.
 * @throws {TypeError} WEIR_INVALID_POLICY if none of them is held
 */
async function policyOf(
  limiter: LimiterParts,
  of: Key,
  { policy }: DecideOptions,
): Promise<DecideOptions['policy']> {
  const key = checkedKey(of)
  const known = limiter.policiesFor('consume', key, policy, 'acquire')
  const { policySet, uses } = isPromise(known) ? await known : known
  if (policySet !== undefined && !hasHeld({ policySet })) {
    const names = uses.map(({ policy: { name } }) => name).join(', ')
    const what = `acquire() of limiter "${limiter.name}" can hold nothing of its policies (${names})`
    const right = 'give concurrency({...}), or a budget with holdTimeout, among them'
    throw typeError('WEIR_INVALID_POLICY', `${what}; ${right}`)
  }
  if (limiter.fixed !== undefined && policy === undefined) return undefined
  return uses.length > 0 ? uses : policy
}

/** Holds the slots of a decision until its work has ended. */
export function holdingOf(limiter: LimiterParts, decision: Decision, limits: HoldLimits): Holding {
  const slots = slotsOf(limiter, decision)
  if (slots === undefined || slots.isReleased || !decision.allowed) return nothing()
  const request = decision.receipt.request as StoreRequest
  countSlots(request, SLOTS_HELD, 1)
  slots.ended = () => countSlots(request, SLOTS_HELD, -1)
  const held = limiter.holds.add(slots, limits)
  let inProgress = 1
  let free: () => void = () => {}
  let failed: (error: unknown) => void = () => {}
  const released = new Promise<void>((resolve, reject) => {
    free = resolve
    failed = reject
  })
  // Whoever asked for the release sees that it failed.
  released.catch(() => {})
  function ended(): void {
    inProgress -= 1
    if (inProgress > 0) return
    limiter.holds.release(held).then(free, failed)
  }
  let isOver = false
  function release(): Promise<void> {
    if (!isOver) {
      isOver = true
      ended()
    }
    return released
  }
  return {
    signal: held.controller.signal,
    until(work) {
      checkWork(work)
      inProgress += 1
      // Through a promise of our own, as others may call back twice.
      Promise.resolve(work).then(ended, ended)
      return work
    },
    release,
    [Symbol.asyncDispose]: () => release().catch(() => {}),
  }
}

/** @throws {TypeError} WEIR_INVALID_OPTION unless it is a promise, or like one */
function checkWork(work: unknown): void {
  if (typeof (work as PromiseLike<unknown> | null | undefined)?.then === 'function') return
  throw invalid('WEIR_INVALID_OPTION', 'work', work, 'a promise, for until(work)')
}

/** A denied decision holds nothing. */
function nothing(): Holding {
  const release = (): Promise<void> => Promise.resolve()
  return {
    signal: new AbortController().signal,
    until(work) {
      checkWork(work)
      return work
    },
    release,
    [Symbol.asyncDispose]: release,
  }
}
