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

import { perName, Recent } from '../base/cache.js'
import type { Clock } from '../base/clock.js'
import { idOf } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import { IGNORED, type Layer, type LayerRequest } from '../layer.js'
import { areOne } from '../request.js'
import type { PolicySet, StoreResult, Target } from '../store.js'

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
interface Demand {
  sinceUs: number
  count: number
  /** A request that takes units ahead is on its way. */
  isAsked: boolean
  /** The most that the next lease may be. */
  most: number
}

interface Taken {
  readonly demand: Demand
  readonly request: LayerRequest
  /** As it is when all units are spent. */
  readonly result: StoreResult
  readonly askedUs: number
}

interface Lease extends Taken {
  readonly lastsUs: number
  left: number
  /** When the last unit was spent, from when they were taken. */
  spentAfterUs: number
  cancel(): void
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

  function nowUs(): number {
    return clock?.nowUs() ?? time.nowMs() * 1_000
  }

  /**
   * The answer to a request, out of a lease; undefined: there is none. Anything but a plain consume
   * ends the lease, so that Redis knows all when it is asked.
   */
  function answer(keys: Keys, id: string, request: LayerRequest): StoreResult | undefined {
    const lease = keys.leases.get(id)
    if (lease === undefined) return undefined
    // Counted from when the units were asked for, so never too little: Redis took them later.
    const afterUs = Math.ceil(nowUs() - lease.askedUs)
    const isOver = afterUs < lease.spentAfterUs || afterUs >= lease.lastsUs
    const isSame = request.target.policySet === lease.request.target.policySet
    if (isOver || !isSame || !isPlain(request)) {
      end(keys, id)
      return undefined
    }
    lease.left -= 1
    lease.spentAfterUs = afterUs
    if (lease.left === 0) end(keys, id)
    return spentOf(lease)
  }

  /** Takes units ahead beside a request that goes to Redis, if its key is hot. */
  function takeAhead(keys: Keys, id: string, request: LayerRequest, askedUs: number): void {
    const { target } = request
    if (target.policyKeys !== undefined || !isPlain(request)) return
    let demand = keys.demands.get(id)
    if (demand === undefined) {
      demand = { sinceUs: askedUs, count: 0, isAsked: false, most: HOT }
      keys.demands.set(id, demand)
    }
    if (askedUs - demand.sinceUs > holdMs * 1_000) {
      demand.sinceUs = askedUs
      demand.count = 0
    }
    demand.count += 1
    if (demand.count < HOT || demand.isAsked) return
    const count = Math.min(units, demand.count, demand.most, mostOf(target.policySet, holdMs))
    if (count < 2 || mayTake?.(target) === false) return
    const asked = demand
    asked.isAsked = true
    next.ask(
      { ...request, count },
      {
        decided(result) {
          asked.isAsked = false
          if (result.granted > 0) hold(keys, id, { demand: asked, request, result, askedUs })
        },
        failed() {
          asked.isAsked = false
        },
      },
    )
  }

  function hold(keys: Keys, id: string, taken: Taken): void {
    end(keys, id)
    const { result } = taken
    // Until is counted in whole ms from an instant within one; a window itself ends at a whole ms.
    const endUs = Math.floor(Math.min(...result.untilUs) / 1_000) * 1_000
    const resetUs = endUs - result.nowUs
    // What was granted without the store goes back at once.
    const lastsUs = result.degraded ? 0 : Math.min(holdMs * 1_000, resetUs)
    const cancel = lastsUs < LEAST_US ? () => {} : time.after(holdMs, () => end(keys, id))
    const left = result.granted
    keys.leases.set(id, { ...taken, lastsUs, left, spentAfterUs: 0, cancel })
    if (lastsUs < LEAST_US) end(keys, id)
  }

  /** Gives back what is left, and says when the rest was spent. */
  function end(keys: Keys, id: string): void {
    const lease = keys.leases.get(id)
    if (lease === undefined) return
    keys.leases.delete(id)
    lease.cancel()
    const { demand, request, result, left, spentAfterUs } = lease
    const { granted, untilUs, nowUs, degraded } = result
    const spent = granted - left
    demand.most = Math.max(2, Math.ceil(spent * GROWTH))
    const tell = (count: number) => {
      return { target: request.target, costs: request.costs.map(() => count), count: 1 }
    }
    const isSpentLater = spentAfterUs >= LEAST_US && spent > 0
    if (isSpentLater) {
      const laterUs = laterOf(lease)
      const reconcile = { ...tell(spent), mode: 'reconcile', untilUs: laterUs } as const
      next.ask({ ...reconcile, isForStore: true }, IGNORED)
    }
    const back = isSpentLater ? granted : left
    if (back === 0) return
    // A reset ends a lease beforehand: what is taken in its instant is taken after it.
    const receipt = { untilUs, seenUs: nowUs + 1 }
    // Else units that were spent would be given back here, where nobody knows that they were.
    const isForStore = !degraded
    next.ask({ ...tell(back), ...receipt, mode: 'refund', isForStore }, IGNORED)
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

/** Until when units count that are spent now: as if they had been taken now. A window with one end
 *  ends when it does. */
function laterOf({ result, spentAfterUs }: Lease): number[] {
  return result.untilUs.map((untilUs, i) => {
    const hasOneEnd = result.policies[i]?.policy.kernel?.traits.hasOneEnd
    return hasOneEnd ? untilUs : untilUs + spentAfterUs
  })
}

/** The answer to the unit that was spent last, as it stood before those that are left. */
function spentOf(lease: Lease): StoreResult {
  const { result, left, spentAfterUs } = lease
  const policies = result.policies.map((each) => {
    const remaining = each.remaining + left
    // A window with one end has come nearer to it.
    const hasOneEnd = each.policy.kernel?.traits.hasOneEnd
    const sooner = hasOneEnd ? Math.floor(spentAfterUs / 1_000) : 0
    const retryAfterMs = remaining > 0 ? 0 : each.retryAfterMs - sooner
    return { ...each, remaining, retryAfterMs, resetAfterMs: each.resetAfterMs - sooner }
  })
  const nowUs = result.nowUs + spentAfterUs
  const untilUs = laterOf(lease)
  return { ...result, granted: 1, nowUs, untilUs, policies, source: 'lease', sentAtMs: undefined }
}

function mostOf({ policies }: PolicySet, holdMs: number): number {
  let most = Number.POSITIVE_INFINITY
  for (const { limit, windowMs, kernel } of policies) {
    if (kernel?.traits.drains || windowMs < 2 * holdMs) return 0
    most = Math.min(most, Math.floor(limit * PART))
  }
  return most
}
