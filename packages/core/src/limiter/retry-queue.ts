// The queue of a key whose turns cannot be reserved, for example because a window decides. First
// come, first served in this process: the first waiter asks, together with those behind it that
// have the same costs, and asks again when the store says that it may pass. So there is one call at
// a time, and small costs do not overtake a large one. Between processes, the first to ask is
// first.

import type { Time } from '../base/time.js'
import type { Layer } from '../layer.js'
import { countsAttempts } from '../request.js'
import type { StoreResult, Target } from '../store.js'
import {
  Alarm,
  askSafely,
  costing,
  denied,
  giveBack,
  type Queue,
  takeOut,
  type Waiter,
} from './queue.js'
import { isReleased } from './slots/slots.js'
import type { SlotWaits, WaitsForSlots } from './slots/waits.js'

/** The most waiters that share a call. */
const MAX_TOGETHER = 1_000

export class RetryQueue implements Queue, WaitsForSlots {
  readonly #layer: Layer
  readonly #time: Time
  readonly #slotWaits: SlotWaits
  readonly #ended: () => void
  readonly #waiters: Waiter[] = []
  readonly #alarm: Alarm
  #isAsking = false
  #isLooping = false
  /** The store's last answer. */
  #last: StoreResult | undefined
  /** The target whose slots it waits for. */
  #target: Target | undefined
  /** Slots were released while it asked. */
  #isWoken = false

  /** @param ended called when nobody waits and no call is under way */
  constructor(layer: Layer, time: Time, slotWaits: SlotWaits, ended: () => void) {
    this.#layer = layer
    this.#time = time
    this.#slotWaits = slotWaits
    this.#ended = ended
    this.#alarm = new Alarm(time, () => this.#ask())
  }

  get size(): number {
    return this.#waiters.length
  }

  join(waiter: Waiter): void {
    this.#waiters.push(waiter)
    // The store's last answer may no longer hold, so it is asked again for an impatient waiter.
    if (!canWait(waiter, this.#alarm.atMs)) this.#alarm.set(Number.POSITIVE_INFINITY)
    this.#ask()
  }

  left(waiter: Waiter): void {
    const wasFirst = this.#waiters[0] === waiter
    // Several may have left at once.
    takeOut(this.#waiters, ({ hasLeft }) => hasLeft)
    const [first] = this.#waiters
    // The next waiter may have less to wait for.
    if (first === undefined || (wasFirst && !isAlike(first, waiter)))
      this.#alarm.set(Number.POSITIVE_INFINITY)
    this.#ask()
  }

  wake(): void {
    this.#isWoken = this.#isAsking
    if (this.#isAsking) return
    this.#alarm.set(Number.POSITIVE_INFINITY)
    this.#ask()
  }

  /** Asks for the first waiter, and for those behind it that have the same costs. */
  #ask(): void {
    if (this.#isLooping) return
    this.#isLooping = true
    // A store that answers at once has answered when `ask` returns.
    while (!this.#isAsking && this.#alarm.atMs === Number.POSITIVE_INFINITY) {
      const [first] = this.#waiters
      if (first === undefined) break
      const count = this.#alike(first)
      this.#isAsking = true
      this.#isWoken = false
      askSafely(
        this.#layer,
        { ...first.request, count, atLeast: 1 },
        {
          decided: (result) => this.#answered(first, count, result),
          failed: (error) => this.#failed(first, error),
        },
      )
    }
    this.#isLooping = false
    if (this.size > 0 || this.#isAsking) return
    if (this.#target !== undefined) this.#slotWaits.remove(this.#target, this)
    this.#target = undefined
    this.#ended()
  }

  /** How many waiters at the front have the same costs. Attempts are asked for one by one, as each
   *  may begin a block. */
  #alike(first: Waiter): number {
    const most = countsAttempts(first.request.target) ? 1 : MAX_TOGETHER
    let count = 0
    while (count < most && isAlike(this.#waiters[count], first)) count += 1
    return count
  }

  #answered(asked: Waiter, count: number, result: StoreResult): void {
    this.#isAsking = false
    this.#last = result
    // Since the call, waiters may have left, and others may have come.
    const passing = this.#waiters.splice(0, Math.min(result.granted, this.#alike(asked)))
    for (const waiter of passing) waiter.decided({ ...result, granted: 1 })
    const spare = result.granted - passing.length
    if (spare > 0) giveBack(this.#layer, asked.request, { ...result, granted: spare })
    if (result.granted < count) this.#wait(asked, result)
    this.#denyBehind()
    this.#ask()
  }

  /** Keeps the waiters that were not granted, or denies them. */
  #wait(asked: Waiter, result: StoreResult): void {
    const waitMs = waitMsOf(result)
    const isVain = waitMs === Number.POSITIVE_INFINITY || isBlocked(result)
    if (result.unavailableMs !== undefined || isVain) {
      const refused = this.#waiters.splice(0, this.#alike(asked))
      for (const waiter of refused) waiter.decided({ ...result, granted: 0 })
      return
    }
    const nowMs = this.#time.nowMs()
    const isForSlots = lacksSlots(result, waitMs)
    if (isForSlots) this.#waitForSlots(asked)
    const atMs = nowMs + Math.max(1, isForSlots ? this.#hintMs(waitMs, nowMs) : waitMs)
    const alike = this.#waiters.splice(0, this.#alike(asked))
    const patient = alike.filter((waiter) => canWait(waiter, atMs))
    this.#waiters.unshift(...patient)
    for (const waiter of alike) {
      if (!canWait(waiter, atMs)) waiter.decided(denied(result, atMs - nowMs))
    }
    if (patient.length > 0) this.#alarm.set(this.#isWoken ? nowMs : atMs)
  }

  #waitForSlots({ request }: Waiter): void {
    this.#target = request.target
    // It goes behind the others that wait for these slots, which have waited longer to be woken.
    this.#slotWaits.remove(request.target, this)
    this.#slotWaits.add(request.target, this)
  }

  /** Nobody knows when slots are released, so the store is asked once more when an impatient
   *  waiter's timeout ends. */
  #hintMs(waitMs: number, nowMs: number): number {
    let hintMs = waitMs
    for (const { untilMs } of this.#waiters)
      if (untilMs > nowMs) hintMs = Math.min(hintMs, untilMs - nowMs)
    return hintMs
  }

  /** Denies waiters that cannot wait for as long as the first one must. */
  #denyBehind(): void {
    const { atMs } = this.#alarm
    const last = this.#last
    if (last === undefined || atMs === Number.POSITIVE_INFINITY) return
    const nowMs = this.#time.nowMs()
    for (const waiter of takeOut(this.#waiters, (each) => !canWait(each, atMs)))
      waiter.decided(denied(costing(last, waiter), Math.max(1, atMs - nowMs)))
  }

  #failed(asked: Waiter, error: unknown): void {
    this.#isAsking = false
    for (const waiter of this.#waiters.splice(0, this.#alike(asked))) waiter.failed(error)
    this.#ask()
  }
}

/** The store's waits are whole ms, rounded up: a timeout of exactly such a wait is enough. */
function canWait({ untilMs }: Waiter, atMs: number): boolean {
  return untilMs + 1 >= atMs
}

function isAlike(one: Waiter | undefined, other: Waiter): boolean {
  const costs = one?.request.costs
  return costs?.every((cost, i) => cost === other.request.costs[i]) === true
}

/** Nobody waits for the end of a block. */
function isBlocked({ policies }: StoreResult): boolean {
  return policies.some(({ block, remaining, cost }) => block?.isBlocked && remaining < cost)
}

/** Whether the wait is for slots, whose release nobody can predict, and for nothing that takes
 *  longer. */
function lacksSlots({ policies }: StoreResult, waitMs: number): boolean {
  return policies.some(({ policy, remaining, cost, retryAfterMs }) => {
    return isReleased(policy) && remaining < cost && retryAfterMs === waitMs
  })
}

/** Ms until the next waiter may pass. */
function waitMsOf({ policies }: StoreResult): number {
  let waitMs = 0
  for (const { remaining, cost, retryAfterMs } of policies)
    if (remaining < cost) waitMs = Math.max(waitMs, retryAfterMs)
  return waitMs
}
