// Leases: units of a hot key that are taken ahead in one call, and handed out here without asking
// Redis for each.
//
// Redis counts the units of a lease when it grants them, as if all of them were spent at its end
// (`ahead` of kernels). They are spent sooner, and who is limited by later times is limited by
// earlier ones, so no bound changes (docs/decisions/0023-leases.md). Where it makes no difference
// when within a window a unit is taken, a lease ends with the window.
//
// What is left of a lease goes back when it ends, as far as nothing that was taken later stands on
// it (`cancel`). The rest is lost: at most one lease, which is no more than half of what was asked
// for while it lasts, and a tenth of the limit.
//
// A lease lasts for `holdMs`, or a fiftieth of the shortest window if that is less: so much of a
// bucket's burst may be missing. A process that is granted less than it asks for answers by that
// denial until a part of this time is over, so a flood of refused requests is no flood of calls.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized, perName, Recent } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { idOf } from '../../base/key-text.js'
import type { Time } from '../../base/time.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import { Asked, classOf, HotKey, type Waiting } from './hot-key.js'
import { denialOf, isDenial, Lease } from './lease.js'
import { FEWEST, isLeasable, type LeaseLimits, type LeaseOptions, limitsFor } from './limits.js'

export interface LeasesOptions extends LeaseOptions {
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  /** When what is asked is decided at the latest. */
  readonly deadlineMs: number
  /** Whether a denial may be told again for a while, as the deny cache does. */
  readonly denialsLast: boolean
  /** Whether units of a target may be taken ahead: not while local quotas hold. Default: always. */
  readonly mayTake?: (target: Target) => boolean
}

/** A key is hot when as many units are asked for while a lease lasts. */
const HOT = 8
const MAX_KEYS = 10_000
/** The next lease is asked for so many round trips before the present one is used up. */
const ROUND_TRIPS = 2

type Keys = Recent<HotKey>

export class Leases implements Layer {
  readonly #next: Layer
  readonly #options: LeasesOptions
  readonly #keysOf: (named: { readonly name: string }) => Keys
  readonly #limitsOf: (policySet: PolicySet) => LeaseLimits
  /** Keys of which something is held. */
  readonly #holding: Set<HotKey> = new Set()

  constructor(next: Layer, options: LeasesOptions) {
    this.#next = next
    this.#options = options
    this.#keysOf = perName(() => new Recent<HotKey>(MAX_KEYS)).of
    this.#limitsOf = memoized((policySet) => limitsFor(policySet, options))
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { target, mode } = request
    const limits = this.#limitsOf(target.policySet)
    if (limits.most >= FEWEST) {
      const keys = this.#keysOf(target.policySet)
      const id = idOf(target)
      if (isLeasable(request)) {
        if (this.#answers(keys, id, request, pending, limits)) return
      } else if (traitsOf(mode).gives) this.#freed(keys.get(id))
      else for (let key = keys.get(id); key !== undefined; key = key.other) this.#end(key)
    }
    this.#next.ask(request, pending)
  }

  /** Ends all leases. */
  close(): void {
    for (const key of [...this.#holding]) this.#end(key)
  }

  #nowUs(): number {
    const { clock, time } = this.#options
    return clock?.nowUs() ?? time.nowMs() * 1_000
  }

  /** Whether a request is answered by a lease, or will be. */
  #answers(
    keys: Keys,
    id: string,
    request: LayerRequest,
    pending: Pending,
    limits: LeaseLimits,
  ): boolean {
    // Read before anything is asked: a clock of a user's may throw.
    const nowUs = this.#nowUs()
    const { target, costs, keep } = request
    const { policySet } = target
    const cost = costs[0] as number
    const first = keys.get(id)
    let key = classOf(first, keep)
    if (key === undefined) {
      key = new HotKey(policySet, keep, nowUs, first)
      keys.set(id, key)
    }
    key.grow(cost, nowUs, limits.heldMs * 1_000)
    if (key.policySet !== policySet) {
      this.#end(key)
      key.policySet = policySet
    }
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
    if (lease.left === 0) this.#endLease(key, lease)
    const soon = (ROUND_TRIPS * key.roundTripUs * key.demand) / (limits.heldMs * 1_000)
    const isSoon = soon > 0 && lease.left <= soon && key.leases.length < 2
    if (isSoon && this.#mayAsk(key, request, nowUs)) this.#take(key, request, [], limits, nowUs)
    return true
  }

  /** Whether a denial of a moment ago answers. */
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

  /** Whether a request waits for units that are asked for, maybe because of it. */
  #joins(
    key: HotKey,
    request: LayerRequest,
    pending: Pending,
    limits: LeaseLimits,
    nowUs: number,
  ): boolean {
    const { time, deadlineMs } = this.#options
    const { asked } = key
    const mayAsk = this.#mayAsk(key, request, nowUs)
    const hasRoom = asked !== undefined && asked.waiting.length < asked.count
    if (!mayAsk && (!hasRoom || asked.isUnwanted)) return false
    const { deadlineAtMs = time.nowMs() + deadlineMs } = request
    const waiting = { request: { ...request, deadlineAtMs }, pending }
    if (mayAsk) this.#take(key, request, [waiting], limits, nowUs)
    else asked?.waiting.push(waiting)
    return true
  }

  #mayAsk(key: HotKey, { target, deadlineAtMs }: LayerRequest, nowUs: number): boolean {
    if (key.asked !== undefined || nowUs < key.pausedUntilUs || key.demand < HOT) return false
    return deadlineAtMs === undefined && this.#options.mayTake?.(target) !== false
  }

  /** Asks for units, of which the first ones are for who waits. */
  #take(
    key: HotKey,
    { target, costs, keep }: LayerRequest,
    waiting: Waiting[],
    { most, heldMs }: LeaseLimits,
    nowUs: number,
  ): void {
    const size = Math.min(Math.ceil(key.demand / 2), Math.max(FEWEST, 2 * key.size))
    const count = Math.min(most, waiting.length + size)
    const asked = new Asked(count, waiting, nowUs, heldMs)
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

  #granted(key: HotKey, asked: Asked, target: Target, result: StoreResult): void {
    key.asked = undefined
    const nowUs = this.#nowUs()
    const lease = new Lease(target, result, asked.atUs, asked.heldMs * 1_000)
    const isOfStore = !result.degraded
    if (isOfStore) {
      key.size = result.granted
      key.roundTripUs = Math.max(0, nowUs - asked.atUs)
      if (result.granted < asked.count) this.#pause(key, asked, result, nowUs)
    }
    for (const { request, pending } of asked.waiting) {
      if (!isOfStore) pending.decided(lease.spendWithoutStore())
      else if (lease.left > 0 && !lease.isOver(nowUs))
        pending.decided(lease.spend(1, nowUs, 'store'))
      // It was over before it came; or a request may pass where a lease may not.
      else if (lease.left > 0 || !isDenial(result)) this.#next.ask(request, pending)
      else pending.decided(denialOf(result, 0, 0, 'store'))
    }
    const isKept = isOfStore && !asked.isUnwanted && !lease.isOver(nowUs)
    if (lease.left === 0) return
    if (isKept) this.#hold(key, lease, asked.heldMs)
    else this.#giveBack(lease)
  }

  /** Asks for nothing until others have had their turn. */
  #pause(key: HotKey, asked: Asked, result: StoreResult, nowUs: number): void {
    const { time, denialsLast } = this.#options
    const untilUs = nowUs + asked.heldMs * 1_000 * (0.5 + time.random() / 2)
    key.pausedUntilUs = untilUs
    const holds = denialsLast && isDenial(result) && !asked.isOlder && !asked.isUnwanted
    key.refusal = holds ? { result, atUs: nowUs, untilUs } : undefined
  }

  #hold(key: HotKey, lease: Lease, heldMs: number): void {
    key.leases.push(lease)
    this.#holding.add(key)
    lease.stop = this.#options.time.after(heldMs, () => this.#endLease(key, lease))
  }

  /** Redis is to know all. */
  #end(key: HotKey): void {
    if (key.asked !== undefined) key.asked.isUnwanted = true
    for (const lease of [...key.leases]) this.#endLease(key, lease)
    key.refusal = undefined
  }

  #endLease(key: HotKey, lease: Lease): void {
    const at = key.leases.indexOf(lease)
    if (at < 0) return
    key.leases.splice(at, 1)
    if (key.leases.length === 0) this.#holding.delete(key)
    lease.stop()
    if (lease.left > 0) this.#giveBack(lease)
  }

  #giveBack({ left, target, result: { untilUs, nowUs, degraded } }: Lease): void {
    const costs = target.policySet.policies.map(() => left)
    // A reset ends a lease beforehand: what is granted in its instant is granted after it.
    const back = correctionOf('cancel', target, costs, { untilUs, nowUs: nowUs + 1 })
    // Else units that were spent would be given back here, where nobody knows that they were.
    this.#next.ask({ ...back, isForStore: !degraded }, IGNORED)
  }

  /** Denials may no longer hold. */
  #freed(first: HotKey | undefined): void {
    for (let key = first; key !== undefined; key = key.other) {
      key.refusal = undefined
      if (key.asked !== undefined) key.asked.isOlder = true
    }
  }
}
