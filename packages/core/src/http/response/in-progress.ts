// What an allowed request holds while it is in progress: the slots of its limiters. They are
// released when its response has ended and its handler has, as far as the adapter knows when that
// is. A client that leaves ends the response alone: else aborting would be a way around the limit.

import type { Decision } from '../../limiter/decision.js'
import {
  type Holder,
  type Holding,
  type HoldOptions,
  holdLimits,
} from '../../limiter/slots/held.js'
import { clientLeft, type Refusal } from './refusal.js'

/** What a request holds, for its handler. */
export interface RequestHold {
  /** Aborts at `maxHold`, and where `onExpiry` is `'abort'` when a slot has expired. Then the
   *  response is cut off. */
  readonly signal: AbortSignal
  /** Keeps the slots until this has settled as well: work that goes on when the response has ended,
   *  or when the client has left. Returns what it was given: handle its rejection yourself, as Node
   *  reports none that was given here. Throws WEIR_INVALID_OPTION for what is no promise. */
  until<Work extends PromiseLike<unknown>>(work: Work): Work
  /** True: the response has ended, so nothing is held but what was given to `until`. */
  readonly isOver: boolean
}

/** The slots of all limiters of a request. */
export class InProgress implements RequestHold {
  readonly #holdings: Holding[] = []
  /** Of requests without a response, what is held once the handler begins. */
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

  /** It is held from when its handler begins, which alone tells when it ends. */
  addLater(begin: () => Holding): void {
    this.#begin.push(begin)
  }

  /** The handler has begun, and ends with this. */
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

  /** What is logged of a decision has no functions. */
  toJSON(): undefined {}
}

/** By what adapters call a request, or a call of a handler. */
const all: WeakMap<object, InProgress> = new WeakMap()

/** What a request holds; undefined: nothing. */
export function heldBy(call: object): RequestHold | undefined {
  return all.get(call)
}

/**
 * For adapters that know when a handler ends: the slots of its request are taken until then as
 * well. Call it where the handler begins.
 * @returns a refusal where the handler must not run: the client has left, and its slots are
 * released
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

/** What is used of an adapter: see `HttpAdapter`. */
interface Ends<Req, Res, Rest extends unknown[]> {
  afterResponse(response: Res, done: () => void): void
  cutOff?(response: Res): void
  call?(request: Req, rest: Rest): object
}

/**
 * Makes the function that holds the slots of an allowed decision until its request has ended. What
 * it returns is over where it has already, as the client left while the decision was made: then no
 * handler is to run. Undefined: the decision took no slots.
 */
export function holdUntilEnd<Req, Res, Rest extends unknown[]>(
  options: HoldOptions & { readonly shadow?: boolean | undefined },
  holder: Holder,
  { call, afterResponse, cutOff }: Ends<Req, Res, Rest>,
): (
  request: Req,
  response: Res | undefined,
  decision: Decision,
  rest: Rest,
) => InProgress | undefined {
  const { shadow = false } = options
  const given = holdLimits(options)
  // What only watches ends nothing.
  const limits = shadow ? holdLimits({}) : given
  return (request, response, decision, rest) => {
    if (!decision.policies.some(({ policy: { kernel }, cost }) => kernel?.traits.holds && cost > 0))
      return undefined
    const key = call === undefined ? (request as object) : call(request, rest)
    const held = all.get(key) ?? new InProgress()
    all.set(key, held)
    if (response === undefined) {
      held.addLater(() => holder(decision, limits))
      return held
    }
    const holding = holder(decision, limits)
    held.add(holding)
    holding.signal.addEventListener('abort', () => cutOff?.(response), { once: true })
    afterResponse(response, () => {
      held.isOver ||= !shadow
      // The response has long been sent, and what is not released expires.
      holding.release().catch(() => {})
    })
    return held
  }
}
