// The queue of a key whose only policy is a bucket. Each waiter that joins reserves its turn in the
// store, in one call. The store keeps the order, across processes.
//
// Reserved units belong to the queue, not to the waiter that asked for them: they form a row, each
// unit with its time. Waiters take the earliest units in order, and each passes when the last of
// its units is due. When a waiter leaves, those behind it move up, and the latest units, as many as
// its cost, are cancelled, unless another process's later reservation builds on them.

import type { Policy } from '../algorithms/policy.js'
import type { Time } from '../base/time.js'
import { IGNORED, type Layer } from '../layer.js'
import { correctionOf } from '../request.js'
import type { StoreResult, Target } from '../store.js'
import { Alarm, askSafely, costing, denied, type Queue, takeOut, type Waiter } from './queue.js'

/** Units that one call reserved, or the rest of them. */
interface Run {
  units: number
  /** When the last of them is due, in ms of the process. */
  dueMs: number
  /** When the last of them stops counting, in us of the store's clock. */
  untilUs: number
  readonly result: StoreResult
  /** When the result came, in ms of the process. */
  readonly cameMs: number
}

interface Placed {
  readonly waiter: Waiter
  readonly place: number
}

export class TurnQueue implements Queue {
  readonly #layer: Layer
  readonly #time: Time
  readonly #target: Target
  readonly #policy: Policy
  readonly #ended: () => void
  /** The waiters whose turns are reserved, in the order in which they came. */
  readonly #waiters: Placed[] = []
  /** Sorted by `dueMs`. */
  readonly #row: Run[] = []
  /** The waiters whose reservations are under way, without those that have left. */
  readonly #asking: Set<Waiter> = new Set()
  readonly #alarm: Alarm
  #places = 0
  #calls = 0
  // Sums of the units of `#row`, `#waiters` and `#asking`: kept, as a queue may be long.
  #reserved = 0
  #waitedFor = 0
  #askedFor = 0

  /** @param ended called when nobody waits and no call is under way */
  constructor(layer: Layer, time: Time, target: Target, ended: () => void) {
    this.#layer = layer
    this.#time = time
    this.#target = target
    this.#policy = target.policySet.policies[0] as Policy
    this.#ended = ended
    this.#alarm = new Alarm(time, () => this.#goOn())
  }

  get size(): number {
    return this.#waiters.length + this.#calls
  }

  join(waiter: Waiter): void {
    this.#dropStale()
    this.#places += 1
    const place = this.#places
    const cost = costOf(waiter)
    const atMs = this.#time.nowMs()
    // A waiter needs no call if it can take units of others that have left. So a client that joins
    // and leaves again and again asks ever less often, and its spare units can be cancelled.
    const isNext = this.#asking.size === 0
    const isEnough = cost > 0 && this.#spare >= cost
    if (isNext && isEnough && this.#dueMs(this.#waitedFor + cost) <= waiter.untilMs) {
      this.#insert(this.#waiters.length, waiter, place)
      this.#goOn()
      return
    }
    this.#calls += 1
    this.#asking.add(waiter)
    this.#askedFor += cost
    const patienceMs = Math.min(waiter.untilMs - atMs, this.#policy.maxWaitMs)
    askSafely(
      this.#layer,
      // The store's waits are whole ms, rounded up: a timeout of exactly such a wait is enough.
      { ...waiter.request, maxWaitMs: Math.max(0, Math.ceil(patienceMs)) },
      {
        decided: (result) => {
          this.#calls -= 1
          this.#hasAsked(waiter)
          // The timeout does not include the call itself.
          waiter.untilMs += this.#time.nowMs() - atMs
          this.#answered(waiter, place, result)
          this.#goOn()
        },
        failed: (error) => {
          this.#calls -= 1
          this.#hasAsked(waiter)
          if (!waiter.hasLeft) waiter.failed(error)
          this.#goOn()
        },
      },
    )
  }

  left(waiter: Waiter): void {
    // Its reservation may be under way.
    this.#hasAsked(waiter)
    // Several may have left at once.
    this.#dropGone()
    this.#goOn()
  }

  #dropGone(): void {
    for (const gone of takeOut(this.#waiters, ({ waiter }) => waiter.hasLeft))
      this.#waitedFor -= costOf(gone.waiter)
  }

  #hasAsked(waiter: Waiter): void {
    if (this.#asking.delete(waiter)) this.#askedFor -= costOf(waiter)
  }

  #insert(at: number, waiter: Waiter, place: number): void {
    this.#waiters.splice(at, 0, { waiter, place })
    this.#waitedFor += costOf(waiter)
  }

  #answered(waiter: Waiter, place: number, result: StoreResult): void {
    const cost = costOf(waiter)
    if (result.granted === 0 || cost === 0) {
      if (!waiter.hasLeft) waiter.decided(result)
      return
    }
    this.#dropStale()
    this.#add(result, cost)
    if (waiter.hasLeft) return
    // Replies may overtake each other.
    let at = this.#waiters.length
    let units = this.#waitedFor + cost
    for (; at > 0 && (this.#waiters[at - 1] as Placed).place > place; at -= 1)
      units -= costOf((this.#waiters[at - 1] as Placed).waiter)
    const nowMs = this.#time.nowMs()
    const dueMs = this.#dueMs(units)
    // Behind the others, it may wait for longer than the store said: they take the earliest units.
    if (dueMs > nowMs && dueMs > waiter.untilMs + 1) waiter.decided(denied(result, dueMs - nowMs))
    else {
      this.#insert(at, waiter, place)
      if (at + 1 < this.#waiters.length) this.#denyBehind(at + 1, units, result)
    }
  }

  /** Denies waiters whose turns moved too far back when a reply to an earlier one came late. */
  #denyBehind(from: number, before: number, result: StoreResult): void {
    const nowMs = this.#time.nowMs()
    let units = before
    for (const { waiter } of this.#waiters.slice(from)) {
      const dueMs = this.#dueMs(units + costOf(waiter))
      if (dueMs <= nowMs || dueMs <= waiter.untilMs + 1) units += costOf(waiter)
      else waiter.decided(denied(costing(result, waiter), dueMs - nowMs))
    }
    this.#dropGone()
  }

  /** Units that no waiter needs, not even one whose reservation is under way. */
  get #spare(): number {
    return this.#reserved - this.#waitedFor - this.#askedFor
  }

  #goOn(): void {
    this.#pass()
    // Calls under way build on all that was reserved, so nothing can be cancelled before they end.
    if (this.#calls === 0) this.#cancelSpare()
    if (this.size === 0) this.#ended()
  }

  /** Drops units that were due while nobody waited: the bucket has refilled since. */
  #dropStale(): void {
    const nowMs = this.#time.nowMs()
    while (this.#waiters.length === 0 && this.#row.length > 0) {
      const run = this.#row[0] as Run
      const early = Math.floor((run.dueMs - nowMs) / this.#policy.unitMs) + 1
      const units = Math.min(run.units, Math.max(0, early))
      this.#reserved -= run.units - units
      run.units = units
      if (units > 0) return
      this.#row.shift()
    }
  }

  #add(result: StoreResult, units: number): void {
    const { nowUs } = result
    const cameMs = this.#time.nowMs()
    const untilUs = result.untilUs[0] as number
    const turnMs = (untilUs - nowUs) / 1_000 - this.#policy.windowMs
    const dueMs = cameMs + Math.max(0, turnMs)
    let at = this.#row.length
    while (at > 0 && (this.#row[at - 1] as Run).dueMs > dueMs) at -= 1
    this.#row.splice(at, 0, { units, dueMs, untilUs, result, cameMs })
    this.#reserved += units
  }

  /** When the last of the first `units` units of the row is due. */
  #dueMs(units: number): number {
    const row = this.#row
    // From the nearer end: waiters join at the end of the queue and pass at its beginning.
    const isNearEnd = 2 * units > this.#reserved
    let at = isNearEnd ? row.length - 1 : 0
    let behind = isNearEnd ? this.#reserved - units : (row[0] as Run).units - units
    for (; behind < 0 && at < row.length - 1; behind += (row[at] as Run).units) at += 1
    for (; behind >= (row[at] as Run).units && at > 0; at -= 1) behind -= (row[at] as Run).units
    const dueMs = (row[at] as Run).dueMs - behind * this.#policy.unitMs
    return Math.max(dueMs, row[at - 1]?.dueMs ?? dueMs)
  }

  /** Lets waiters pass if their units are due. */
  #pass(): void {
    for (;;) {
      const [first] = this.#waiters
      if (first === undefined) {
        this.#alarm.set(Number.POSITIVE_INFINITY)
        return
      }
      const units = costOf(first.waiter)
      const dueMs = this.#dueMs(units)
      if (dueMs > this.#time.nowMs()) {
        if (dueMs !== this.#alarm.atMs) this.#alarm.set(dueMs)
        return
      }
      this.#waiters.shift()
      this.#waitedFor -= units
      first.waiter.decided(this.#taken(units))
    }
  }

  /** Takes the first units of the row. Returns what the store said about the last of them. */
  #taken(units: number): StoreResult {
    this.#reserved -= units
    for (let left = units; ; ) {
      const run = this.#row[0] as Run
      if (run.units > left) {
        run.units -= left
        return this.#passed(run, units, this.#untilUs(run, run.units))
      }
      this.#row.shift()
      left -= run.units
      if (left === 0) return this.#passed(run, units, run.untilUs)
    }
  }

  /** When a unit with `behind` more units after it in its run stops counting. */
  #untilUs(run: Run, behind: number): number {
    return Math.ceil(run.untilUs - behind * this.#policy.unitMs * 1_000)
  }

  /** The result as it is now that the turn has come. */
  #passed({ result, cameMs }: Run, cost: number, untilUs: number): StoreResult {
    const waitedMs = Math.floor(this.#time.nowMs() - cameMs)
    const policies = result.policies.map((each) => ({
      ...each,
      cost,
      retryAfterMs: Math.max(0, each.retryAfterMs - waitedMs),
      resetAfterMs: Math.max(0, each.resetAfterMs - waitedMs),
    }))
    return { ...result, policies, untilUs: [untilUs] }
  }

  /** Cancels the latest units that no waiter needs, the last one first. */
  #cancelSpare(): void {
    let spare = this.#spare
    while (spare > 0) {
      const run = this.#row.at(-1) as Run
      const units = Math.min(spare, run.units)
      this.#cancel(run, units)
      spare -= units
      this.#reserved -= units
      if (units === run.units) this.#row.pop()
      else {
        run.untilUs = this.#untilUs(run, units)
        const dueMs = run.dueMs - units * this.#policy.unitMs
        // The row stays sorted.
        run.dueMs = Math.max(dueMs, this.#row.at(-2)?.dueMs ?? dueMs)
        run.units -= units
      }
    }
  }

  #cancel({ result, untilUs }: Run, units: number): void {
    const charged = { untilUs: [untilUs], nowUs: result.nowUs }
    const cancel = correctionOf('cancel', this.#target, [units], charged)
    // Only the store can cancel what it has reserved.
    askSafely(this.#layer, { ...cancel, isForStore: !result.degraded }, IGNORED)
  }
}

function costOf({ request }: Waiter): number {
  return request.costs[0] as number
}
