// What a decision is while the store cannot make it, by what each of its policies is to do then.
// Local ones are decided by the same kernels in memory, with this process's part of each limit (its
// local quota), starting from what was last seen of a key, so that a switch gives nobody a new
// budget; or by a policy for outages, which begins with nothing.

import { traitsOf } from '../../algorithms/modes.js'
import { type Policy, policyAt } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { LayerRequest } from '../../layer.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import { partOfRequest } from '../../request.js'
import type { PolicyResult, PolicySet, StoreRequest, StoreResult, Target } from '../../store.js'
import { Ledger } from './admitted.js'
import type { Seen } from './last-seen.js'
import { type Peers, partOf } from './peers.js'
import {
  keptOf,
  type LocalPart,
  latestUs,
  localTarget,
  type QuotaOptions,
  Quotas,
} from './quota.js'

const OFTEN_US = 1_000_000

export interface FallbackOptions extends QuotaOptions {
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  readonly time: Time
  /** The most keys of each policy that are decided here, and of all that are yet to be counted. */
  readonly maxLocalKeys: number
}

export class Fallback {
  /** What was admitted here. */
  readonly ledger: Ledger
  readonly #store: MemoryStore
  readonly #options: FallbackOptions
  readonly #quotas: Quotas
  #aheadUs: number
  #notedUs = 0

  constructor(options: FallbackOptions) {
    const { time, maxLocalKeys: maxKeys } = options
    this.#options = options
    this.#quotas = new Quotas(options)
    this.#aheadUs = time.nowUs() - time.nowMs() * 1_000
    // The store's time as this process knows it: its own clock, corrected by what the store says.
    const known = { nowUs: () => Math.floor(time.nowMs() * 1_000 + this.#aheadUs) }
    const clock = options.clock ?? known
    this.ledger = new Ledger(clock, maxKeys)
    this.#store = memoryStoreOf({ maxKeys, keys: 'exact', slackMs: 0, time, clock })
  }

  /**
   * Decides a request without the store. One policy that is to throw or deny decides for all; those
   * to be decided locally decide if there are any.
   * @param seen what was last seen of its target in the store
   * @param retryAfterMs when it may be worth asking the store again
   * @throws {Error} the cause, if a policy is to throw
   */
  decide(
    request: LayerRequest,
    seen: Seen | undefined,
    cause: Error,
    retryAfterMs: number,
  ): StoreResult {
    const { mode, target } = request
    const quota = this.#quotas.of(target.policySet, this.ledger.keys > 0)
    const { each, places } = quota
    if (each.includes('throw')) throw cause
    if (each.includes('deny') && traitsOf(mode).judges) {
      const unavailableMs = Math.max(1, Math.ceil(retryAfterMs))
      return { ...blank(request, 0), granted: 0, unavailableMs }
    }
    if (places.length === 0) return blank(request, Number.POSITIVE_INFINITY)
    for (const place of places) {
      const units = request.costs[place] as number
      this.ledger.of(target, place) ?? this.ledger.remember(target, place, units)
    }
    if (seen !== undefined) this.#startWith(target, quota, quota.of, seen)
    const result = this.#inMemory(request, quota)
    const counted = quota.isOwn ? lasting(result, quota) : result
    this.ledger.decided(request, places, counted)
    return quota.isOwn ? shorter(result, counted) : result
  }

  /** Whether a local quota may be a ceiling for requests of a policy set. */
  hasCeiling(policySet: PolicySet): boolean {
    return this.#quotas.of(policySet, this.ledger.keys > 0).ceiling !== undefined
  }

  /**
   * What the ceiling says of a request.
   * @param seen what was last seen of its target before the store was back
   */
  underCeiling(request: LayerRequest, seen: Seen | undefined): StoreResult {
    const { target } = request
    const quota = this.#quotas.of(target.policySet, this.ledger.keys > 0)
    const part = quota.ceiling ?? quota
    if (seen !== undefined) this.#startWith(target, part, quota.of, seen)
    return this.#inMemory(request, part)
  }

  /** Does under the ceiling what the store has done. */
  mirror(request: LayerRequest): void {
    const { ceiling } = this.#quotas.of(request.target.policySet, this.ledger.keys > 0)
    if (ceiling !== undefined) this.#inMemory(request, ceiling)
  }

  #inMemory(request: LayerRequest, local: LocalPart): StoreResult {
    const target = localTarget(request.target, local)
    const part = { ...partOfRequest(request, local.places), target }
    if (part.keep !== undefined) part.keep = keptOf(part.keep, request, local)
    // A turn is one of the policy that was asked for.
    if (local.isOwn) part.maxWaitMs = undefined
    return wholeResult(request, local.places, this.#store.decide(part as StoreRequest))
  }

  /** The store has said its time just now. Once a second is enough: clocks run alike. */
  noted(nowUs: number): void {
    if (Math.abs(nowUs - this.#notedUs) < OFTEN_US) return
    this.#notedUs = nowUs
    this.#aheadUs = nowUs - this.#options.time.nowMs() * 1_000
  }

  forget(target: Target): void {
    this.ledger.forgetAll(target)
    const quota = this.#quotas.of(target.policySet, this.ledger.keys > 0)
    this.#store.reset(localTarget(target, quota))
  }

  close(): void {
    this.#store.close()
    this.ledger.clear()
  }

  /**
   * Has memory begin with what was last seen of each counter, unless it did so with something
   * newer. An entry may be of a request that failed by itself, long ago: the store has gone on
   * counting.
   */
  #startWith(target: Target, local: LocalPart, of: Peers, seen: Seen): void {
    const nowUs = this.ledger.nowUs()
    const used = local.places.map((place, i) => {
      const admitted = this.ledger.of(target, place)
      if (seen.nowUs <= (admitted?.seen?.seenUs ?? Number.NEGATIVE_INFINITY)) return 0
      if (admitted !== undefined) this.ledger.saw(admitted, target, place, seen)
      if (typeof local.each[place] === 'object') return 0
      const part = local.policySet.policies[i]?.limit as number
      const left = partOf(
        leftOf(target.policySet.policies[place] as Policy, place, seen, nowUs),
        of,
      )
      // What was admitted here and is not counted yet comes on top of what the store has counted.
      return Math.min(part, Math.max(0, part - left) + Math.ceil(admitted?.units ?? 0))
    })
    if (used.every((units) => units === 0)) return
    const untilUs = local.places.map((place) => seen.untilUs[place] as number)
    this.#take(used, localTarget(target, local), untilUs)
  }

  /** What this process has used of its part, so that no more is left than its part of what was. */
  #take(used: readonly number[], target: Target, untilUs: readonly number[]): void {
    const local = { target, count: 1 }
    const { policies } = this.#store.decide({ ...local, mode: 'peek', costs: used })
    // What is counted here already, such as from an earlier outage, is a part of it.
    const missing = policies.map(({ limit, remaining }, i) =>
      Math.max(0, (used[i] as number) - (limit - remaining)),
    )
    this.#store.decide({ ...local, mode: 'reconcile', costs: missing, untilUs })
  }
}

/** What is left by now of what was last seen: a bucket drains meanwhile. */
function leftOf(
  { limit, unitMs, kernel }: Policy,
  place: number,
  { remaining, untilUs }: Seen,
  nowUs: number,
): number {
  const left = remaining[place] as number
  if (kernel?.traits.drains !== true) return left
  const usedMs = Math.max(0, (untilUs[place] as number) - nowUs) / 1_000
  return Math.max(left, limit - Math.ceil(usedMs / unitMs))
}

/** A result that knows nothing: all of each limit is left, or nothing. */
function blank({ target, costs, count }: LayerRequest, most: number): StoreResult {
  const policies = target.policySet.policies.map((policy, i): PolicyResult => {
    const remaining = Math.min(most, policy.limit)
    const cost = costs[i] as number
    return { policy, cost, limit: policy.limit, remaining, retryAfterMs: 0, resetAfterMs: 0 }
  })
  const untilUs = policies.map(() => 0)
  return { granted: count, nowUs: 0, untilUs, policies, source: 'local', degraded: true }
}

/**
 * The result for all policies that memory's is for those at these places, as they were given; a
 * part that is too small for the cost is no reason to deny for ever.
 */
function wholeResult(
  request: LayerRequest,
  places: readonly number[],
  result: StoreResult,
): StoreResult {
  const { policies, untilUs } = blank(request, Number.POSITIVE_INFINITY)
  const placed = policies.map((own, place): PolicyResult => {
    const each = result.policies[places.indexOf(place)]
    if (each === undefined) return own
    const { limit } = own
    const remaining = Math.min(limit, each.remaining)
    const policy = policyAt(own.policy, result.nowUs)
    const isFar = each.retryAfterMs === Number.POSITIVE_INFINITY
    const isLater = isFar && each.cost + (request.keep?.[place] ?? 0) <= limit
    const retryAfterMs = isLater ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs
    return { ...each, policy, limit, remaining, retryAfterMs }
  })
  const until = untilUs.map((none, place) => result.untilUs[places.indexOf(place)] ?? none)
  return { ...result, policies: placed, untilUs: until, source: 'local', degraded: true }
}

/** What policies for outages have admitted, as the policies that they stand for count it. */
function lasting(result: StoreResult, { each }: LocalPart): StoreResult {
  const untilUs = result.policies.map(({ policy }, i) =>
    typeof each[i] === 'object' ? latestUs(policy, result.nowUs) : (result.untilUs[i] as number),
  )
  return { ...result, untilUs }
}

/** Units are given back no longer than they count both here and in the store. */
function shorter(result: StoreResult, counted: StoreResult): StoreResult {
  const untilUs = result.untilUs.map((us, i) => Math.min(us, counted.untilUs[i] as number))
  return { ...result, untilUs }
}
