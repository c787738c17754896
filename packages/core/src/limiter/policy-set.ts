// Resolves policies, as users give them, into policy sets, by their names in a limiter.

import { isPolicy, type Policy, withoutLimitInName } from '../algorithms/policy.js'
import { Recent } from '../base/cache.js'
import { quote, typeError } from '../base/errors.js'
import { nameOfKey } from '../base/key-name.js'
import { warnOnce } from '../base/warnings.js'
import {
  checkedUses,
  checkNames,
  isTwice,
  type PolicyInput,
  type PolicyUse,
} from '../policy-input.js'
import { makePolicySet, textOfWhen } from '../request.js'
import type { PolicyKey, PolicySet, Store, WhenUnavailable } from '../store.js'
import type { AdaptiveState, LimiterCounters } from './counters.js'
import { warnOfAlgorithms } from './namesakes.js'

/** A policy input, checked and sorted for the store. */
export interface Resolved {
  /** Undefined: nothing limits. */
  readonly policySet: PolicySet | undefined
  readonly first: Policy
  /** The policies as they were given, including those that limit nothing. Empty if a policy
   *  function has failed. */
  readonly uses: readonly PolicyUse[]
  /** What each policy is charged by a cost of 1. Not frozen: V8 reads elements of frozen arrays
   *  slowly, 30 ns in a decision. */
  readonly costsOfOne: readonly number[]
  readonly policyKeys?: readonly (PolicyKey | undefined)[] | undefined
  readonly ownCosts?: readonly (number | undefined)[] | undefined
}

/** The limiter that has the policies. */
interface Owner {
  /** Name of the limiter. */
  readonly limiter: string
  /** Whether the user gave it that name. */
  readonly isNamed: boolean
  /** The store that decides. */
  readonly store: Store
  /** For policies that do not say. */
  readonly whenUnavailable: WhenUnavailable | undefined
  /** What the limiter counts. */
  readonly counters: LimiterCounters
}

const stores: WeakMap<PolicySet, Store> = new WeakMap()

/** The store that a policy set was made for, so that no receipt carries it. */
export function storeOf(policySet: PolicySet): Store | undefined {
  return stores.get(policySet)
}

/**
 * Makes the function that resolves the policies of a limiter. It throws a TypeError or RangeError:
 * WEIR_INVALID_POLICY, WEIR_INVALID_KEY, WEIR_INVALID_COST, WEIR_INVALID_OPTION.
 */
export function resolver(owner: Owner): (input: PolicyInput) => Resolved {
  // Numbers may come from requests: forgetting policy sets costs a little time, keeping them all
  // would cost memory.
  const policySets = new Recent<PolicySet>(MAX_REMEMBERED)

  /** Policies with equal values give one policy set, so that stores recognise it whoever made
   *  them. */
  function policySetOf(uses: readonly PolicyUse[]): PolicySet {
    const signature = uses
      .map((use) => `${use.policy.signature}|${textOfWhen(use.whenUnavailable)}`)
      .join('\n')
    let policySet = policySets.get(signature)
    if (policySet === undefined) {
      const policies = uses.map(({ policy }) => policy)
      const when = uses.map(({ whenUnavailable }) => whenUnavailable ?? owner.whenUnavailable)
      for (const each of when) checkHasEffect(each, owner)
      const { counters, limiter } = owner
      const tell = policies.some(hasShares) ? counters.crossed : undefined
      policySet = makePolicySet(limiter, policies, when, counters.ofSet(policies), tell)
      policySets.set(signature, policySet)
      stores.set(policySet, owner.store)
      warnOfAlgorithms(policySet, owner.store)
    }
    owner.counters.inForce(policySet.policies)
    return policySet
  }

  return (input) => {
    const uses = usesOf(input, owner)
    const { policy: first } = uses[0] as PolicyUse
    const limiting = uses.filter(({ policy }) => policy.kernel !== undefined)
    if (limiting.length === 0) return { policySet: undefined, first, uses, costsOfOne: [] }
    return {
      policySet: policySetOf(limiting),
      first,
      uses,
      costsOfOne: limiting.map(({ cost }) => cost ?? 1),
      policyKeys: someOf(limiting.map(policyKeyOf)),
      ownCosts: someOf(limiting.map(({ cost }) => cost)),
    }
  }
}

/** @throws {TypeError} WEIR_INVALID_OPTION if the store would ignore it */
export function checkHasEffect(
  whenUnavailable: WhenUnavailable | undefined,
  { limiter, store }: Pick<Owner, 'limiter' | 'store'>,
): void {
  if (whenUnavailable === undefined || store.resilient === true) return
  const what = `whenUnavailable of limiter "${limiter}" is ${quote(whenUnavailable)}`
  const why = 'but its store does not support it'
  throw typeError('WEIR_INVALID_OPTION', `${what}, ${why}; give it store: resilient(store)`)
}

function hasShares({ notifyAt }: Policy): boolean {
  return notifyAt !== undefined
}

/** The values, if there are any. */
function someOf<Value>(values: Value[]): Value[] | undefined {
  return values.some((value) => value !== undefined) ? values : undefined
}

/**
 * The policies of an input, by the names that they have in their limiter. If the user has named the
 * limiter and not the policy, the limit is not part of the name: it may change, and the count goes
 * on.
 * @throws {TypeError | RangeError} as `resolver` says
 */
export function usesOf(
  input: PolicyInput,
  { limiter, isNamed }: Pick<Owner, 'limiter' | 'isNamed'>,
): readonly PolicyUse[] {
  const whose = `limiter "${limiter}"`
  const given = checkedUses(input, 'policy', whose)
  const uses = isNamed ? withoutLimits(given, limiter) : given
  checkNames(uses, whose)
  return uses
}

/**
 * For a policy function that shows its state, as `adaptive` makes them: what returns that state,
 * with the policy under its name in the limiter.
 */
export function adaptiveOf(
  policy: object,
  owner: Pick<Owner, 'limiter' | 'isNamed'>,
): (() => AdaptiveState) | undefined {
  const shows = policy as { readonly factor?: unknown; readonly current?: unknown }
  if (typeof shows.factor !== 'number' || !isPolicy(shows.current)) return undefined
  return () => {
    const [{ policy: current }] = usesOf(shows.current as Policy, owner) as [PolicyUse]
    return { policy: current, factor: shows.factor as number }
  }
}

function withoutLimits(given: readonly PolicyUse[], limiter: string): readonly PolicyUse[] {
  const short = given.map((use) => ({ ...use, policy: withoutLimitInName(use.policy) }))
  if (short.length === 1) return short
  return short.map((use, i) => {
    const { name } = use.policy
    const own = given[i] as PolicyUse
    if (own.policy.name === name || !isTwice(use, short)) return use
    const what = `two policies of limiter "${limiter}" would be called ${quote(name)}`
    const why = 'so the limit is in the name and a changed limit starts a new count'
    warnOnce('WEIR_LIMIT_IN_NAME', limiter, `${what}, ${why}; give each a name`)
    return own
  })
}

const MAX_REMEMBERED = 1_000

function policyKeyOf({ key, tag }: PolicyUse): PolicyKey | undefined {
  if (key === undefined) return undefined
  const name = nameOfKey(String(key))
  return { key: name, tag: tag === undefined ? name : nameOfKey(String(tag)) }
}
