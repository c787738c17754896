// Decisions while the store cannot make them: the same kernels in memory, with this process's part
// of each limit (its local quota), starting from what was last seen of a key, so that a switch
// gives nobody a new budget.

import { type Policy, withLimit } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import { idOf } from '../../base/key-text.js'
import type { Time } from '../../base/time.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import { makePolicySet } from '../../request.js'
import type { PolicyResult, PolicySet, StoreRequest, StoreResult, Target } from '../../store.js'
import type { LayerRequest } from '../layer.js'
import type { Seen } from './last-seen.js'
import { type Peers, partOf } from './peers.js'

/** Keys that are decided locally, and remembered to be counted in the store, at the most. */
const MAX_KEYS = 10_000
/** Longer ones are not remembered: to count them takes their whole text. */
const LONGEST_KEY = 1_024

/** What was admitted locally under a key. */
export interface Admitted {
  readonly target: Target
  readonly units: number[]
  /** What was last seen of it in the store, before. */
  seen: Seen | undefined
  untilUs: readonly number[]
}

export interface FallbackOptions {
  /** The store's time, as well as this process knows it. */
  readonly clock: Clock
  readonly peers: () => Peers
  readonly time: Time
}

export class Fallback {
  readonly #store: MemoryStore
  readonly #options: FallbackOptions
  readonly #quotas: WeakMap<PolicySet, { readonly of: Peers; readonly policySet: PolicySet }> =
    new WeakMap()
  readonly #admitted: Map<PolicySet, Map<string, Admitted>> = new Map()
  #keys = 0
  /** Kept while anything is admitted here: what was counted with one part of a limit must not be
   *  judged by a larger one. */
  #peers: Peers = { count: 1, rank: 0 }
  #lookedUs = 0

  constructor(options: FallbackOptions) {
    const { clock, time } = options
    this.#options = options
    this.#store = memoryStoreOf({ clock, maxKeys: MAX_KEYS, keys: 'exact', slackMs: 0, time })
  }

  get keys(): number {
    return this.#keys
  }

  /**
   * Decides a request locally.
   * @param seen what was last seen of its target in the store
   */
  decide(request: LayerRequest, seen: Seen | undefined): StoreResult {
    const { target } = request
    const policySet = this.#quotaOf(target.policySet)
    const id = idOf(target)
    let admitted = this.#admitted.get(target.policySet)?.get(id)
    // An entry may be of a request that failed by itself, long ago: the store has gone on counting.
    if (seen !== undefined && seen.nowUs > (admitted?.seen?.nowUs ?? Number.NEGATIVE_INFINITY)) {
      this.#start(target, policySet, seen, admitted?.units)
      if (admitted !== undefined) admitted.seen = seen
    }
    admitted ??= this.#remember(target, seen)
    const local = { ...request, target: { ...target, policySet } } as StoreRequest
    const result = this.#store.decide(local)
    if (admitted !== undefined && result.granted > 0) note(admitted, request, result)
    return degraded(target, result)
  }

  /**
   * The store had counted requests that were then decided here: they are counted already.
   * @param granted below 0: the store had given back that many
   */
  countedAfterAll({ target, costs }: LayerRequest, granted: number): void {
    const admitted = this.#admitted.get(target.policySet)?.get(idOf(target))
    if (admitted !== undefined) take(admitted.units, costs, granted)
  }

  /** What was handed over could not be counted: it is to be counted later, with what came since. */
  putBack({ target, units, seen, untilUs }: Admitted): void {
    const admitted =
      this.#admitted.get(target.policySet)?.get(idOf(target)) ?? this.#remember(target, seen)
    if (admitted === undefined) return
    for (let i = 0; i < units.length; i += 1) {
      admitted.units[i] = (admitted.units[i] as number) + (units[i] as number)
    }
    if (admitted.untilUs.length === 0) admitted.untilUs = untilUs
  }

  /** What was put back had been counted after all. */
  reconciledAfterAll({ target, units }: Admitted): void {
    const admitted = this.#admitted.get(target.policySet)?.get(idOf(target))
    if (admitted !== undefined) take(admitted.units, units, 1)
  }

  forget(target: Target): void {
    const ofSet = this.#admitted.get(target.policySet)
    if (ofSet?.delete(idOf(target))) this.#keys -= 1
    if (ofSet?.size === 0) this.#admitted.delete(target.policySet)
    this.#store.reset({ ...target, policySet: this.#quotaOf(target.policySet) })
  }

  /** Hands over what is to be counted of the targets chosen, most units first, and forgets it. */
  takeAdmitted(isChosen: (admitted: Admitted) => boolean): Admitted[] {
    const some: Admitted[] = []
    for (const [policySet, ofSet] of this.#admitted) {
      for (const [id, admitted] of ofSet) {
        if (!isChosen(admitted)) continue
        ofSet.delete(id)
        this.#keys -= 1
        if (admitted.units.some((each) => each > 0)) some.push(admitted)
      }
      if (ofSet.size === 0) this.#admitted.delete(policySet)
    }
    return some.sort((one, other) => Math.max(...other.units) - Math.max(...one.units))
  }

  close(): void {
    this.#store.close()
    this.#admitted.clear()
    this.#keys = 0
  }

  /** What this process has used of its part, so that no more is left than its part of what was. */
  #start(
    target: Target,
    policySet: PolicySet,
    { remaining, untilUs }: Seen,
    units: readonly number[] = [],
  ): void {
    const peers = this.#peers
    const used = target.policySet.policies.map(({ limit }, i) => {
      const part = partOf(limit, peers)
      // What was admitted here and is not counted yet comes on top of what the store has counted.
      const usedThere = Math.max(0, part - partOf(remaining[i] as number, peers))
      return Math.min(part, usedThere + (units[i] ?? 0))
    })
    const decide = (mode: 'peek' | 'restore' | 'reconcile', costs: readonly number[]) =>
      this.#store.decide({ mode, target: { ...target, policySet }, costs, count: 1, untilUs })
        .policies
    // What a window or a log has already, from an earlier outage, is a part of it, and restoring
    // would add all of it to that. A bucket has one end, and gets the later of two.
    const restored = decide('peek', used).map(({ limit, remaining, policy }, i) => {
      return remaining < limit && !policy.kernel?.traits.drains ? 0 : (used[i] as number)
    })
    const missing = decide('restore', restored).map(({ limit, remaining }, i) =>
      Math.max(0, (used[i] as number) - (limit - remaining)),
    )
    if (missing.some((each) => each > 0)) decide('reconcile', missing)
  }

  /** A place for what is admitted under a key; undefined: there are too many, and it is not
   *  counted. */
  #remember(target: Target, seen: Seen | undefined): Admitted | undefined {
    if (this.#keys >= MAX_KEYS) this.#forgetExpired()
    if (this.#keys >= MAX_KEYS || target.key.length > LONGEST_KEY) return undefined
    const { policySet } = target
    const ofSet = this.#admitted.get(policySet) ?? new Map<string, Admitted>()
    this.#admitted.set(policySet, ofSet)
    const admitted = { target, units: policySet.policies.map(() => 0), seen, untilUs: [] }
    ofSet.set(idOf(target), admitted)
    this.#keys += 1
    return admitted
  }

  /** What is over need not be counted. Looked through once a second at the most. */
  #forgetExpired(): void {
    const nowUs = this.#options.clock.nowUs()
    if (nowUs < this.#lookedUs + 1_000_000) return
    this.#lookedUs = nowUs
    this.takeAdmitted(({ untilUs }) => untilUs.every((each) => each <= nowUs))
  }

  /** The policies with this process's part of each limit. */
  #quotaOf(policySet: PolicySet): PolicySet {
    const now = this.#options.peers()
    if (this.#keys === 0 || now.count > this.#peers.count) this.#peers = now
    const peers = this.#peers
    let quota = this.#quotas.get(policySet)
    if (quota?.of.count !== peers.count || quota.of.rank !== peers.rank) {
      const policies = policySet.policies.map((policy) => {
        return withLimit(policy, partOf(policy.limit, peers))
      })
      quota = { of: peers, policySet: makePolicySet(policySet.name, policies) }
      this.#quotas.set(policySet, quota)
    }
    return quota.policySet
  }
}

/** Takes `times` the costs from the units, as far as there are any. */
function take(units: number[], costs: readonly number[], times: number): void {
  for (let i = 0; i < costs.length; i += 1) {
    units[i] = Math.max(0, (units[i] as number) - times * (costs[i] as number))
  }
}

function note(
  admitted: Admitted,
  { mode, costs }: LayerRequest,
  { granted, untilUs }: StoreResult,
): void {
  if (mode === 'peek') return
  take(admitted.units, costs, mode === 'refund' ? granted : -granted)
  admitted.untilUs = untilUs
}

/**
 * The results again of the policies as they were given; a part that is too small for the cost is no
 * reason to deny for ever.
 */
function degraded({ policySet }: Target, result: StoreResult): StoreResult {
  const policies: PolicyResult[] = result.policies.map((each, i) => {
    const policy = policySet.policies[i] as Policy
    const isNever = each.retryAfterMs === Number.POSITIVE_INFINITY && each.cost <= policy.limit
    const retryAfterMs = isNever ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs
    return { ...each, policy, limit: policy.limit, retryAfterMs }
  })
  return { ...result, policies, source: 'local', degraded: true }
}
