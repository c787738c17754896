// Who waits in this process, and how many may. A key's line is one of two kinds: of a lone bucket,
// turns are reserved in the store (turn-queue.ts); of everything else, the first in line asks when it
// may pass (retry-queue.ts).

import type { Policy } from '../algorithms/policy.js'
import { memoized } from '../base/cache.js'
import { idOf, idWithKeep } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../layer.js'
import { correctionOf } from '../request.js'
import type {
  ConsumeRequest,
  PolicyResult,
  PolicySet,
  StoreRequest,
  StoreResult,
} from '../store.js'

/** Somebody who waits, or did: whoever has left is not to be decided any more. */
export interface Waiter {
  /** To consume, with `atLeast`. */
  readonly request: ConsumeRequest
  /** When it must not wait any longer, in ms of the process; it may be `Infinity`. */
  untilMs: number
  hasLeft: boolean
  /** Ends the wait; without a result it passes, as nothing limits any more. */
  decided(result?: StoreResult): void
  failed(error: unknown): void
}

/** Those of one class who wait under one key. */
export interface Queue {
  /** How many wait, or have asked to. */
  readonly size: number
  join(waiter: Waiter): void
  /** One of those that joined has left; others may have, too. */
  left(waiter: Waiter): void
}

export interface WaitingOptions {
  readonly layer: Layer
  readonly time: Time
  readonly maxWaiting: { readonly perKey: number; readonly total: number }
  /** A line for requests like this one; it says when it has ended. */
  readonly queueFor: (request: ConsumeRequest, ended: () => void) => Queue
}

/** What somebody asks who would wait. */
export interface WaitRequest {
  readonly request: ConsumeRequest
  /** `Infinity`: as long as it takes. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface Waited {
  /** Undefined: it was released. */
  readonly result: StoreResult | undefined
  readonly waitedMs: number
}

export class Waiting {
  readonly #options: WaitingOptions
  readonly #queuesOf: (policySet: PolicySet) => Map<string, Queue> = memoized(() => new Map())
  /** All who wait, with what to do once one has left. */
  readonly #waiters: Map<Waiter, () => void> = new Map()

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  /** How many wait. */
  get size(): number {
    return this.#waiters.size
  }

  wait({ request, timeoutMs, signal }: WaitRequest): Promise<Waited> {
    const { time } = this.#options
    const sinceMs = time.nowMs()
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        request,
        untilMs: sinceMs + timeoutMs,
        hasLeft: false,
        decided: (result) => {
          end()
          resolve({ result, waitedMs: Math.round(time.nowMs() - sinceMs) })
        },
        failed: (error) => {
          end()
          reject(error)
        },
      }
      const abort = (): void => {
        const leave = this.#waiters.get(waiter)
        waiter.failed(signal?.reason)
        leave?.()
      }
      const forget = signal === undefined ? undefined : onAbort(signal, abort)
      const end = (): void => {
        waiter.hasLeft = true
        forget?.()
        this.#waiters.delete(waiter)
      }
      this.#join(waiter)
    })
  }

  /** Rejects all who wait. */
  close(error: () => Error): void {
    this.#endAll((waiter) => waiter.failed(error()))
  }

  /** Lets all pass who wait. */
  release(): void {
    this.#endAll((waiter) => waiter.decided())
  }

  #endAll(end: (waiter: Waiter) => void): void {
    const all = [...this.#waiters]
    // All of them first: nobody is to move up.
    for (const [waiter] of all) end(waiter)
    for (const [, leave] of all) leave()
  }

  #join(waiter: Waiter): void {
    const { maxWaiting, queueFor } = this.#options
    const { request } = waiter
    const { target, costs, keep } = request
    const { policies } = target.policySet
    const isMore = (cost: number, i: number): boolean =>
      cost > 0 && cost + (keep?.[i] ?? 0) > (policies[i] as Policy).limit
    // What can never pass, and what costs nothing, is answered at once, whatever line there is.
    if (costs.some(isMore) || costs.every((cost) => cost === 0)) {
      this.#turnAway(waiter, false)
      return
    }
    const queues = this.#queuesOf(target.policySet)
    // One class does not wait behind another.
    const id = idWithKeep(idOf(target), keep)
    const known = queues.get(id)
    const size = known?.size ?? 0
    if (size >= maxWaiting.perKey || this.#waiters.size >= maxWaiting.total) {
      this.#turnAway(waiter, size > 0)
      return
    }
    const queue: Queue = known ?? queueFor(request, () => queues.get(id) === queue && queues.delete(id))
    queues.set(id, queue)
    this.#waiters.set(waiter, () => queue.left(waiter))
    queue.join(waiter)
  }

  /** For who is not to wait. Where others do it is not to pass them; else it may pass at once. */
  #turnAway(waiter: Waiter, isBehind: boolean): void {
    const { request } = waiter
    const asked: ConsumeRequest = isBehind ? { ...request, mode: 'peek' } : request
    askSafely(this.#options.layer, asked, {
      decided: (result) => {
        if (!waiter.hasLeft) waiter.decided(isBehind ? denied(result, 1) : result)
        // It left while it was asked.
        else if (!isBehind) giveBack(this.#options.layer, request, result)
      },
      failed: (error) => {
        if (!waiter.hasLeft) waiter.failed(error)
      },
    })
  }
}

interface Actions {
  readonly all: Set<() => void>
  readonly listener: () => void
}

const actionsOf: WeakMap<AbortSignal, Actions> = new WeakMap()

/**
 * Returns a function that takes the action back. A signal has one listener for all who wait with
 * it: from the eleventh on, Node warns of a leak. And it has none while nobody does: with one, what
 * `AbortSignal.any` made would live as long as the signals that it follows.
 */
function onAbort(signal: AbortSignal, action: () => void): () => void {
  const { all, listener } = actionsOf.get(signal) ?? listening(signal)
  all.add(action)
  return () => {
    all.delete(action)
    if (all.size > 0) return
    actionsOf.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

function listening(signal: AbortSignal): Actions {
  const all = new Set<() => void>()
  const listener = (): void => {
    for (const action of all) action()
  }
  const actions = { all, listener }
  actionsOf.set(signal, actions)
  signal.addEventListener('abort', listener)
  return actions
}

/** Asks a layer; what it throws has failed, or the line would wait for its answer for ever. */
export function askSafely(layer: Layer, request: LayerRequest, pending: Pending): void {
  try {
    layer.ask(request, pending)
  } catch (error) {
    pending.failed(error)
  }
}

/** Gives back what was granted and nobody wants any more. */
export function giveBack(layer: Layer, { target, costs }: StoreRequest, result: StoreResult): void {
  const { granted } = result
  if (granted === 0) return
  const back = costs.map((cost) => cost * granted)
  askSafely(layer, correctionOf('refund', target, back, result), IGNORED)
}

/** What a difference of two instants is off by at the most, as both have fractions. */
const ROUNDING_MS = 1e-6

/** A result as a denial to one who would wait longer than it may: nothing is left to it. */
export function denied(result: StoreResult, waitMs: number): StoreResult {
  const policies = result.policies.map((each): PolicyResult => {
    if (each.cost === 0) return each
    const retryAfterMs = Math.max(each.retryAfterMs, Math.ceil(waitMs - ROUNDING_MS))
    return { ...each, remaining: 0, retryAfterMs }
  })
  return { ...result, granted: 0, policies }
}

/** Takes those out of a list for which it holds, and returns them. */
export function takeOut<Item>(list: Item[], holds: (item: Item) => boolean): Item[] {
  const out: Item[] = []
  let kept = 0
  for (const item of list) {
    if (holds(item)) {
      out.push(item)
    } else {
      list[kept] = item
      kept += 1
    }
  }
  list.length = kept
  return out
}

/** A timer that is never early. Those who are waited for keep the process alive. */
export class Alarm {
  readonly #time: Time
  readonly #action: () => void
  #atMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined

  constructor(time: Time, action: () => void) {
    this.#time = time
    this.#action = action
  }

  /** When it goes off; `Infinity`: it does not. */
  get atMs(): number {
    return this.#atMs
  }

  set(atMs: number): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#atMs = atMs
    if (atMs === Number.POSITIVE_INFINITY) return
    const ms = Math.min(Math.max(0, atMs - this.#time.nowMs()), LONGEST_TIMER_MS)
    this.#cancel = this.#time.after(Math.ceil(ms), () => this.#ring(), true)
  }

  #ring(): void {
    if (this.#time.nowMs() < this.#atMs) {
      this.set(this.#atMs)
      return
    }
    this.set(Number.POSITIVE_INFINITY)
    this.#action()
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
