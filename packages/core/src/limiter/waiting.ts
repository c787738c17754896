// The calls that wait in this process, and how many there may be. A key has one of two queues: if
// turns can be reserved in the store, each waiter reserves its own (turn-queue.ts); otherwise, the
// first waiter asks again when it may pass (retry-queue.ts). An alarm (queue.ts) wakes a waiter at
// the time that the store gave; slots that are released in this process also do so
// (slots/waits.ts).

import type { Policy } from '../algorithms/policy.js'
import { memoized } from '../base/cache.js'
import { idOf, idWithKeep } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import type { Layer } from '../layer.js'
import type { ConsumeRequest, PolicySet, StoreResult } from '../store.js'
import { Alarm, askSafely, denied, giveBack, type Queue, type Waiter } from './queue.js'
import { RetryQueue } from './retry-queue.js'
import { SlotWaits } from './slots/waits.js'
import { TurnQueue } from './turn-queue.js'

export interface WaitingOptions {
  readonly layer: Layer
  readonly time: Time
  readonly maxWaiting: { readonly perKey: number; readonly total: number }
  /** Whether the store reserves turns of a bucket. */
  readonly reserves: boolean
}

/** What a call of `wait` asks for. */
export interface WaitRequest {
  readonly request: ConsumeRequest
  /** `Infinity`: as long as it takes. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface Waited {
  /** Undefined: the wait was released. */
  readonly result: StoreResult | undefined
  readonly waitedMs: number
}

export interface Waiting {
  /** How many calls wait. */
  readonly size: number
  wait(asked: WaitRequest): Promise<Waited>
  /** Slots were released here: the calls that wait for them ask again. */
  freed(slots: Pick<ConsumeRequest, 'target' | 'costs'>): void
  /** Rejects all calls that wait. */
  close(error: () => Error): void
  /** Lets all waiting calls pass, as nothing limits any more. */
  release(): void
}

export function waitingOf({ layer, time, maxWaiting, reserves }: WaitingOptions): Waiting {
  const queuesOf = memoized((_: PolicySet) => new Map<string, Queue>())
  const calls = new Set<WaitingCall>()
  const slotWaits = new SlotWaits()

  /** Turns are reserved where a bucket decides alone and nothing must be left to others: a reserved
   *  turn is charged at once, whatever is left then. */
  function queueFor({ target, keep }: ConsumeRequest, ended: () => void): Queue {
    const { policies } = target.policySet
    const isLone = policies.length === 1 && policies[0]?.kernel?.within !== undefined
    return reserves && isLone && !keep?.some((kept) => kept > 0)
      ? new TurnQueue(layer, time, target, ended)
      : new RetryQueue(layer, time, slotWaits, ended)
  }

  function join(call: WaitingCall): void {
    const { request } = call
    const { target, keep } = request
    if (isAnsweredAtOnce(request)) {
      turnAway(layer, call, false)
      return
    }
    const queues = queuesOf(target.policySet)
    // One class does not wait behind another.
    const id = idWithKeep(idOf(target), keep)
    const known = queues.get(id)
    const size = known?.size ?? 0
    if (size >= maxWaiting.perKey || calls.size >= maxWaiting.total) {
      turnAway(layer, call, size > 0)
      return
    }
    const ended = (): boolean => queues.get(id) === queue && queues.delete(id)
    const queue: Queue = known ?? queueFor(request, ended)
    queues.set(id, queue)
    calls.add(call)
    call.queue = queue
    queue.join(call)
  }

  /** Holds a call back until the store has counted the processes that share the limit. Until then,
   *  this process would grant a whole limit if the store did not answer in time. */
  async function hold(call: WaitingCall, counted: Promise<void>): Promise<void> {
    if (calls.size >= maxWaiting.total) {
      turnAway(layer, call, true)
      return
    }
    calls.add(call)
    await inTime(counted, call.untilMs, time)
    // `join` counts those that wait.
    if (calls.delete(call)) join(call)
  }

  function endAll(end: (call: WaitingCall) => void): void {
    const all = [...calls]
    // All calls end before the first one leaves its queue, so that no call moves up.
    for (const call of all) end(call)
    for (const call of all) call.queue?.left(call)
  }

  return {
    get size() {
      return calls.size
    },
    wait: (asked) =>
      new Promise((resolve, reject) => {
        const call = new WaitingCall(asked, time, calls, resolve, reject)
        const isAtOnce = asked.timeoutMs === 0 || isAnsweredAtOnce(asked.request)
        const counted = isAtOnce ? undefined : layer.whenCounted?.()
        if (counted === undefined) join(call)
        else void hold(call, counted)
      }),
    freed: (slots) => slotWaits.freed(slots),
    close: (error) => endAll((call) => call.failed(error())),
    release: () => endAll((call) => call.decided(undefined)),
  }
}

/** A request that can never pass, or costs nothing, is answered at once, whatever the queue. */
function isAnsweredAtOnce({ target, costs, keep }: ConsumeRequest): boolean {
  const { policies } = target.policySet
  const isMore = (cost: number, i: number): boolean =>
    cost > 0 && cost + (keep?.[i] ?? 0) > (policies[i] as Policy).limit
  return costs.some(isMore) || costs.every((cost) => cost === 0)
}

/** Asks the store for a call that must not wait. Behind waiting calls, it only peeks, as it must
 *  not overtake them. */
function turnAway(layer: Layer, call: WaitingCall, isBehind: boolean): void {
  const { request } = call
  const asked: ConsumeRequest = isBehind ? { ...request, mode: 'peek' } : request
  askSafely(layer, asked, {
    decided: (result) => {
      if (!call.hasLeft) call.decided(isBehind ? denied(result, 1) : result)
      // The call left while the store was asked.
      else if (!isBehind) giveBack(layer, request, result)
    },
    failed: (error) => {
      if (!call.hasLeft) call.failed(error)
    },
  })
}

/** Resolves with the promise, but no later than this. */
function inTime(promise: Promise<void>, atMs: number, time: Time): Promise<void> {
  return new Promise((resolve) => {
    const alarm = new Alarm(time, resolve)
    alarm.set(atMs)
    void promise.then(() => {
      alarm.set(Number.POSITIVE_INFINITY)
      resolve()
    })
  })
}

class WaitingCall implements Waiter {
  readonly request: ConsumeRequest
  untilMs: number
  hasLeft = false
  /** The queue that it has joined. */
  queue: Queue | undefined = undefined
  readonly #time: Time
  readonly #sinceMs: number
  readonly #calls: Set<WaitingCall>
  readonly #resolve: (waited: Waited) => void
  readonly #reject: (error: unknown) => void
  readonly #forgetSignal: (() => void) | undefined

  /** @param calls all calls that wait, which it leaves when it ends */
  constructor(
    { request, timeoutMs, signal }: WaitRequest,
    time: Time,
    calls: Set<WaitingCall>,
    resolve: (waited: Waited) => void,
    reject: (error: unknown) => void,
  ) {
    this.request = request
    this.#time = time
    this.#sinceMs = time.nowMs()
    this.untilMs = this.#sinceMs + timeoutMs
    this.#calls = calls
    this.#resolve = resolve
    this.#reject = reject
    this.#forgetSignal = signal && onAbort(signal, () => this.#abort(signal.reason))
  }

  /** Ends the wait. Without a result, the call passes, as nothing limits any more. */
  decided(result: StoreResult | undefined): void {
    this.#end()
    this.#resolve({ result, waitedMs: Math.round(this.#time.nowMs() - this.#sinceMs) })
  }

  failed(error: unknown): void {
    this.#end()
    this.#reject(error)
  }

  #abort(reason: unknown): void {
    this.failed(reason)
    this.queue?.left(this)
  }

  #end(): void {
    this.hasLeft = true
    this.#forgetSignal?.()
    this.#calls.delete(this)
  }
}

const actionsOf: WeakMap<AbortSignal, Set<() => void>> = new WeakMap()

/**
 * Acts when a signal aborts. Returns a function that removes the action. All waiters of a signal
 * share one listener, because Node warns of a leak from the eleventh listener on. A signal without
 * waiters has no listener, which would keep a signal of `AbortSignal.any` alive for as long as the
 * signals that it follows.
 */
function onAbort(signal: AbortSignal, action: () => void): () => void {
  const actions = actionsOf.get(signal) ?? new Set()
  actionsOf.set(signal, actions.add(action))
  signal.addEventListener('abort', actAll)
  return () => {
    actions.delete(action)
    if (actions.size === 0) signal.removeEventListener('abort', actAll)
  }
}

function actAll({ target }: Event): void {
  for (const action of actionsOf.get(target as AbortSignal) ?? []) action()
}
