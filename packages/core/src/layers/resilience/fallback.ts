// Decisions while the store cannot make them: the same kernels in memory, with this instance's share of each limit,
// starting from what was last seen of a key, so that a switch gives nobody a new budget.

import { type Policy, sharedPolicy } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import type { PolicyResult } from '../../limiter/decision.js'
import { type MemoryStore, memoryStoreOf } from '../../memory/store.js'
import {
  makePolicySet,
  type PolicySet,
  type StoreRequest,
  type StoreResult,
  type Target,
} from '../../store.js'
import type { Seen } from './last-seen.js'
import { type Instances, partOf } from './peers.js'

/** Keys that are decided locally, and remembered to be settled, at the most. */
const MAX_KEYS = 10_000
/** Longer ones are not remembered: to settle them takes their whole text. */
const LONGEST_KEY = 1_024

/** What was admitted locally under a key. */
export interface Admitted {
  readonly group: StoreRequest
  readonly units: number[]
  /** What was last seen of it in the store, before. */
  seen: Seen | undefined
  untilUs: readonly number[]
}

export class Fallback {
  readonly #store: MemoryStore
  readonly #instances: () => Instances
  readonly #shares: WeakMap<PolicySet, { readonly of: Instances; readonly policySet: PolicySet }> =
    new WeakMap()
  readonly #admitted: Map<PolicySet, Map<string, Admitted>> = new Map()
  #keys = 0
  /** Kept while anything is admitted here: counts that were made with one share must not be judged by a larger one. */
  #shared: Instances = { count: 1, rank: 0 }
  readonly #clock: Clock
  #lookedUs = 0

  /** @param clock the store's time, as well as this process knows it */
  constructor(clock: Clock, instances: () => Instances) {
    this.#clock = clock
    this.#store = memoryStoreOf({ clock, maxKeys: MAX_KEYS, keys: 'exact', slackMs: 0 })
    this.#instances = instances
  }

  get keys(): number {
    return this.#keys
  }

  /**
   * Decides a group locally.
   * @param id of the target
   * @param seen what was last seen of it in the store
   */
  decide(group: StoreRequest, id: string, seen: Seen | undefined): StoreResult {
    const policySet = this.#shareOf(group.policySet)
    let admitted = this.#admitted.get(group.policySet)?.get(id)
    // An entry may be of a request that failed by itself, long ago: the store has gone on counting since.
    if (seen !== undefined && seen.nowUs > (admitted?.seen?.nowUs ?? Number.NEGATIVE_INFINITY)) {
      this.#start(group, policySet, seen, admitted?.units)
      if (admitted !== undefined) admitted.seen = seen
    }
    admitted ??= this.#remember(group, id, seen)
    const answer = this.#store.decide({ ...group, policySet })
    if (admitted !== undefined && answer.allowed) note(admitted, group, answer)
    return degraded(group, answer)
  }

  /** The store had counted requests that timed out and were then decided here: what it counted need not be settled. */
  countedAfterAll({ policySet, costs }: StoreRequest, id: string, granted: number): void {
    const admitted = this.#admitted.get(policySet)?.get(id)
    if (admitted === undefined) return
    for (let i = 0; i < costs.length; i += 1) {
      admitted.units[i] = Math.max(
        0,
        (admitted.units[i] as number) - granted * (costs[i] as number),
      )
    }
  }

  /** What was handed over could not be settled: it is to be settled later, with what was admitted since. */
  putBack(some: readonly Admitted[], idOf: (group: StoreRequest) => string): void {
    for (const { group, units, seen, untilUs } of some) {
      const admitted =
        this.#admitted.get(group.policySet)?.get(idOf(group)) ??
        this.#remember(group, idOf(group), seen)
      if (admitted === undefined) continue
      for (let i = 0; i < units.length; i += 1) {
        admitted.units[i] = (admitted.units[i] as number) + (units[i] as number)
      }
      if (admitted.untilUs.length === 0) admitted.untilUs = untilUs
    }
  }

  /** What was put back had been settled after all. */
  settledAfterAll(some: readonly Admitted[], idOf: (group: StoreRequest) => string): void {
    for (const { group, units } of some) {
      const admitted = this.#admitted.get(group.policySet)?.get(idOf(group))
      for (let i = 0; admitted !== undefined && i < units.length; i += 1) {
        admitted.units[i] = Math.max(0, (admitted.units[i] as number) - (units[i] as number))
      }
    }
  }

  forget(id: string, target: Target): void {
    const ofPlan = this.#admitted.get(target.policySet)
    if (ofPlan?.delete(id)) this.#keys -= 1
    if (ofPlan?.size === 0) this.#admitted.delete(target.policySet)
    this.#store.reset({ ...target, policySet: this.#shareOf(target.policySet) })
  }

  /** Hands over what is to be settled of the targets chosen, most units first, and forgets it. */
  takeAdmitted(chosen: (admitted: Admitted) => boolean): Admitted[] {
    const some: Admitted[] = []
    for (const [policySet, ofPlan] of this.#admitted) {
      for (const [id, admitted] of ofPlan) {
        if (!chosen(admitted)) continue
        ofPlan.delete(id)
        this.#keys -= 1
        if (admitted.units.some((each) => each > 0)) some.push(admitted)
      }
      if (ofPlan.size === 0) this.#admitted.delete(policySet)
    }
    return some.sort((one, other) => Math.max(...other.units) - Math.max(...one.units))
  }

  close(): void {
    this.#store.close()
    this.#admitted.clear()
    this.#keys = 0
  }

  /** What this instance has used of its share, so that no more is left than its part of what was left. */
  #start(
    group: StoreRequest,
    policySet: PolicySet,
    { remaining, untilUs }: Seen,
    units: readonly number[] = [],
  ): void {
    const instances = this.#shared
    const used = group.policySet.policies.map(({ limit }, i) => {
      const part = partOf(limit, instances)
      // What was admitted here and is not settled comes on top of what the store has counted.
      const usedThere = Math.max(0, part - partOf(remaining[i] as number, instances))
      return Math.min(part, usedThere + (units[i] ?? 0))
    })
    const target = { ...group, policySet }
    // What a window or a log has already, from an earlier outage, is a part of it, and a raise would add all of it to that.
    // A bucket has one end, and is raised to the later of two.
    const known = this.#store.decide({ ...target, mode: 'peek' }).figures
    const raised = known.map(({ limit, remaining, policy }, i) => {
      return remaining < limit && !policy.kernel?.traits.drains ? 0 : (used[i] as number)
    })
    const { figures } = this.#store.decide({ ...target, mode: 'restore', costs: raised, untilUs })
    const missing = figures.map(({ limit, remaining }, i) =>
      Math.max(0, (used[i] as number) - (limit - remaining)),
    )
    if (missing.some((each) => each > 0)) {
      this.#store.decide({ ...target, mode: 'reconcile', costs: missing, untilUs })
    }
  }

  /** A place for what is admitted under a key; undefined: there are too many already, and this one is not settled. */
  #remember(group: StoreRequest, id: string, seen: Seen | undefined): Admitted | undefined {
    if (this.#keys >= MAX_KEYS) this.#forgetExpired()
    if (this.#keys >= MAX_KEYS || group.key.length > LONGEST_KEY) return undefined
    let ofPlan = this.#admitted.get(group.policySet)
    if (ofPlan === undefined) {
      ofPlan = new Map()
      this.#admitted.set(group.policySet, ofPlan)
    }
    const admitted = { group, units: group.costs.map(() => 0), seen, untilUs: [] }
    ofPlan.set(id, admitted)
    this.#keys += 1
    return admitted
  }

  /** What no longer weighs need not be settled. Looked through once a second at the most. */
  #forgetExpired(): void {
    const nowUs = this.#clock.nowUs()
    if (nowUs < this.#lookedUs + 1_000_000) return
    this.#lookedUs = nowUs
    this.takeAdmitted(({ untilUs }) => untilUs.every((each) => each <= nowUs))
  }

  #shareOf(policySet: PolicySet): PolicySet {
    const now = this.#instances()
    if (this.#keys === 0 || now.count > this.#shared.count) this.#shared = now
    const instances = this.#shared
    let share = this.#shares.get(policySet)
    if (share?.of.count !== instances.count || share.of.rank !== instances.rank) {
      const policies = policySet.policies.map((policy) => {
        return sharedPolicy(policy, partOf(policy.limit, instances), instances.count)
      })
      share = { of: instances, policySet: makePolicySet(policySet.name, policies) }
      this.#shares.set(policySet, share)
    }
    return share.policySet
  }
}

function note(admitted: Admitted, { mode, costs }: StoreRequest, { untilUs }: StoreResult): void {
  if (mode === 'peek') return
  for (let i = 0; i < costs.length; i += 1) {
    const units = mode === 'refund' ? -(costs[i] as number) : (costs[i] as number)
    admitted.units[i] = Math.max(0, (admitted.units[i] as number) + units)
  }
  admitted.untilUs = untilUs
}

/** The figures again of the policies as they were given; a share that is too small for the cost is no reason for ever. */
function degraded({ policySet }: StoreRequest, answer: StoreResult): StoreResult {
  const figures: PolicyResult[] = answer.figures.map((each, i) => {
    const policy = policySet.policies[i] as Policy
    const never = each.retryAfterMs === Number.POSITIVE_INFINITY && each.cost <= policy.limit
    return {
      ...each,
      policy,
      limit: policy.limit,
      retryAfterMs: never ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs,
    }
  })
  return { ...answer, figures, source: 'local', degraded: true }
}
