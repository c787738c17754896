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
// Attempts of a lock-out are not leased, since each may begin a block. Nor are buckets: what lies
// in one drains while units are held, and if others give back what is beneath them, the bucket
// would have been empty for a while when they are spent: more would pass than its bound says.

import { perName, Recent } from '../base/cache.js'
import type { Clock } from '../base/clock.js'
import { idOf } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../layer.js'
import { areOne, correctionOf } from '../request.js'
import type { PolicyResult, PolicySet, StoreResult, Target } from '../store.js'

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
  /** Whether units of a target may be taken ahead: not while local quotas hold. Default: always. */
  readonly mayTake?: (target: Target) => boolean
}

/** How often a key was asked for lately. */
class Demand {
  /** A request that takes units ahead is on its way. */
  isAsked = false
  /** The most that the next lease may be. */
  most = HOT
  #sinceUs: number
  #count = 0

  constructor(nowUs: number) {
    this.#sinceUs = nowUs
  }

  /** One more request. Returns how many there were within `holdUs`. */
  grow(nowUs: number, holdUs: number): number {
    if (nowUs - this.#sinceUs > holdUs) {
      this.#sinceUs = nowUs
      this.#count = 0
    }
    this.#count += 1
    return this.#count
  }
}

/** Units that are held, of one key. */
class Lease {
  left: number
  /** Ends the wait for its end. */
  cancel: () => void = () => {}
  readonly lastsUs: number
  readonly #request: LayerRequest
  /** As it is when all units are spent. */
  readonly #result: StoreResult
  readonly #askedUs: number
  /** When the last unit was spent, from when they were taken. */
  #spentAfterUs = 0

  constructor(request: LayerRequest, result: StoreResult, askedUs: number, holdMs: number) {
    this.#request = request
    this.#result = result
    this.#askedUs = askedUs
    this.left = result.granted
    // Until is counted in whole ms from an instant within one; a window itself ends at a whole ms.
    const endUs = Math.floor(Math.min(...result.untilUs) / 1_000) * 1_000
    // What was granted without the store goes back at once.
    this.lastsUs = result.degraded ? 0 : Math.min(holdMs * 1_000, endUs - result.nowUs)
  }

  get spent(): number {
    return this.#result.granted - this.left
  }

  /** The answer to a request; undefined: the lease is over, or not for it. */
  spend(request: LayerRequest, nowUs: number): StoreResult | undefined {
    // Counted from when the units were asked for, so never too little: Redis took them later.
    const afterUs = Math.ceil(nowUs - this.#askedUs)
    if (afterUs < this.#spentAfterUs || afterUs >= this.lastsUs) return undefined
    const isSame = request.target.policySet === this.#request.target.policySet
    if (!isSame || !isPlain(request)) return undefined
    this.left -= 1
    this.#spentAfterUs = afterUs
    return this.#spentLast()
  }

  /** What ends it: says when units were spent, and gives back what was taken. */
  corrections(): LayerRequest[] {
    const { granted, untilUs, nowUs, degraded } = this.#result
    const { target } = this.#request
    const costsOf = (count: number) => this.#request.costs.map(() => count)
    const isSpentLater = this.#spentAfterUs >= LEAST_US && this.spent > 0
    const all: LayerRequest[] = []
    if (isSpentLater) {
      const costs = costsOf(this.spent)
      const laterUs = this.#laterUs()
      all.push({ mode: 'reconcile', target, costs, count: 1, untilUs: laterUs, isForStore: true })
    }
    const back = isSpentLater ? granted : this.left
    if (back > 0) {
      // A reset ends a lease beforehand: what is taken in its instant is taken after it.
      const receipt = { untilUs, nowUs: nowUs + 1 }
      const refund = correctionOf('refund', target, costsOf(back), receipt)
      // Else units that were spent would be given back here, where nobody knows that they were.
      all.push({ ...refund, isForStore: !degraded })
    }
    return all
  }

  /** Until when units count that are spent now: as if they had been taken now. A window with one
   *  end ends when it does. */
  #laterUs(): number[] {
    const { untilUs, policies } = this.#result
    return untilUs.map((us, i) => (hasOneEnd(policies[i]) ? us : us + this.#spentAfterUs))
  }

  /** The answer to the unit that was spent last, as it stood before those that are left. */
  #spentLast(): StoreResult {
    const policies = this.#result.policies.map((each) => {
      const remaining = each.remaining + this.left
      // A window with one end has come nearer to it.
      const sooner = hasOneEnd(each) ? Math.floor(this.#spentAfterUs / 1_000) : 0
      const retryAfterMs = remaining > 0 ? 0 : each.retryAfterMs - sooner
      return { ...each, remaining, retryAfterMs, resetAfterMs: each.resetAfterMs - sooner }
    })
    const nowUs = this.#result.nowUs + this.#spentAfterUs
    const now = { granted: 1, nowUs, untilUs: this.#laterUs(), policies, sentAtMs: undefined }
    return { ...this.#result, ...now, source: 'lease' }
  }
}

/** What is known of a limiter's keys. */
class Keys {
  readonly leases: Map<string, Lease> = new Map()
  readonly demands: Recent<Demand> = new Recent(MAX_KEYS)
}

export interface LeaseLayer extends Layer {
  /** Ends all leases. */
  close(): void
}

export function withLeases(next: Layer, options: LeasesOptions): LeaseLayer {
  const { units, holdMs, time, clock, mayTake } = options
  const { of: keysOf, all } = perName(() => new Keys())

  const nowUs = (): number => clock?.nowUs() ?? time.nowMs() * 1_000

  /**
   * The answer to a request, out of a lease; undefined: there is none. Anything but a plain consume
   * ends the lease, so that Redis knows all when it is asked.
   */
  function answer(keys: Keys, id: string, request: LayerRequest): StoreResult | undefined {
    const lease = keys.leases.get(id)
    const result = lease?.spend(request, nowUs())
    if (lease !== undefined && (result === undefined || lease.left === 0)) end(keys, id)
    return result
  }

  /** Takes units ahead beside a request that goes to Redis, if its key is hot. */
  function takeAhead(keys: Keys, id: string, request: LayerRequest, askedUs: number): void {
    const { target } = request
    if (target.policyKeys !== undefined || !isPlain(request)) return
    const demand = keys.demands.get(id) ?? new Demand(askedUs)
    const asks = demand.grow(askedUs, holdMs * 1_000)
    if (asks === 1) keys.demands.set(id, demand)
    if (asks < HOT || demand.isAsked) return
    const count = Math.min(units, asks, demand.most, mostOf(target.policySet, holdMs))
    if (count < 2 || mayTake?.(target) === false) return
    demand.isAsked = true
    const held: Pending = {
      decided(result) {
        demand.isAsked = false
        if (result.granted > 0) hold(keys, id, new Lease(request, result, askedUs, holdMs))
      },
      failed() {
        demand.isAsked = false
      },
    }
    next.ask({ ...request, count }, held)
  }

  function hold(keys: Keys, id: string, lease: Lease): void {
    end(keys, id)
    keys.leases.set(id, lease)
    if (lease.lastsUs < LEAST_US) end(keys, id)
    else lease.cancel = time.after(holdMs, () => end(keys, id))
  }

  function end(keys: Keys, id: string): void {
    const lease = keys.leases.get(id)
    if (lease === undefined) return
    keys.leases.delete(id)
    lease.cancel()
    const demand = keys.demands.get(id)
    if (demand !== undefined) demand.most = Math.max(2, Math.ceil(lease.spent * GROWTH))
    for (const correction of lease.corrections()) next.ask(correction, IGNORED)
  }

  return {
    ask(request, pending) {
      const keys = keysOf(request.target.policySet)
      const id = idOf(request.target)
      const known = answer(keys, id, request)
      if (known !== undefined) {
        pending.decided(known)
        return
      }
      // Read before anything is asked: a clock of a user's may throw.
      const askedUs = nowUs()
      next.ask(request, pending)
      // Both travel in one call, and this one is granted last.
      takeAhead(keys, id, request, askedUs)
    },
    close() {
      for (const keys of all.values()) {
        for (const id of [...keys.leases.keys()]) end(keys, id)
      }
    },
  }
}

/** What must leave something to others takes nothing ahead: what lies unspent would be missing to
 *  those for whom it was left. */
function isPlain({ mode, costs, atLeast, keep }: LayerRequest): boolean {
  return mode === 'consume' && atLeast === undefined && keep === undefined && areOne(costs)
}

function hasOneEnd(of: PolicyResult | undefined): boolean {
  return of?.policy.kernel?.traits.hasOneEnd === true
}

function mostOf({ policies }: PolicySet, holdMs: number): number {
  let most = Number.POSITIVE_INFINITY
  for (const { limit, windowMs, kernel } of policies) {
    const isNever = kernel?.traits.drains || kernel?.traits.isAskedLast
    if (isNever || windowMs < 2 * holdMs) return 0
    most = Math.min(most, Math.floor(limit * PART))
  }
  return most
}
