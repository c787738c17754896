// The slots that an allowed request holds while it is in progress. They are released when its
// response has ended and, where the adapter knows when that is, its handler as well. A client that
// leaves ends only the response: otherwise aborting would be a way around the limit.

import { warnOnce } from '../../base/warnings.js'
import type { Decision } from '../../limiter/decision.js'
import {
  type Holder,
  type Holding,
  type HoldOptions,
  holdLimits,
} from '../../limiter/slots/held.js'
import { canSeeEnd, type ResponseOutcome } from './ending.js'
import { clientLeft, type Refusal } from './refusal.js'

/** What a request holds, for its handler. */
export interface RequestHold {
  /** Aborts at `maxHold`, and, if `onExpiry` is `'abort'`, when a slot has expired. Then the
   *  response is cut off. */
  readonly signal: AbortSignal
  /** Keeps the slots until this promise has settled as well: for work that goes on after the
   *  response has ended or the client has left. Returns the promise: handle its rejection yourself,
   *  because Node does not report the rejection of a promise that was given here. Throws
   *  WEIR_INVALID_OPTION for anything else than a promise. */
  until<Work extends PromiseLike<unknown>>(work: Work): Work
  /** True: the response has ended, so slots are held only for work that was given to `until`. */
  readonly isOver: boolean
}

/** The slots that a request holds, of all its limiters. */
export class InProgress implements RequestHold {
  readonly #holdings: Holding[] = []
  /** For requests without a response: begins to hold their slots once the handler begins. */
  readonly #begin: (() => Holding)[] = []
  #signal: AbortSignal | undefined = undefined
  isOver = false

  get signal(): AbortSignal {
    const signals = this.#holdings.map(({ signal }) => signal)
    this.#signal ??= signals.length === 1 ? signals[0] : AbortSignal.any(signals)
    return this.#signal as AbortSignal
  }

  until<Work extends PromiseLike<unknown>>(work: Work): Work {
    for (const holding of this.#holdings) void holding.until(work)
    return work
  }

  add(holding: Holding): void {
    this.#holdings.push(holding)
    this.#signal = undefined
  }

  /** Holds slots from when the handler begins: only the handler tells when the request ends. */
  addLater(begin: () => Holding): void {
    this.#begin.push(begin)
  }

  /** The handler has begun, and ends when `work` settles. */
  handle(work: PromiseLike<unknown>): void {
    const begun = this.#begin.splice(0).map((begin) => begin())
    for (const holding of begun) this.add(holding)
    void this.until(work)
    for (const holding of begun) holding.release().catch(() => {})
  }

  /** No handler will begin. */
  abandon(): void {
    for (const begin of this.#begin.splice(0))
      begin()
        .release()
        .catch(() => {})
  }

  /** Keeps functions out of decisions that are logged. */
  toJSON(): undefined {}
}

/** By the object that adapters use for a request or for a call of a handler. */
const all: WeakMap<object, InProgress> = new WeakMap()

/** What a request holds; undefined: nothing. */
export function heldBy(call: object): RequestHold | undefined {
  return all.get(call)
}

/**
 * For adapters that know when a handler ends: keeps the request's slots until then as well. Call it
 * where the handler begins.
 * @returns a refusal if the handler must not run: the client has left, and its slots are released
 */
export function beginHandler(call: object, work: PromiseLike<unknown>): Refusal | undefined {
  const held = all.get(call)
  if (held?.isOver) return clientLeft()
  held?.handle(work)
  return undefined
}

/** For the same adapters: the request was refused, so its handler does not begin. */
export function abandonHandler(call: object): void {
  all.get(call)?.abandon()
}

/** The parts of an adapter that are used here: see `HttpAdapter`. */
interface Ends<Req, Res, Rest extends unknown[]> {
  afterResponse(response: Res, done: (outcome: ResponseOutcome) => void): void
  hasConnection?(response: Res): boolean
  cutOff?(response: Res): void
  call?(request: Req, rest: Rest): object
}

/**
 * Makes the function that holds an allowed decision's slots until its request has ended. If the
 * client left while the decision was made, `isOver` of the result is true, and no handler may run.
 * Undefined: the decision took no slots.
 */
export function holdUntilEnd<Req, Res, Rest extends unknown[]>(
  options: HoldOptions & { readonly shadow?: boolean | undefined },
  holder: Holder,
  { call, afterResponse, hasConnection, cutOff }: Ends<Req, Res, Rest>,
  limiter: string,
): (
  request: Req,
  response: Res | undefined,
  decision: Decision,
  rest: Rest,
) => InProgress | undefined {
  const { shadow = false } = options
  const given = holdLimits(options)
  // Shadow mode ends nothing.
  const limits = shadow ? holdLimits({}) : given
  return (request, response, decision, rest) => {
    if (
      !decision.policies.some(({ policy: { kernel }, cost }) => kernel?.traits.isHeld && cost > 0)
    )
      return undefined
    const key = call === undefined ? (request as object) : call(request, rest)
    const held = all.get(key) ?? new InProgress()
    all.set(key, held)
    if (response === undefined) {
      held.addLater(() => holder(decision, limits))
      return held
    }
    // The response has long been sent, and slots that are not released expire.
    const release = (): void => void holding.release().catch(() => {})
    function lapse(): void {
      // Its response may have ended, and work that was given to `held.until` may not.
      const why = 'its request was not over after holdTimeout, and has no connection to close'
      warnOnce('WEIR_NO_END', limiter, `a slot of ${limiter} expired: ${why}`)
      release()
    }
    const isSure = hasConnection?.(response) ?? true
    const holding = holder(decision, isSure ? limits : { ...limits, lapse })
    held.add(holding)
    // Without a connection, a response that was destroyed would be taken for a whole one.
    if (isSure) holding.signal.addEventListener('abort', () => cutOff?.(response), { once: true })
    const over = (): void => {
      held.isOver ||= !shadow
      release()
    }
    if (!canSeeEnd(afterResponse, response, over, limiter, 'releases slots at once')) release()
    return held
  }
}
