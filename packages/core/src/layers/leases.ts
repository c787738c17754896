// Leases: units of a hot key that are taken ahead in one call, and handed out here without asking
// Redis for each.
//
// Redis counts a unit when it is taken; it may be spent up to `holdMs` later. So that windows stay
// strict, a lease that ends tells Redis when its units were spent (reconcile), and then gives back
// what was taken (refund): in between Redis counts more than was used, never less. What it costs is
// under-use: of each key up to `units`, and a tenth of the smallest limit, in each process, for up
// to `holdMs`. A sliding log or window gives units back from its oldest end, so that each of them
// is as if it had been spent later; a lease is at most a quarter more than was spent of the one
// before, so few go back.
//
// Buckets are not leased. What lies in one drains while units are held, and if others give back
// what is beneath them, the bucket would have been empty for a while when they are spent: more
// would pass than its bound says.

import { memoized, Recent } from '../base/cache.js'
import type { Clock } from '../base/clock.js'
import { idOf } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import { areOne } from '../request.js'
import type { PolicyResult, PolicySet, StoreResult } from '../store.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from './layer.js'

export interface LeaseOptions {
  /** The most units taken ahead at once. 2 to 10,000. */
  readonly units: number
  /** How long they may be kept. 1 to 1,000. */
  readonly holdMs: number
}

/** A key is hot when it was asked for as often within `holdMs`. */
const HOT = 16
const MAX_KEYS = 10_000
/** The part of a limit that may be taken ahead. */
const PART = 0.1
const LEAST_US = 1_000
/** How a lease compares with what was spent of the one before. */
const GROWTH = 1.25

export interface LeasesOptions extends LeaseOptions {
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
}

export class Leases implements Layer {
  readonly #next: Layer
  readonly #options: LeasesOptions
  readonly #ofName: Map<string, LeasesOfLimiter> = new Map()
  readonly #leasesOf: (policySet: PolicySet) => LeasesOfLimiter = memoized(({ name }) => {
    const leases = this.#ofName.get(name) ?? new LeasesOfLimiter(this.#next, this.#options)
    this.#ofName.set(name, leases)
    return leases
  })

  constructor(next: Layer, options: LeasesOptions) {
    this.#next = next
    this.#options = options
  }

  ask(request: LayerRequest, pending: Pending): void {
    const leases = this.#leasesOf(request.target.policySet)
    const id = idOf(request.target)
    const known = leases.answer(id, request)
    if (known !== undefined) {
      pending.decided(known)
      return
    }
    const ahead = leases.wanted(id, request)
    this.#next.ask(request, pending)
    if (ahead > 0) {
      // Both travel in one call, and this one is granted last.
      this.#next.ask({ ...request, count: ahead }, new TakingAhead(leases, id, request))
    }
  }

  /** Ends all leases. */
  close(): void {
    for (const leases of this.#ofName.values()) leases.close()
  }
}

/** Waits for units that are taken ahead. */
class TakingAhead implements Pending {
  readonly #leases: LeasesOfLimiter
  readonly #id: string
  readonly #request: LayerRequest

  constructor(leases: LeasesOfLimiter, id: string, request: LayerRequest) {
    this.#leases = leases
    this.#id = id
    this.#request = request
  }

  decided(result: StoreResult): void {
    this.#leases.granted(this.#id, this.#request, result)
  }

  failed(): void {
    this.#leases.failed(this.#id)
  }
}

/** The result as it stood before `later` more requests of cost 1 were granted. */
function before(result: StoreResult, later: number): StoreResult {
  const policies: PolicyResult[] = []
  for (const { policy, cost, limit, remaining, retryAfterMs, resetAfterMs } of result.policies) {
    const left = remaining + later
    const waitMs = left > 0 ? 0 : retryAfterMs
    policies.push({ policy, cost, limit, remaining: left, retryAfterMs: waitMs, resetAfterMs })
  }
  return { ...result, granted: 1, policies }
}

interface Demand {
  sinceMs: number
  count: number
  /** When the request that takes units ahead was sent; undefined: none is on its way. */
  askedMs: number | undefined
  /** The most that the next lease may be. */
  most: number
}

interface Lease {
  readonly request: LayerRequest
  /** As it is when all units are spent. */
  readonly result: StoreResult
  readonly askedMs: number
  readonly lastsUs: number
  readonly units: number
  left: number
  /** When the last unit was spent, from when they were taken. */
  spentAfterUs: number
  readonly cancel: () => void
}

class LeasesOfLimiter {
  readonly #next: Layer
  readonly #options: LeasesOptions
  readonly #leases: Map<string, Lease> = new Map()
  readonly #demands: Recent<Demand> = new Recent(MAX_KEYS)

  constructor(next: Layer, options: LeasesOptions) {
    this.#next = next
    this.#options = options
  }

  /**
   * The answer to a request, out of a lease; undefined: there is none. Anything but a plain consume
   * ends the lease, so that Redis knows all when it is asked.
   */
  answer(id: string, { mode, target, costs }: LayerRequest): StoreResult | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined) return undefined
    const afterUs = this.#sinceUs(lease)
    const isOver = afterUs < lease.spentAfterUs || afterUs >= lease.lastsUs
    const isSame = mode === 'consume' && target.policySet === lease.request.target.policySet
    if (isOver || !isSame || !areOne(costs)) {
      this.end(id)
      return undefined
    }
    lease.left -= 1
    lease.spentAfterUs = afterUs
    const result = before(lease.result, lease.left)
    const nowUs = result.nowUs + afterUs
    // A unit counts for as long as if it had been taken now.
    const untilUs = result.untilUs.map((until) => until + afterUs)
    if (lease.left === 0) this.end(id)
    return { ...result, nowUs, untilUs, source: 'local', sentAtMs: undefined }
  }

  /** How many units to take ahead with a request that goes to Redis. */
  wanted(id: string, { mode, target, costs }: LayerRequest): number {
    if (mode !== 'consume' || target.ownKeys !== undefined || !areOne(costs)) return 0
    const { time, holdMs, units } = this.#options
    const clockUs = this.#options.clock?.nowUs()
    const nowMs = clockUs === undefined ? time.nowMs() : clockUs / 1_000
    let demand = this.#demands.get(id)
    if (demand === undefined) {
      demand = { sinceMs: nowMs, count: 0, askedMs: undefined, most: HOT }
      this.#demands.set(id, demand)
    }
    if (nowMs - demand.sinceMs > holdMs) {
      demand.sinceMs = nowMs
      demand.count = 0
    }
    demand.count += 1
    if (demand.count < HOT || demand.askedMs !== undefined) return 0
    const ahead = Math.min(units, demand.count, demand.most, this.#mostOf(target.policySet))
    if (ahead < 2) return 0
    demand.askedMs = nowMs
    return ahead
  }

  /** Units were granted ahead, if any. */
  granted(id: string, request: LayerRequest, result: StoreResult): void {
    const { granted: units } = result
    const demand = this.#demands.get(id)
    const askedMs = demand?.askedMs
    if (demand !== undefined) demand.askedMs = undefined
    if (units === 0) return
    this.end(id)
    const { holdMs, time } = this.#options
    const resetUs = Math.min(...result.untilUs) - result.nowUs
    // What was granted without the store goes back at once.
    const isHeld = askedMs !== undefined && !result.degraded
    const lastsUs = isHeld ? Math.min(holdMs * 1_000, resetUs) : 0
    this.#leases.set(id, {
      request,
      result,
      askedMs: askedMs ?? 0,
      lastsUs,
      units,
      left: units,
      spentAfterUs: 0,
      cancel: lastsUs < LEAST_US ? () => {} : time.after(holdMs, () => this.end(id)),
    })
    if (lastsUs < LEAST_US) this.end(id)
  }

  /** The request that was to take units ahead has failed. */
  failed(id: string): void {
    const demand = this.#demands.get(id)
    if (demand !== undefined) demand.askedMs = undefined
  }

  /** Gives back what is left, and says when the rest was spent. */
  end(id: string): void {
    const lease = this.#leases.get(id)
    if (lease === undefined) return
    this.#leases.delete(id)
    lease.cancel()
    const { request, result, units, left, spentAfterUs } = lease
    const demand = this.#demands.get(id)
    if (demand !== undefined) demand.most = Math.max(2, Math.ceil((units - left) * GROWTH))
    const { target, costs } = request
    const each = (count: number) => costs.map(() => count)
    const { untilUs, nowUs } = result
    const isSpentLater = spentAfterUs >= LEAST_US && left < units
    if (isSpentLater) {
      const laterUs = untilUs.map((until) => until + Math.ceil(spentAfterUs))
      const spent = each(units - left)
      const reconcile = {
        mode: 'reconcile',
        target,
        costs: spent,
        count: 1,
        untilUs: laterUs,
        isForStore: true,
      } as const
      this.#next.ask(reconcile, IGNORED)
    }
    const back = isSpentLater ? units : left
    // A reset ends a lease beforehand: what is taken in its instant is taken after it.
    const seenUs = nowUs + 1
    if (back > 0) {
      const refund = {
        mode: 'refund',
        target,
        costs: each(back),
        count: 1,
        untilUs,
        seenUs,
        // Else units that were spent would be given back here, where nobody knows that they were.
        isForStore: !result.degraded,
      } as const
      this.#next.ask(refund, IGNORED)
    }
  }

  close(): void {
    for (const id of [...this.#leases.keys()]) this.end(id)
  }

  /** Counted from when the units were asked for, so never too little: Redis took them later. */
  #sinceUs({ result, askedMs }: Lease): number {
    const clockUs = this.#options.clock?.nowUs()
    if (clockUs !== undefined) return clockUs - result.nowUs
    return Math.ceil((this.#options.time.nowMs() - askedMs) * 1_000)
  }

  #mostOf({ policies }: PolicySet): number {
    let most = Number.POSITIVE_INFINITY
    for (const { limit, windowMs, kernel } of policies) {
      if (kernel?.traits.drains || windowMs < 2 * this.#options.holdMs) return 0
      most = Math.min(most, Math.floor(limit * PART))
    }
    return most
  }
}
