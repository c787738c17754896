// How this process decides each policy set while the store cannot: which policies count in memory,
// with which part of their limits (the local quotas), and which policies for outages decide
// instead.

import type { Kernel } from '../../algorithms/algorithm.js'
import { changed, counterOf, type Policy, withLimit, withName } from '../../algorithms/policy.js'
import type { LayerRequest } from '../../layer.js'
import { makePolicySet, partOfTarget } from '../../request.js'
import type { PolicySet, Target, WhenUnavailable } from '../../store.js'
import { type Peers, partOf } from './peers.js'

export interface QuotaOptions {
  readonly peers: () => Peers
  /** For policies that have no choice of their own. */
  readonly whenUnavailable: WhenUnavailable
}

/** Some policies of a set as they count in memory. */
export interface LocalPart {
  /** Their places in the set. */
  readonly places: readonly number[]
  /** The policies at these places: with this process's part of each limit, or those for
   *  outages. */
  readonly policySet: PolicySet
  /** Whether one of them is for outages. */
  readonly isOwn: boolean
  /** What each policy of the set does in an outage. */
  readonly each: readonly WhenUnavailable[]
  /** The processes that share the limits. */
  readonly of: Peers
}

/** How a policy set is decided here: its part has all policies that count in memory. Policies that
 *  deny are among them, for penalties and refunds, which are not refused. */
export interface Quota extends LocalPart {
  /** What stays a ceiling while a node is half-open: local quotas above 0, where there are peers.
   *  Undefined: nothing. */
  readonly ceiling: LocalPart | undefined
}

/** @param isAdmitted whether anything is admitted here that is yet to be counted in the store */
export function quotasBy(
  { peers, whenUnavailable }: QuotaOptions,
  isAdmitted: () => boolean,
): (policySet: PolicySet) => Quota {
  const quotas = new WeakMap<PolicySet, Quota>()
  // Kept while anything is admitted here: units counted under one part of a limit must not be
  // judged by a larger one.
  let of: Peers = { count: 1, rank: 0 }
  return (policySet) => {
    const now = peers()
    if (!isAdmitted() || now.count > of.count) of = now
    let quota = quotas.get(policySet)
    if (quota?.of.count !== of.count || quota.of.rank !== of.rank) {
      quota = quotaOf(policySet, of, whenUnavailable)
      quotas.set(policySet, quota)
    }
    return quota
  }
}

function quotaOf(policySet: PolicySet, of: Peers, otherwise: WhenUnavailable): Quota {
  const each = policySet.policies.map((_, i) => policySet.whenUnavailable?.[i] ?? otherwise)
  const isCeiling = (place: number): boolean =>
    each[place] === 'local' && partOf(policySet.policies[place]?.limit ?? 0, of) > 0
  const all = [...each.keys()]
  const part = localPart(policySet, of, each, (place) => each[place] !== 'allow')
  const ceiling =
    of.count > 1 && all.some(isCeiling) ? localPart(policySet, of, each, isCeiling) : undefined
  return { ...part, ceiling }
}

function localPart(
  policySet: PolicySet,
  of: Peers,
  each: readonly WhenUnavailable[],
  isChosen: (place: number) => boolean,
): LocalPart {
  const places = [...each.keys()].filter(isChosen)
  const policies = places.map((place) => {
    const policy = policySet.policies[place] as Policy
    const when = each[place]
    if (typeof when === 'object') return withName(when, `for ${policy.name}:${counterOf(policy)}`)
    return withLimit(withoutHolds(policy), partOf(policy.limit, of))
  })
  const isOwn = places.some((place) => typeof each[place] === 'object')
  return { places, policySet: makePolicySet(policySet.name, policies), isOwn, each, of }
}

function withoutHolds(policy: Policy): Policy {
  const numbers = policy.kernel?.withoutHolds?.(policy.numbers)
  return numbers === undefined ? policy : changed(policy, { numbers })
}

/** Until when units that are taken now may count, whatever was taken before. */
export function latestUs({ kernel, numbers, limit }: Policy, nowUs: number): number {
  const { prepare, read, take, resetAfterUs, traits } = kernel as Kernel
  const scratch = prepare(numbers)
  read(scratch, undefined, 0, nowUs)
  // The whole limit of a lock-out would begin a block, which may end before the window of attempts.
  take(scratch, traits.blocks ? 1 : Math.max(1, limit))
  return nowUs + resetAfterUs(scratch)
}

/** The target by which the memory store counts its part. */
export function localTarget(target: Target, { places, policySet }: LocalPart): Target {
  return { ...partOfTarget(target, places), policySet }
}

/** This process's part of what must remain, rounded up, so that all parts together are enough; for
 *  a policy for outages, the same fraction of its limit. */
export function keptOf(
  keep: readonly number[],
  { target }: LayerRequest,
  { places, policySet }: LocalPart,
): readonly number[] {
  return keep.map((kept, i) => {
    const whole = target.policySet.policies[places[i] as number]?.limit as number
    const part = policySet.policies[i]?.limit as number
    return whole > 0 ? Math.ceil((kept * part) / whole) : 0
  })
}
