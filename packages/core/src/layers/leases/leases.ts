// Leases: units of a hot key that one call takes ahead, and this process hands out without asking
// Redis for each.
//
// Redis counts a lease's units when it grants them, as if all were spent when the lease ends
// (`ahead` of kernels). They are spent sooner, so each counts for at least as long as if Redis had
// been asked for it, and no bound changes (docs/decisions.md#leases). Where the time within a
// window makes no difference, a lease ends with the window. A lease that ends gives back what is
// left, except units that later ones build on (`cancel`). A process that is granted less than it
// asks for repeats that denial for about as long as a lease lasts, so a flood of refused requests
// does not become a flood of calls.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized, perName, Recent } from '../../base/cache.js'
import { idOf } from '../../base/key-text.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../../layer.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import {
  classOf,
  freeing,
  HotKey,
  type Keys,
  LeaseRequest,
  type WaitingRequest,
} from './hot-key.js'
import { cancelOf, denialOf, isDenial, Lease, windowUs } from './lease.js'
import { FEWEST, isLeasable, type LeaseLimits, type LeasesOptions, limitsFor } from './limits.js'

/** A key is hot when requests ask for this many units while a lease lasts. */
const HOT = 8
const MAX_KEYS = 10_000
/** A denial is repeated for at most this time, as in the deny cache. */
const MAX_REFUSED_US = 1_000_000
/** The part of the expected demand that a lease covers, so that it is used up before it ends.
 *  Random demand of n varies by the square root of n, so a large lease may cover a larger part. */
const SHARE = 0.75
const DEVIATIONS = 2
/** If units of a lease were left, the next has at most this many times the spent ones. */
const GROWTH = 1.25
/** The next lease is asked for this many round trips before one is used up. */
const ROUND_TRIPS = 2

export class Leases implements Layer {
  readonly #next: Layer
  readonly #options: LeasesOptions
  readonly #keysOf: (named: { readonly name: string }) => Keys
  readonly #limitsOf: (policySet: PolicySet) => LeaseLimits
  /** Keys with leases. */
  readonly #holding: Set<HotKey> = new Set()
  #isClosed = false

  constructor(next: Layer, options: LeasesOptions) {
    this.#next = next
    this.#options = options
    this.#keysOf = perName(() => new Recent<HotKey>(MAX_KEYS)).of
    this.#limitsOf = memoized((policySet) => limitsFor(policySet, options))
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { target, mode, seenUs } = request
    const limits = this.#limitsOf(target.policySet)
    if (limits.most >= FEWEST && !this.#isClosed) {
      const keys = this.#keysOf(target.policySet)
      const id = idOf(target)
      if (isLeasable(request)) {
        if (this.#answers(keys, id, request, pending, limits)) return
      } else if (traitsOf(mode).gives && seenUs !== undefined) {
        this.#next.ask(request, freeing(keys, id, pending))
        return
      } else this.#endAll(keys.get(id))
    }
    this.#next.ask(request, pending)
  }

  close(): void {
    this.#isClosed = true
    for (const key of [...this.#holding]) this.#end(key)
  }

  #nowUs(): number {
    const { clock, time } = this.#options
    return clock?.nowUs() ?? time.nowMs() * 1_000
  }

  #answers(
    keys: Keys,
    id: string,
    request: LayerRequest,
    pending: Pending,
    limits: LeaseLimits,
  ): boolean {
    // Read before anything is asked, as a user's clock may throw.
    const nowUs = this.#nowUs()
    const { target, costs, keep } = request
    const { policySet } = target
    const cost = costs[0] as number
    let first = keys.get(id)
    if (first !== undefined && first.policySet !== policySet) {
      this.#endAll(first)
      first = undefined
    }
    let key = classOf(first, keep)
    if (key === undefined) {
      key = new HotKey(policySet, keep, nowUs, first)
      first = key
      keys.set(id, first)
    }
    const isNew = key.grow(cost, nowUs, limits.heldMs * 1_000)
    // A key that is not set again for a while is forgotten.
    if (isNew && first !== undefined) keys.set(id, first)
    if (this.#spends(key, cost, request, pending, limits, nowUs)) return true
    if (cost > 1) {
      this.#end(key)
      return false
    }
    return this.#refuses(key, pending, nowUs) || this.#joins(key, request, pending, limits, nowUs)
  }

  #spends(
    key: HotKey,
    cost: number,
    request: LayerRequest,
    pending: Pending,
    limits: LeaseLimits,
    nowUs: number,
  ): boolean {
    let lease = key.leases[0]
    while (lease !== undefined && (lease.left < cost || lease.isOver(nowUs))) {
      this.#endLease(key, lease)
      lease = key.leases[0]
    }
    if (lease === undefined) return false
    pending.decided(lease.spend(cost, nowUs, 'lease'))
    const isLast = key.leases.length === 1
    if (lease.left === 0) this.#endLease(key, lease)
    const soon = (ROUND_TRIPS * key.roundTripUs * key.demand) / (limits.heldMs * 1_000)
    const isSoon = soon > 0 && lease.left <= soon && isLast
    if (isSoon && this.#mayAsk(key, request, nowUs)) this.#takeSoon(key, request, limits)
    return true
  }

  /** Asks in the event loop's next turn, so that the decision need not wait for the write. */
  #takeSoon(key: HotKey, request: LayerRequest, limits: LeaseLimits): void {
    if (key.isDue) return
    key.isDue = true
    this.#options.time.soon(() => {
      const { isDue, nowUs } = key
      key.isDue = false
      // If it is no longer due, the key's leases were ended meanwhile.
      const may = isDue && !this.#isClosed && this.#mayAsk(key, request, nowUs)
      if (may) this.#take(key, request, [], limits, nowUs)
    })
  }

  #refuses(key: HotKey, pending: Pending, nowUs: number): boolean {
    const { refusal } = key
    if (refusal === undefined) return false
    const { result, atUs, untilUs } = refusal
    if (nowUs < atUs || nowUs >= untilUs) {
      key.refusal = undefined
      return false
    }
    const goneMs = Math.floor((nowUs - atUs) / 1_000)
    pending.decided(denialOf(result, goneMs, Math.ceil((untilUs - nowUs) / 1_000), 'cache'))
    return true
  }

  /** Makes a request wait for units, asking for some if need be. Returns whether it waits. */
  #joins(
    key: HotKey,
    request: LayerRequest,
    pending: Pending,
    limits: LeaseLimits,
    nowUs: number,
  ): boolean {
    const { time, deadlineMs } = this.#options
    const { asked } = key
    if (request.deadlineAtMs !== undefined) return false
    const mayAsk = this.#mayAsk(key, request, nowUs)
    if (!mayAsk && (asked === undefined || asked.isUnwanted)) return false
    const deadlineAtMs = time.nowMs() + deadlineMs
    const waiting = { request: { ...request, deadlineAtMs }, pending, atUs: nowUs }
    if (mayAsk) this.#take(key, request, [waiting], limits, nowUs)
    else asked?.waiting.push(waiting)
    return true
  }

  #mayAsk(key: HotKey, { target }: LayerRequest, nowUs: number): boolean {
    if (key.asked !== undefined || nowUs < key.pausedUntilUs || key.demand < HOT) return false
    return this.#options.mayTake?.(target) !== false
  }

  /** Asks for units. The first ones go to the requests that wait. */
  #take(
    key: HotKey,
    { target, costs, keep }: LayerRequest,
    waiting: WaitingRequest[],
    { most, heldMs }: LeaseLimits,
    nowUs: number,
  ): void {
    // A lease that comes when half of its time is over is not worth keeping.
    const isFar = 2 * key.roundTripUs >= heldMs * 1_000
    const grown = Math.max(FEWEST, Math.ceil(2 * key.size))
    const { demand } = key
    const part = Math.max(SHARE * demand, demand - DEVIATIONS * Math.sqrt(demand))
    const size = Math.min(Math.ceil(part), grown)
    const count = Math.max(1, Math.min(most, waiting.length + (isFar ? 0 : size)))
    const asked = new LeaseRequest(count, waiting, nowUs, this.#options.time.nowMs(), heldMs)
    key.asked = asked
    const ones = costs.map(() => 1)
    const request = { mode: 'consume', target, costs: ones, count, keep, aheadMs: heldMs } as const
    this.#next.ask(request, {
      decided: (result) => this.#granted(key, asked, target, result),
      failed(error) {
        key.asked = undefined
        for (const { pending } of waiting) pending.failed(error)
      },
    })
  }

  #granted(key: HotKey, asked: LeaseRequest, target: Target, result: StoreResult): void {
    key.asked = undefined
    const { waiting } = asked
    const giveBackUntilMs = asked.atMs + 2 * asked.heldMs
    const lease = new Lease(target, result, asked.atUs, asked.heldMs * 1_000, giveBackUntilMs)
    let nowUs: number
    try {
      nowUs = this.#nowUs()
    } catch (error) {
      for (const { pending } of waiting) pending.failed(error)
      this.#giveBack(lease, true)
      return
    }
    const isOfStore = !result.degraded
    let refusedMs = 0
    if (isOfStore) {
      key.size = result.granted
      key.roundTripUs = Math.max(0, nowUs - asked.atUs)
      if (result.granted < asked.count) this.#pause(key, asked, result, nowUs)
      const { untilUs = nowUs } = key.refusal ?? {}
      lease.refusedUntilUs = untilUs
      refusedMs = Math.ceil((untilUs - nowUs) / 1_000)
    }
    for (const { request, pending, atUs } of waiting) {
      if (!isOfStore) pending.decided(lease.spendWithoutStore())
      // A request that came in time is answered, however late the reply is.
      else if (lease.left > 0 && !lease.isOver(atUs)) pending.decided(lease.spend(1, atUs, 'store'))
      else if (lease.left === 0 && result.granted < asked.count && isDenial(result))
        pending.decided(denialOf(result, 0, refusedMs, 'store'))
      else this.#next.ask(request, pending)
    }
    const isUnwanted = asked.isUnwanted || this.#isClosed
    if (isOfStore && !isUnwanted && !lease.isOver(nowUs)) this.#hold(key, lease, asked.heldMs)
    else this.#giveBack(lease, isUnwanted)
  }

  /** Asks for nothing until others have had their turn, or the window is over. */
  #pause(key: HotKey, asked: LeaseRequest, result: StoreResult, nowUs: number): void {
    const { time, denialsLast } = this.#options
    const pausedUs = asked.heldMs * 1_000 * (0.75 + time.random() / 2)
    const longestUs = Math.min(MAX_REFUSED_US, windowUs(result))
    const untilUs = Math.min(nowUs + pausedUs, asked.atUs + longestUs)
    key.pausedUntilUs = untilUs
    const holds = denialsLast && isDenial(result) && !asked.isOlder && !asked.isUnwanted
    key.refusal = holds && untilUs > nowUs ? { result, atUs: nowUs, untilUs } : undefined
  }

  #hold(key: HotKey, lease: Lease, heldMs: number): void {
    if (lease.left === 0) return
    key.leases.push(lease)
    this.#holding.add(key)
    lease.stop = this.#options.time.after(heldMs, () => this.#endLease(key, lease))
  }

  /** Ends a key's leases, so that Redis knows all that was spent. */
  #end(key: HotKey): void {
    key.isDue = false
    if (key.asked !== undefined) key.asked.isUnwanted = true
    // The newer lease builds on the older one, so it is given back first.
    for (const lease of [...key.leases].reverse()) this.#endLease(key, lease)
    key.refusal = undefined
  }

  #endAll(first: HotKey | undefined): void {
    for (let key = first; key !== undefined; key = key.other) this.#end(key)
  }

  #endLease(key: HotKey, lease: Lease): void {
    const at = key.leases.indexOf(lease)
    if (at < 0) return
    key.leases.splice(at, 1)
    if (key.leases.length === 0) this.#holding.delete(key)
    lease.stop()
    // The next lease has at most a quarter more units than were spent of this one.
    const spent = lease.result.granted - lease.left
    if (lease.left > 0) key.size = (GROWTH / 2) * spent
    this.#giveBack(lease, false)
  }

  /** @param mayBeReset whether the key may have been reset since the lease was granted */
  #giveBack({ left, target, result, giveBackUntilMs }: Lease, mayBeReset: boolean): void {
    // Where the event loop was held up, others may have taken what has drained since.
    if (left === 0 || this.#options.time.nowMs() > giveBackUntilMs) return
    // Otherwise, memory would give units back without knowing which of them were spent.
    const isForStore = !result.degraded
    this.#next.ask({ ...cancelOf(target, result, left, mayBeReset), isForStore }, IGNORED)
  }
}
