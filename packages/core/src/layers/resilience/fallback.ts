// Decides while the store cannot, as each policy's `whenUnavailable` says. Local policies are
// decided by the same kernels in memory, with this process's part of each limit (its local quota),
// starting from what was last seen of a key. A policy for outages starts from nothing.

import { seenUnits } from '../../algorithms/block-code.js'
import { traitsOf } from '../../algorithms/modes.js'
import { type Policy, policyAt } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { LayerRequest } from '../../layer.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import { partOfRequest, withoutNames } from '../../request.js'
import type { PolicyResult, PolicySet, StoreRequest, StoreResult, Target } from '../../store.js'
import type { Seen } from './last-seen.js'
import { isSettledInStore, Ledger } from './ledger.js'
import { partOf } from './peers.js'
import {
  keptOf,
  type LocalPart,
  latestUs,
  localTarget,
  type Quota,
  type QuotaOptions,
  quotasBy,
} from './quota.js'
import { lockoutSeen } from './restoring.js'
import { type StoreTime, storeTimeIn } from './store-time.js'

export interface FallbackOptions extends QuotaOptions {
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  readonly time: Time
  /** The most keys of each policy that are decided here, and the most keys of all policies that are
   *  yet to be counted in the store. */
  readonly maxLocalKeys: number
}

export class Fallback {
  /** What was admitted here. */
  readonly ledger: Ledger
  readonly storeTime: StoreTime
  readonly #store: MemoryStore
  readonly #quotaOf: (policySet: PolicySet) => Quota

  constructor(options: FallbackOptions) {
    const { time, maxLocalKeys: maxKeys } = options
    this.storeTime = storeTimeIn(time)
    const clock = options.clock ?? this.storeTime
    this.ledger = new Ledger(clock, maxKeys)
    this.#quotaOf = quotasBy(options, () => this.ledger.keys > 0)
    this.#store = memoryStoreOf({ maxKeys, keys: 'exact', slackMs: 0, time, clock })
  }

  /**
   * Decides a request without the store. A policy that throws or denies decides for all; otherwise,
   * the local policies decide, if there are any.
   * @param seen what was last seen of its target in the store
   * @param retryAfterMs when it may be worth asking the store again
   * @throws {Error} the cause, if a policy throws
   */
  decide(
    request: LayerRequest,
    seen: Seen | undefined,
    cause: Error,
    retryAfterMs: number,
  ): StoreResult {
    const { mode, target } = request
    const quota = this.#quotaOf(target.policySet)
    const { each, places } = quota
    if (each.includes('throw')) throw cause
    if (each.includes('deny') && traitsOf(mode).judges) {
      const unavailableMs = Math.max(1, Math.ceil(retryAfterMs))
      return { ...blank(request, 0), granted: 0, unavailableMs }
    }
    for (const place of places) {
      const units = request.costs[place] as number
      this.ledger.of(target, place) ?? this.ledger.remember(target, place, units)
    }
    const result = this.#inMemory(request, quota, seen)
    const counted = quota.isOwn ? lasting(result, quota) : result
    this.ledger.decided(request, places, counted)
    return withoutNames(quota.isOwn ? shorter(result, counted) : result, places)
  }

  /** Whether a local quota may be a ceiling for requests of a policy set. */
  hasCeiling(policySet: PolicySet): boolean {
    return this.#quotaOf(policySet).ceiling !== undefined
  }

  /**
   * What the ceiling says of a request.
   * @param seen what was last seen of its target before the store was back
   */
  underCeiling(request: LayerRequest, seen: Seen | undefined): StoreResult {
    const quota = this.#quotaOf(request.target.policySet)
    return this.#inMemory(request, quota.ceiling ?? quota, seen)
  }

  /** Repeats under the ceiling what the store has done. */
  mirror(request: LayerRequest): void {
    const { ceiling } = this.#quotaOf(request.target.policySet)
    if (ceiling !== undefined) this.#inMemory(request, ceiling, undefined)
  }

  /** Ends, in this process, the blocks that the store has ended. */
  unblock(request: LayerRequest): void {
    this.#inMemory(request, this.#quotaOf(request.target.policySet), undefined)
  }

  forget(target: Target): void {
    this.ledger.forgetAll(target)
    this.#store.reset(localTarget(target, this.#quotaOf(target.policySet)))
  }

  close(): void {
    this.#store.close()
  }

  #inMemory(request: LayerRequest, local: LocalPart, seen: Seen | undefined): StoreResult {
    if (seen !== undefined) this.#carryOver(request.target, local, seen)
    const target = localTarget(request.target, local)
    const part = { ...partOfRequest(request, local.places), target }
    if (part.keep !== undefined) part.keep = keptOf(part.keep, request, local)
    // A turn is reserved under the policy that was asked for, not under the one for outages.
    if (local.isOwn) part.maxWaitMs = undefined
    return wholeResult(request, local.places, this.#store.decide(part as StoreRequest))
  }

  /**
   * An outage gives nobody a new budget: memory begins with what was last seen of each counter in
   * the store, unless it has begun with something newer. An entry of the ledger may come from one
   * request that failed long ago, and the store has gone on counting since.
   */
  #carryOver(target: Target, local: LocalPart, seen: Seen): void {
    const nowUs = this.ledger.nowUs()
    const untilUs = local.places.map((place) => seen.untilUs[place] as number)
    /** What to restore for lock-outs, whose state is more than units. */
    const lockouts = local.places.map(() => 0)
    const used = local.places.map((place, i) => {
      const admitted = this.ledger.of(target, place)
      if (seen.nowUs <= (admitted?.seen?.seenUs ?? Number.NEGATIVE_INFINITY)) return 0
      if (admitted !== undefined) this.ledger.saw(admitted, target, place, seen)
      if (typeof local.each[place] === 'object') return 0
      const part = local.policySet.policies[i]?.limit as number
      const policy = target.policySet.policies[place] as Policy
      const left = partOf(leftOf(policy, place, seen, nowUs), local.of)
      if (policy.kernel?.traits.blocks) {
        const state = lockoutSeen(policy, place, seen)
        untilUs[i] = state.untilUs
        lockouts[i] = seenUnits(Math.max(0, part - left), state)
        return 0
      }
      // Units that were admitted here and are not counted yet add to those that the store has
      // counted.
      return Math.min(part, Math.max(0, part - left) + Math.ceil(admitted?.units ?? 0))
    })
    const counted = { target: localTarget(target, local), count: 1 }
    // Without `seenUs`: with it, memory would restore no block that was seen before memory's last
    // refund, such as a refund of what the store denied while a node was half-open.
    if (lockouts.some((units) => units > 0))
      this.#store.decide({ ...counted, mode: 'restore', costs: lockouts, untilUs })
    if (used.every((units) => units === 0)) return
    const { policies } = this.#store.decide({ ...counted, mode: 'peek', costs: used })
    // Leaves no more than this process's part of what was left. Units that are counted here
    // already, such as from an earlier outage, are among those used.
    const missing = policies.map(({ limit, remaining }, i) =>
      Math.max(0, (used[i] as number) - (limit - remaining)),
    )
    this.#store.decide({ ...counted, mode: 'reconcile', costs: missing, untilUs })
  }
}

/** Whether a request concerns only what the store itself holds, so that nothing else answers it. */
export function isAboutStore({ mode, isForStore }: LayerRequest): boolean {
  return isForStore === true || traitsOf(mode).isForStore
}

/**
 * A request as it is decided without the store. A settlement gives units back only in the store,
 * and units that the store may have given back are not given back again.
 * @param mayBeDone whether the store may have done it, though it has not said so
 */
export function localRequest(request: LayerRequest, mayBeDone: boolean): LayerRequest {
  const { takes, gives, givesOnly } = traitsOf(request.mode)
  if (takes && gives) return chargeOf(request)
  return givesOnly && mayBeDone
    ? { ...chargeOf(request), costs: request.costs.map(() => 0) }
    : withLocalNames(request)
}

/** Names slots as this process knows them, where it has renewed them without the store. */
export function withLocalNames(request: LayerRequest): LayerRequest {
  const { localUntilUs } = request
  if (localUntilUs === undefined) return request
  return { ...request, untilUs: localUntilUs, localUntilUs: undefined } as LayerRequest
}

/** What a request charges, without what it gives back, and without what is settled later. */
export function chargeOf(request: LayerRequest): LayerRequest {
  const { target, costs, count, deadlineAtMs } = request
  const charged = costs.map((cost, i) => (isSettledInStore(request, i) ? 0 : Math.max(0, cost)))
  return { mode: 'penalty', target, costs: charged, count, deadlineAtMs }
}

/** What is left now of what was last seen: a bucket has drained since. */
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

// Results are for all policies of a set, as they were given, although memory has decided by some of
// them and by parts of their limits.

/** A result where nothing is known: of each limit, at most `most` is left. */
function blank({ target, costs, count }: LayerRequest, most: number): StoreResult {
  const policies = target.policySet.policies.map((policy, i): PolicyResult => {
    const remaining = Math.min(most, policy.limit)
    const cost = costs[i] as number
    return { policy, cost, limit: policy.limit, remaining, retryAfterMs: 0, resetAfterMs: 0 }
  })
  const untilUs = policies.map(() => 0)
  return { granted: count, nowUs: 0, untilUs, policies, source: 'local', degraded: true }
}

/** Extends memory's result, for the policies at these places, to all policies. A part of a limit
 *  that is too small for the cost is no reason to deny for ever. */
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

/** A result of policies for outages: its units count for as long as the policies that were replaced
 *  may count them. */
function lasting(result: StoreResult, { each }: LocalPart): StoreResult {
  const untilUs = result.policies.map(({ policy }, i) =>
    typeof each[i] === 'object' ? latestUs(policy, result.nowUs) : (result.untilUs[i] as number),
  )
  return { ...result, untilUs }
}

/** Units can be given back only while they count both here and in the store. */
function shorter(result: StoreResult, counted: StoreResult): StoreResult {
  const untilUs = result.untilUs.map((us, i) => Math.min(us, counted.untilUs[i] as number))
  return { ...result, untilUs }
}
