// What a decision is while the store cannot make it, by what each of its policies is to do then.
// Local ones are decided by the same kernels in memory, with this process's part of each limit (its
// local quota), starting from what was last seen of a key, so that a switch gives nobody a new
// budget.

import { type Policy, policyAt, withLimit } from '../../algorithms/policy.js'
import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { idOf } from '../../base/key-text.js'
import type { Time } from '../../base/time.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import { makePolicySet, partOfRequest, partOfTarget } from '../../request.js'
import type {
  PolicyResult,
  PolicySet,
  StoreRequest,
  StoreResult,
  Target,
  WhenUnavailable,
} from '../../store.js'
import type { LayerRequest } from '../layer.js'
import { type Seen, textOfSet } from './last-seen.js'
import { type Peers, partOf } from './peers.js'

/** Keys that are decided locally, and remembered to be counted in the store, at the most. */
const MAX_KEYS = 10_000
/** Longer ones are not remembered: to count them takes their whole text. */
const LONGEST_KEY = 1_024
const OFTEN_US = 1_000_000

/** What was admitted locally under a key. */
export interface Admitted {
  readonly id: string
  readonly target: Target
  readonly units: number[]
  /** What was last seen of it in the store, before. */
  seen: Seen | undefined
  untilUs: readonly number[]
  /** Until when those counted that no longer do. */
  readonly overUs: number[]
  /** A request to count it in the store is under way. */
  isOnItsWay: boolean
}

export interface FallbackOptions {
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  readonly peers: () => Peers
  readonly time: Time
  /** For policies that say nothing. */
  readonly whenUnavailable: WhenUnavailable
}

/** What is decided here of a policy set. */
interface Quota {
  readonly of: Peers
  readonly each: readonly WhenUnavailable[]
  /**
   * The places of policies that count in memory. Those that deny do, too, for penalties and
   * refunds, which are not refused.
   */
  readonly places: readonly number[]
  /** The policies at these places, with this process's part of each limit. */
  readonly policySet: PolicySet
}

export class Fallback {
  readonly #store: MemoryStore
  readonly #options: FallbackOptions
  readonly #quotas: WeakMap<PolicySet, Quota> = new WeakMap()
  readonly #admitted: Map<string, Admitted> = new Map()
  readonly #textOf: (policySet: PolicySet) => string = memoized(textOfSet)
  /** Kept while anything is admitted here: what was counted with one part of a limit must not be
   *  judged by a larger one. */
  #peers: Peers = { count: 1, rank: 0 }
  #lookedUs = 0
  /** The store's time as this process knows it: its own clock, corrected by what the store says. */
  readonly #clock: Clock
  #aheadUs: number
  #notedUs = 0

  constructor(options: FallbackOptions) {
    const { time } = options
    this.#options = options
    this.#aheadUs = time.nowUs() - time.nowMs() * 1_000
    const clock = { nowUs: () => Math.floor(time.nowMs() * 1_000 + this.#aheadUs) }
    this.#clock = options.clock ?? clock
    const settings = { maxKeys: MAX_KEYS, keys: 'exact', slackMs: 0, time } as const
    this.#store = memoryStoreOf({ ...settings, clock: this.#clock })
  }

  get keys(): number {
    return this.#admitted.size
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
    if (each.includes('deny') && (mode === 'consume' || mode === 'peek')) {
      const unavailableMs = Math.max(1, Math.ceil(retryAfterMs))
      return { ...blank(request, 0), granted: 0, unavailableMs }
    }
    if (places.length === 0) return blank(request, Number.POSITIVE_INFINITY)
    const id = this.#idOf(target)
    let admitted = this.#admitted.get(id)
    if (admitted !== undefined) this.#dropExpired(admitted)
    // An entry may be of a request that failed by itself, long ago: the store has gone on counting.
    if (seen !== undefined && seen.nowUs > (admitted?.seen?.nowUs ?? Number.NEGATIVE_INFINITY)) {
      this.#start(target, quota, seen, admitted?.units)
      if (admitted !== undefined) admitted.seen = seen
    }
    admitted ??= this.#remember(id, target, seen)
    const part = { ...partOfRequest(request, places), target: localTarget(target, quota) }
    if (part.keep !== undefined) part.keep = keptOf(part.keep, request, quota)
    const result = wholeResult(request, places, this.#store.decide(part as StoreRequest))
    if (admitted !== undefined && result.granted > 0 && mode !== 'peek') {
      const costs = request.costs.map((cost, i) => (places.includes(i) ? cost : 0))
      const isGiven = mode === 'refund' || mode === 'cancel'
      take(admitted.units, costs, isGiven ? result.granted : -result.granted)
      admitted.untilUs = result.untilUs
    }
    return result
  }

  /** The store has said its time just now. Once a second is enough: clocks run alike. */
  noted(nowUs: number): void {
    if (Math.abs(nowUs - this.#notedUs) < OFTEN_US) return
    this.#notedUs = nowUs
    this.#aheadUs = nowUs - this.#options.time.nowMs() * 1_000
  }

  /**
   * The store has counted this: what was admitted here, or what was then decided here.
   * @param times below 0: the store had given back that many
   * @param untilUs until when it counts there: it may be of units whose window is over
   */
  counted({ target, costs }: LayerRequest, times: number, untilUs?: readonly number[]): void {
    const admitted = this.#admitted.get(this.#idOf(target))
    if (admitted === undefined) return
    this.#dropExpired(admitted)
    const counting = costs.map((cost, i) => {
      return isOver(untilUs?.[i], admitted.overUs[i] as number) ? 0 : cost
    })
    take(admitted.units, counting, times)
    if (mostOf(admitted) === 0) this.giveUp(admitted)
  }

  /** Units that no longer count are not counted with those of the next window. */
  #dropExpired({ units, untilUs, overUs }: Admitted): void {
    let nowUs = 0
    try {
      nowUs = this.#clock.nowUs()
    } catch {
      // A clock of a user's that went wrong: nothing is known to be over.
    }
    for (let i = 0; i < untilUs.length; i += 1) {
      if (!isOver(untilUs[i], nowUs)) continue
      units[i] = 0
      overUs[i] = untilUs[i] as number
    }
  }

  /** What is to be counted of the targets chosen and is not on its way, most units first. */
  due(isChosen: (admitted: Admitted) => boolean): Admitted[] {
    const some: Admitted[] = []
    for (const each of this.#admitted.values()) {
      if (each.isOnItsWay || !isChosen(each)) continue
      if (mostOf(each) > 0) some.push(each)
      else this.giveUp(each)
    }
    return some.sort((one, other) => mostOf(other) - mostOf(one))
  }

  giveUp({ id }: Admitted): void {
    this.#admitted.delete(id)
  }

  forget(target: Target): void {
    this.#admitted.delete(this.#idOf(target))
    this.#store.reset(localTarget(target, this.#quotaOf(target.policySet)))
  }

  close(): void {
    this.#store.close()
    this.#admitted.clear()
  }

  #idOf(target: Target): string {
    return `${this.#textOf(target.policySet)} ${idOf(target)}`
  }

  /** What this process has used of its part, so that no more is left than its part of what was. */
  #start(target: Target, quota: Quota, seen: Seen, units: readonly number[] = []): void {
    const used = quota.places.map((place, i) => {
      const part = quota.policySet.policies[i]?.limit as number
      // What was admitted here and is not counted yet comes on top of what the store has counted.
      const left = partOf(seen.remaining[place] as number, quota.of)
      return Math.min(part, Math.max(0, part - left) + (units[place] ?? 0))
    })
    const untilUs = quota.places.map((place) => seen.untilUs[place] as number)
    const local = { target: localTarget(target, quota), count: 1, untilUs }
    const { policies } = this.#store.decide({ ...local, mode: 'peek', costs: used })
    // What is counted here already, such as from an earlier outage, is a part of it.
    const missing = policies.map(({ limit, remaining }, i) =>
      Math.max(0, (used[i] as number) - (limit - remaining)),
    )
    this.#store.decide({ ...local, mode: 'reconcile', costs: missing })
  }

  /** A place for what is admitted under a key; undefined: there are too many, and it is not
   *  counted. */
  #remember(id: string, target: Target, seen: Seen | undefined): Admitted | undefined {
    if (this.keys >= MAX_KEYS) this.#forgetExpired()
    if (this.keys >= MAX_KEYS || target.key.length > LONGEST_KEY) return undefined
    const units = target.policySet.policies.map(() => 0)
    const overUs = units.map(() => 0)
    const admitted = { id, target, units, seen, untilUs: [], overUs, isOnItsWay: false }
    this.#admitted.set(id, admitted)
    return admitted
  }

  /** What is over need not be counted. Looked through once a second at the most. */
  #forgetExpired(): void {
    const nowUs = this.#clock.nowUs()
    if (nowUs < this.#lookedUs + OFTEN_US) return
    this.#lookedUs = nowUs
    for (const each of this.#admitted.values()) {
      if (each.untilUs.every((untilUs) => untilUs <= nowUs)) this.giveUp(each)
    }
  }

  #quotaOf(policySet: PolicySet): Quota {
    const now = this.#options.peers()
    if (this.keys === 0 || now.count > this.#peers.count) this.#peers = now
    const of = this.#peers
    let quota = this.#quotas.get(policySet)
    if (quota?.of.count !== of.count || quota.of.rank !== of.rank) {
      const otherwise = this.#options.whenUnavailable
      const each = policySet.policies.map((_, i) => policySet.whenUnavailable?.[i] ?? otherwise)
      const places = each.flatMap((when, i) => (when === 'allow' ? [] : [i]))
      const policies = places.map((place) => {
        const policy = policySet.policies[place] as Policy
        return withLimit(policy, partOf(policy.limit, of))
      })
      quota = { of, each, places, policySet: makePolicySet(policySet.name, policies) }
      this.#quotas.set(policySet, quota)
    }
    return quota
  }
}

function localTarget(target: Target, { places, policySet }: Quota): Target {
  return { ...partOfTarget(target, places), policySet }
}

function isOver(untilUs: number | undefined, nowUs: number): boolean {
  return untilUs !== undefined && Math.floor(untilUs / 1_000) <= Math.floor(nowUs / 1_000)
}

/** This process's part of what must remain, rounded up, so that the parts of all are enough. */
function keptOf(
  keep: readonly number[],
  { target }: LayerRequest,
  { places, policySet }: Quota,
): readonly number[] {
  return keep.map((kept, i) => {
    const whole = target.policySet.policies[places[i] as number]?.limit as number
    const part = policySet.policies[i]?.limit as number
    return whole > 0 ? Math.ceil((kept * part) / whole) : 0
  })
}

function mostOf({ units }: Admitted): number {
  return Math.max(...units)
}

/** Takes `times` the costs from the units, as far as there are any. */
function take(units: number[], costs: readonly number[], times: number): void {
  for (let i = 0; i < costs.length; i += 1) {
    units[i] = Math.max(0, (units[i] as number) - times * (costs[i] as number))
  }
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
    const policy = policyAt(own.policy, result.nowUs)
    const isFar = each.retryAfterMs === Number.POSITIVE_INFINITY
    const isLater = isFar && each.cost + (request.keep?.[place] ?? 0) <= limit
    const retryAfterMs = isLater ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs
    return { ...each, policy, limit, retryAfterMs }
  })
  const until = untilUs.map((none, place) => result.untilUs[places.indexOf(place)] ?? none)
  return { ...result, policies: placed, untilUs: until, source: 'local', degraded: true }
}
