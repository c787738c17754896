// What a decision is while the store cannot make it, by what each of its policies is to do then.
// Local ones are decided by the same kernels in memory, with this process's part of each limit (its
// local quota), starting from what was last seen of a key; or by a policy for outages, which begins
// with nothing.

import { traitsOf } from '../../algorithms/modes.js'
import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { LayerRequest } from '../../layer.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import { partOfRequest } from '../../request.js'
import type { PolicySet, StoreRequest, StoreResult, Target } from '../../store.js'
import { carryOver } from './carry-over.js'
import type { Seen } from './last-seen.js'
import { Ledger } from './ledger.js'
import { blank, lasting, shorter, wholeResult } from './local-results.js'
import {
  keptOf,
  type LocalPart,
  localTarget,
  type Quota,
  type QuotaOptions,
  quotasBy,
} from './quota.js'
import { type StoreTime, storeTimeIn } from './store-time.js'

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
    const quota = this.#quotaOf(target.policySet)
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
    const result = this.#inMemory(request, quota, seen)
    const counted = quota.isOwn ? lasting(result, quota) : result
    this.ledger.decided(request, places, counted)
    return quota.isOwn ? shorter(result, counted) : result
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

  /** Does under the ceiling what the store has done. */
  mirror(request: LayerRequest): void {
    const { ceiling } = this.#quotaOf(request.target.policySet)
    if (ceiling !== undefined) this.#inMemory(request, ceiling, undefined)
  }

  forget(target: Target): void {
    this.ledger.forgetAll(target)
    this.#store.reset(localTarget(target, this.#quotaOf(target.policySet)))
  }

  close(): void {
    this.#store.close()
    this.ledger.clear()
  }

  #inMemory(request: LayerRequest, local: LocalPart, seen: Seen | undefined): StoreResult {
    if (seen !== undefined) carryOver(this.#store, this.ledger, request.target, local, seen)
    const target = localTarget(request.target, local)
    const part = { ...partOfRequest(request, local.places), target }
    if (part.keep !== undefined) part.keep = keptOf(part.keep, request, local)
    // A turn is one of the policy that was asked for.
    if (local.isOwn) part.maxWaitMs = undefined
    return wholeResult(request, local.places, this.#store.decide(part as StoreRequest))
  }
}

/** Whether a request concerns only what the store itself holds, so that nothing else answers it. */
export function isAboutStore({ mode, isForStore }: LayerRequest): boolean {
  return isForStore === true || traitsOf(mode).isForStore
}

/**
 * What a settlement gives back is given back in the store alone; and what the store may have given
 * back is not given back a second time.
 * @param mayBeDone whether the store may have done it, though it has not said so
 */
export function localRequest(request: LayerRequest, mayBeDone: boolean): LayerRequest {
  const { takes, gives, givesOnly } = traitsOf(request.mode)
  if (takes && gives) return chargeOf(request)
  return givesOnly && mayBeDone
    ? { ...chargeOf(request), costs: request.costs.map(() => 0) }
    : request
}

/** What a request charges, without what it gives back. */
export function chargeOf({ target, costs, count, deadlineAtMs }: LayerRequest): LayerRequest {
  const charged = costs.map((cost) => Math.max(0, cost))
  return { mode: 'penalty', target, costs: charged, count, deadlineAtMs }
}
