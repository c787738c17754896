// What a limiter is given as policies, keys and costs: checked where it enters, and sorted for the
// store.

import { counterOf, isPolicy, type Policy, withoutLimitInName } from '../algorithms/policy.js'
import { Recent } from '../base/cache.js'
import {
  type CodedError,
  type ErrorCode,
  invalid,
  quote,
  rangeError,
  typeError,
} from '../base/errors.js'
import { LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import { checkedOptions } from '../base/options.js'
import { warnOnce } from '../base/warnings.js'
import { checkWhen, makePolicySet, textOfWhen } from '../request.js'
import type { OwnKey, PolicySet, Store, WhenUnavailable } from '../store.js'
import type { AdaptiveState, LimiterCounters } from './counters.js'

/**
 * Who is limited: a text of 1 to 8,192 characters, a whole number from -(2^53 - 1) to 2^53 - 1, or
 * a bigint. A number is the same key as its text: 42, 42n and '42' are one. A text of more than 256
 * characters (UTF-16 units) is counted under `#` and the SHA-256 of its UTF-8.
 */
export type Key = string | number | bigint

/** A policy with a key or a cost of its own, in a decision that has others. */
export interface PolicyUse {
  /** The policy. */
  readonly policy: Policy
  /** Whom this policy limits, instead of the decision's key: an account beside an address, `'all'`
   *  for everybody. */
  readonly key?: Key | undefined
  /** What this policy is charged, instead of the decision's cost. A whole number, 0 or more. */
  readonly cost?: number | undefined
  /** What to do when the store cannot decide, for this policy; a policy there decides in its place,
   *  in each process for itself. Default: as the limiter's own option says. */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /** For Redis Cluster: policies whose tags are equal are decided in one atomic step. Default: the
   *  key. */
  readonly tag?: Key | undefined
}

/** One policy, or several that are one decision: all allow and all are charged, or none is. */
export type PolicyInput = Policy | readonly (Policy | PolicyUse)[]

/** A policy input, checked and sorted for the store. */
export interface Resolved {
  /** Undefined: nothing limits. */
  readonly policySet: PolicySet | undefined
  readonly first: Policy
  /** The policies as they were given, where that says more than the set: policies with costs of
   *  their own, or that limit nothing. */
  readonly uses?: readonly PolicyUse[] | undefined
  /** What each policy is charged by a cost of 1. Not frozen: V8 reads elements of frozen arrays
   *  slowly, 30 ns in a decision. */
  readonly costsOfOne: readonly number[]
  readonly ownKeys?: readonly (OwnKey | undefined)[] | undefined
  readonly ownCosts?: readonly (number | undefined)[] | undefined
}

/** Whose policies they are. */
interface Owner {
  /** Name of the limiter. */
  readonly limiter: string
  /** Whether the user gave it that name. */
  readonly isNamed: boolean
  /** That will decide. */
  readonly store: Store
  /** For policies that say nothing of it. */
  readonly whenUnavailable: WhenUnavailable | undefined
  /** What it counts. */
  readonly counters: LimiterCounters
}

const stores: WeakMap<PolicySet, Store> = new WeakMap()

/** The store that a policy set was made for: what a receipt need not carry. */
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

  /** Equal policies give one policy set, by value, so that stores recognise it whoever made the
   *  policies. */
  function policySetOf(uses: readonly PolicyUse[]): PolicySet {
    const signature = uses
      .map((use) => `${use.policy.signature}|${textOfWhen(use.whenUnavailable)}`)
      .join('\n')
    let policySet = policySets.get(signature)
    if (policySet === undefined) {
      const policies = uses.map(({ policy }) => policy)
      const when = uses.map(({ whenUnavailable }) => whenUnavailable ?? owner.whenUnavailable)
      for (const each of when) checkHasEffect(each, owner)
      policySet = makePolicySet(owner.limiter, policies, when, owner.counters.ofSet(policies))
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
    const ownCosts = someOf(limiting.map(({ cost }) => cost))
    return {
      policySet: policySetOf(limiting),
      first,
      uses: ownCosts === undefined && limiting.length === uses.length ? undefined : uses,
      costsOfOne: limiting.map(({ cost }) => cost ?? 1),
      ownKeys: someOf(limiting.map(ownKeyOf)),
      ownCosts,
    }
  }
}

/** @throws {TypeError} WEIR_INVALID_OPTION where the store would take no notice of it */
export function checkHasEffect(
  whenUnavailable: WhenUnavailable | undefined,
  { limiter, store }: Pick<Owner, 'limiter' | 'store'>,
): void {
  if (whenUnavailable === undefined || store.resilient === true) return
  const what = `whenUnavailable of limiter "${limiter}" is ${quote(whenUnavailable)}`
  const why = 'but its store knows no such thing, and its errors reach the caller'
  throw typeError('WEIR_INVALID_OPTION', `${what}, ${why}; give it store: resilient(store)`)
}

/** The values, if there are any. */
function someOf<Value>(values: Value[]): Value[] | undefined {
  return values.some((value) => value !== undefined) ? values : undefined
}

function warnOfAlgorithms({ name: limiter, policies }: PolicySet, store: Store): void {
  for (const { name, kernel } of policies) {
    const before = noted(store, `${limiter}/${name}`, String(kernel?.id))
    if (before === undefined || before === kernel?.id) continue
    const what = `policy ${quote(name)} of limiter "${limiter}" had another algorithm before`
    warnOnce('WEIR_CHANGED_ALGORITHM', limiter, `${what}, so it counts anew; give each a name`)
  }
}

/** For policies that are the same for all requests: others that count under the same names. */
export function warnOfNamesake({ policySet, ownKeys }: Resolved, store: Store): void {
  policySet?.policies.forEach((policy, i) => {
    const { name } = policySet
    const counter = `${name}/${policy.name}/${counterOf(policy)}`
    // Keys of their own may well be different ones.
    if (ownKeys?.[i] !== undefined || noted(store, counter, 'taken') === undefined) return
    const what = `two limiters named "${name}" on one store share the counters of policy "${policy.name}"`
    const remedy = 'give each limiter a name, or pass shared: true if they are meant to share'
    warnOnce('WEIR_SHARED_NAME', counter, `${what}; ${remedy}`)
  })
}

/** A limiter that has these policies is closed: another may have its name. */
export function freeNames({ policySet }: Resolved, store: Store): void {
  for (const policy of policySet?.policies ?? [])
    notes.get(store)?.delete(`${policySet?.name}/${policy.name}/${counterOf(policy)}`)
}

/** What limiters of a store have noted of a name lately. */
const notes: WeakMap<Store, Recent<string>> = new WeakMap()

/** Notes something of a name. Returns what was noted before. */
function noted(store: Store, name: string, note: string): string | undefined {
  const ofStore = notes.get(store) ?? new Recent(MAX_NOTES)
  notes.set(store, ofStore)
  const before = ofStore.get(name)
  ofStore.set(name, note)
  return before
}

/**
 * The policies of an input, by the names that they have in their limiter. Where the user has named
 * the limiter and not the policy, the limit is no part of the name: it may change, and the count
 * goes on.
 * @throws {TypeError | RangeError} as `resolver` says
 */
export function usesOf(
  input: PolicyInput,
  { limiter, isNamed }: Pick<Owner, 'limiter' | 'isNamed'>,
): readonly PolicyUse[] {
  const given: readonly PolicyUse[] = (Array.isArray(input) ? input : [input]).map(checkedUse)
  if (given.length === 0) {
    const problem = `limiter "${limiter}" has no policy; give one, or unlimited()`
    throw typeError('WEIR_INVALID_POLICY', problem)
  }
  const uses = isNamed ? withoutLimits(given, limiter) : given
  const twice = uses.length > 1 ? uses.find((use) => isTwice(use, uses)) : undefined
  if (twice === undefined) return uses
  const what = `limiter "${limiter}" has two policies named "${twice.policy.name}"`
  throw rangeError('WEIR_INVALID_POLICY', `${what}; give each a name of its own`)
}

/**
 * For a policy function that shows how it is, as `adaptive` makes them: what says it, with the
 * policy by the name that it has in its limiter.
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

function isTwice({ policy: { name } }: PolicyUse, uses: readonly PolicyUse[]): boolean {
  return uses.filter(({ policy }) => policy.name === name).length > 1
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

const USE = ['policy', 'key', 'cost', 'whenUnavailable', 'tag']
const MAX_REMEMBERED = 1_000
const MAX_NOTES = 10_000

function ownKeyOf({ key, tag }: PolicyUse): OwnKey | undefined {
  if (key === undefined) return undefined
  const name = nameOfKey(String(key))
  return { key: name, tag: tag === undefined ? name : nameOfKey(String(tag)) }
}

function checkedUse(input: Policy | PolicyUse): PolicyUse {
  const isUse = typeof input === 'object' && input !== null && 'policy' in input
  if (isUse) checkedOptions(input, 'a policy with a key of its own', USE, 'WEIR_INVALID_POLICY')
  const use: PolicyUse = isUse ? input : { policy: input as Policy }
  if (!isPolicy(use.policy)) {
    const right = 'tokenBucket({...}), slidingWindow({...}), ...'
    throw invalid('WEIR_INVALID_POLICY', 'policy', input, right)
  }
  if (use.key !== undefined) checkedKey(use.key)
  if (use.tag !== undefined) checkedKey(use.tag)
  if (use.cost !== undefined) checkedCost(use.cost)
  if (use.whenUnavailable !== undefined) checkWhen(use.whenUnavailable)
  return use
}

/** The text of a key, which is counted under its name (base/key-name.ts). */
export function checkedKey(key: Key): string {
  if (!isKey(key)) {
    const right = 'a text that is not empty, a whole number or a bigint, which names who is limited'
    throw invalid('WEIR_INVALID_KEY', 'key', key, right, key === '' ? 'string' : 'number')
  }
  const text = String(key)
  if (text.length > LONGEST_KEY) throw new LongKeyError(text)
  return text
}

/** A key that is too long. Clients may choose keys, so this is an error of a request, and none of
 *  the policy function that gave the key to a policy. */
export class LongKeyError extends RangeError implements CodedError {
  readonly code: ErrorCode = 'WEIR_INVALID_KEY'
  constructor(text: string) {
    const { length } = text
    super(`key is ${quote(text)}, of ${length} characters; give one of ${LONGEST_KEY} at the most`)
  }
}

/** Whether a key is too long to be counted. */
export function isLongKey(key: Key): boolean {
  return typeof key !== 'number' && String(key).length > LONGEST_KEY
}

export function isKey(key: unknown): key is Key {
  return typeof key === 'string' ? key !== '' : typeof key === 'bigint' || Number.isSafeInteger(key)
}

export function checkedCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0) return cost
  const hint = typeof cost === 'number' && cost < 0 ? ' (to give units back, use refund)' : ''
  throw invalid('WEIR_INVALID_COST', 'cost', cost, `a whole number, 0 or more${hint}`, 'number')
}
