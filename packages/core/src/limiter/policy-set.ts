// What a limiter is told of policies, keys and costs: checked where it enters, and sorted for the
// store.

import { isPolicy, type Policy, withoutLimitInName } from '../algorithms/policy.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'
import { warnOnce } from '../base/warnings.js'
import { checkedWhen, checkNames, makePolicySet } from '../request.js'
import type {
  Mode,
  OwnKey,
  PolicySet,
  Store,
  StoreRequest,
  Target,
  WhenUnavailable,
} from '../store.js'

/**
 * Who is limited: a text that is not empty, a whole number from -(2^53 - 1) to 2^53 - 1, or a
 * bigint. A number is the same key as its text: 42, 42n and '42' are one.
 */
export type Key = string | number | bigint

/** A policy with a key or a cost of its own, in a decision that has others. */
export interface PolicyUse {
  readonly policy: Policy
  /** Whom this policy limits, instead of the decision's key: an account beside an address, `'all'`
   *  for everybody. */
  readonly key?: Key
  /** What this policy is charged, instead of the decision's cost. */
  readonly cost?: number
  /** When the store cannot decide, for this policy. Default: as the limiter is told. */
  readonly whenUnavailable?: WhenUnavailable
  /** For Redis Cluster: policies whose tags are equal are decided in one atomic step. Default: the
   *  key. */
  readonly tag?: Key
}

/** One policy, or several that are one decision: all allow and all are charged, or none is. */
export type PolicyInput = Policy | readonly (Policy | PolicyUse)[]

/** A policy input, checked and sorted for the store. */
export interface Resolved {
  /** Undefined: nothing limits. */
  readonly policySet: PolicySet | undefined
  readonly first: Policy
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
}

/** Resolves the policies of one limiter. */
export class Resolver {
  readonly #owner: Owner
  readonly #whenUnavailable: WhenUnavailable | undefined
  readonly #policySets: Map<string, PolicySet> = new Map()

  /** @param whenUnavailable for policies that say nothing of it */
  constructor(owner: Owner, whenUnavailable: WhenUnavailable | undefined) {
    this.#owner = owner
    this.#whenUnavailable = whenUnavailable
  }

  /** @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_KEY, WEIR_INVALID_COST,
   *  WEIR_INVALID_OPTION */
  resolve(input: PolicyInput): Resolved {
    const uses = usesOf(input, this.#owner)
    const first = uses[0] as PolicyUse
    if (uses.length > 1) checkNames(this.#owner.limiter, uses)
    const limiting = uses.filter(({ policy }) => policy.kernel !== undefined)
    if (limiting.length === 0) return { policySet: undefined, first: first.policy }
    return {
      policySet: this.#policySetOf(limiting),
      first: first.policy,
      ownKeys: limiting.some(({ key }) => key !== undefined) ? limiting.map(ownKeyOf) : undefined,
      ownCosts: limiting.some(({ cost }) => cost !== undefined)
        ? limiting.map(({ cost }) => cost)
        : undefined,
    }
  }

  /** Equal policies give one policy set, by value, so that stores recognise it whoever made the
   *  policies. */
  #policySetOf(uses: readonly PolicyUse[]): PolicySet {
    const signature = uses.map((use) => `${use.policy.signature}|${use.whenUnavailable}`).join('\n')
    let policySet = this.#policySets.get(signature)
    if (policySet === undefined) {
      // Numbers may come from requests: forgetting the policy sets costs a little time, keeping
      // them all would cost memory.
      if (this.#policySets.size >= MAX_REMEMBERED) this.#policySets.clear()
      const when = uses.map(({ whenUnavailable }) => whenUnavailable ?? this.#whenUnavailable)
      policySet = makePolicySet(
        this.#owner.limiter,
        uses.map(({ policy }) => policy),
        when,
      )
      warnOfAlgorithms(policySet, this.#owner.store)
      this.#policySets.set(signature, policySet)
      stores.set(policySet, this.#owner.store)
    }
    return policySet
  }
}

/** By store, which kernel counts under the names of a limiter and a policy. */
const kernelsOn: WeakMap<Store, Map<string, string | undefined>> = new WeakMap()

function warnOfAlgorithms({ name: limiter, policies }: PolicySet, store: Store): void {
  const kernels = kernelsOn.get(store) ?? new Map()
  kernelsOn.set(store, kernels)
  for (const { name, kernel } of policies) {
    const names = `${limiter}/${name}`
    const known = kernels.get(names)
    if (known !== undefined && known !== kernel?.id) {
      const what = `policy ${quote(name)} of limiter "${limiter}" had another algorithm before`
      warnOnce('WEIR_CHANGED_ALGORITHM', limiter, `${what}, so it counts anew; give each a name`)
    }
    // Names may come from requests.
    if (kernels.size >= MAX_REMEMBERED) kernels.clear()
    kernels.set(names, kernel?.id)
  }
}

/**
 * The policies of an input, by the names that they have in their limiter. Where the user has named
 * the limiter and not the policy, the limit is no part of the name: it may change, and the count
 * goes on.
 * @throws {TypeError | RangeError} as `resolve`
 */
export function usesOf(
  input: PolicyInput,
  { limiter, isNamed }: Omit<Owner, 'store'>,
): readonly PolicyUse[] {
  const uses: readonly PolicyUse[] = (Array.isArray(input) ? input : [input]).map(checkedUse)
  if (uses.length === 0) {
    throw typeError(
      'WEIR_INVALID_POLICY',
      `limiter "${limiter}" has no policy; give one, or unlimited()`,
    )
  }
  if (!isNamed) return uses
  const short = uses.map((use) => ({ ...use, policy: withoutLimitInName(use.policy) }))
  const names = new Set(short.map(({ policy }) => policy.name))
  if (names.size === uses.length) return short
  return short.map((use, i) => {
    const { name } = use.policy
    const given = (uses[i] as PolicyUse).policy
    if (given.name === name || short.filter(({ policy }) => policy.name === name).length === 1)
      return use
    const why = `two policies of limiter "${limiter}" would be called ${quote(name)}, so the limit is in the name`
    warnOnce(
      'WEIR_LIMIT_IN_NAME',
      limiter,
      `${why} and a changed limit starts a new count; give each a name`,
    )
    return uses[i] as PolicyUse
  })
}

const stores: WeakMap<PolicySet, Store> = new WeakMap()

/** The store that a policy set was made for: what a receipt need not carry. */
export function storeOf(policySet: PolicySet): Store | undefined {
  return stores.get(policySet)
}

const USE = ['policy', 'key', 'cost', 'whenUnavailable', 'tag']
const MAX_REMEMBERED = 1_000
const ONE: readonly number[] = Object.freeze([1])

export function targetOf(resolved: Resolved, policySet: PolicySet, key: string): Target {
  return { policySet, key, ownKeys: resolved.ownKeys }
}

/** What a store is asked for one request. */
export function requestOf(
  { ownKeys, ownCosts }: Resolved,
  policySet: PolicySet,
  key: string,
  cost: number,
  mode: Mode,
): StoreRequest {
  let costs: readonly number[]
  if (ownCosts !== undefined) costs = ownCosts.map((own) => own ?? cost)
  else if (policySet.policies.length > 1) costs = policySet.policies.map(() => cost)
  else costs = cost === 1 ? ONE : [cost]
  return { mode, target: { policySet, key, ownKeys }, costs, count: 1 }
}

function ownKeyOf({ key, tag }: PolicyUse): OwnKey | undefined {
  return key === undefined ? undefined : { key: String(key), tag: String(tag ?? key) }
}

function checkedUse(input: Policy | PolicyUse): PolicyUse {
  const isUse = typeof input === 'object' && input !== null && 'policy' in input
  if (isUse) checkedOptions(input, 'a policy with a key of its own', USE, 'WEIR_INVALID_POLICY')
  const use: PolicyUse = isUse ? input : { policy: input as Policy }
  if (!isPolicy(use.policy)) {
    throw typeError(
      'WEIR_INVALID_POLICY',
      `policy is ${quote(input)}; give tokenBucket({...}), slidingWindow({...}), ...`,
    )
  }
  if (use.key !== undefined) checkedKey(use.key)
  if (use.tag !== undefined) checkedKey(use.tag)
  if (use.cost !== undefined) checkedCost(use.cost)
  checkedWhen(use.whenUnavailable)
  return use
}

/** The text of a key. */
export function checkedKey(key: Key): string {
  if (typeof key === 'string' && key !== '') return key
  if (isKey(key)) return String(key)
  const right =
    'give a text that is not empty, a whole number or a bigint, which names who is limited'
  const wrong = key === '' || typeof key === 'number' ? rangeError : typeError
  throw wrong('WEIR_INVALID_KEY', `key is ${quote(key)}; ${right}`)
}

export function isKey(key: unknown): key is Key {
  if (typeof key === 'string') return key !== ''
  return Number.isSafeInteger(key) || typeof key === 'bigint'
}

export function checkedCost(cost: number): number {
  if (typeof cost !== 'number') {
    throw typeError('WEIR_INVALID_COST', `cost is ${quote(cost)}; give a whole number, 0 or more`)
  }
  if (!Number.isSafeInteger(cost) || cost < 0) {
    const hint = cost < 0 ? ' (to give units back, use refund)' : ''
    throw rangeError(
      'WEIR_INVALID_COST',
      `cost is ${quote(cost)}; give a whole number, 0 or more${hint}`,
    )
  }
  return cost
}
