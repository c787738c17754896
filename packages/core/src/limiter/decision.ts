// A decision, as users see it. A denial is a value like any other; only misuse and failures throw.

import { traitsOf } from '../algorithms/modes.js'
import type { Policy } from '../algorithms/policy.js'
import { decisionChannel } from '../base/channels.js'
import type { Layer, Pending } from '../layer.js'
import type { Mode, PolicyResult, PolicySet, StoreRequest, StoreResult } from '../store.js'
import type { LimiterRequest } from './costs.js'
import {
  CLASS_ALLOWED,
  CLASS_DENIED,
  CLASS_FAILED,
  DENIALS,
  DENIED_UNITS,
  FAILED,
  NEAR_LIMIT,
  PENALTY,
  REFUNDED,
  type SetCounters,
  TAKEN,
} from './counters.js'

interface DecisionBase {
  /** Name of the limiter that decided. */
  readonly limiter: string
  /** The binding policy: when denied, the one with the longest wait; else the one with the smallest
   *  share of its limit left. */
  readonly policy: Policy
  /** Who was limited: the key as it was given, as text. */
  readonly key: string
  /** The limit of the binding policy; `policies` has those of all. */
  readonly limit: number
  /** Units of the binding policy that can still be taken now. */
  readonly remaining: number
  /** Ms until the binding policy has forgotten all that was taken. */
  readonly resetAfterMs: number
  /** The result of each policy, in the order in which the policies were given. */
  readonly policies: readonly PolicyResult[]
  /** What decided, in the words of `stats()` and of the metrics:
   *  - `store`: the store, which was asked for this decision
   *  - `cache`: the deny cache; the store denied the same request less than a second ago
   *  - `lease`: a lease; its units were taken in the store ahead of the request
   *  - `local`: this process, as the store could not be asked, or as the policy function failed and
   *    `whenPolicyFails` says `'allow'` or `'deny'`
   *  - `none`: nothing; the policy is `unlimited()`, or the limiter is switched off */
  readonly source: 'store' | 'cache' | 'lease' | 'local' | 'none'
  /** True if the shared store was not asked, because it could not be or the limiter is switched
   *  off: the limit is kept less exactly, or not at all. */
  readonly degraded: boolean
  /** The class of the request, where it was given one and something limits it. */
  readonly priority?: string | undefined
}

/** A decision that lets the request pass. What it cost has been charged. */
export interface Allowed extends DecisionBase {
  /** True. */
  readonly allowed: true
  /** Not there. Without `strictNullChecks`, TypeScript cannot tell this from `Denied`. */
  readonly reason?: undefined
  /** Not there, either. */
  readonly retryAfterMs?: undefined
  /** What was charged, and when: pass the decision to `refund` to give it back. */
  readonly receipt: Receipt
}

/** A decision that refuses the request. Nothing has been charged. */
export interface Denied extends DecisionBase {
  /** False. */
  readonly allowed: false
  /** Why:
   *  - `limit`: wait `retryAfterMs`
   *  - `cost-exceeds-limit`: the cost is above what can ever pass, so waiting cannot help
   *  - `store-unavailable`: the store could not decide, and `whenUnavailable` is `'deny'`
   *  - `policy-failed`: the policy function failed, and `whenPolicyFails` is `'deny'` */
  readonly reason: 'limit' | 'cost-exceeds-limit' | 'store-unavailable' | 'policy-failed'
  /** Ms until a request of this cost can pass, if nobody else takes anything. `Infinity`: never. */
  readonly retryAfterMs: number
}

/** What a limiter answers. A denial is a value like any other, not an error: look at `allowed`. */
export type Decision = Allowed | Denied

/** A decision of `wait`. */
export type WaitDecision = Decision & {
  /** How long it took, in whole ms. */
  readonly waitedMs: number
}

/** A decision of `consumeUpTo`. */
export type PartialDecision = Decision & {
  /** How many units were taken; 0 if it was denied. */
  readonly granted: number
}

/**
 * Proof of a charge. It is good for one refund, of all or of a part, by a limiter of the same name
 * on the same store. A copy of it (`structuredClone`, JSON) is not valid.
 */
export class Receipt {
  /** Undefined: nothing was charged. */
  readonly request: StoreRequest | undefined
  readonly result: StoreResult | undefined
  spent = false

  constructor(request: StoreRequest | undefined, result: StoreResult | undefined) {
    this.request = request
    this.result = result
  }

  /** Nothing: the log of a decision shows what was decided, not what is needed to undo it. */
  toJSON(): undefined {}
}

/** The decision, with its class. Others have no field of it, which would cost them room. */
function ofClass(decision: Decision, priority: string | undefined): Decision {
  return priority === undefined ? decision : Object.assign(decision, { priority })
}

/** The decision that a store's result amounts to. It is counted. */
export function decisionOf(request: LimiterRequest, result: StoreResult): Decision {
  const { granted, policies, unavailableMs } = result
  const place = bindingPlace(policies, granted === 0 && unavailableMs === undefined)
  const binding = policies[place] as PolicyResult
  const { mode, priority } = request
  const decision = ofClass(madeOf(request, result, binding), priority)
  const { counters } = request.target.policySet as CountedSet
  if (counters !== undefined) {
    if (mode === 'consume') count(counters, request, result, binding, place)
    else countOther(counters, request)
  }
  return published(decision, mode)
}

function countOfClass({ classes }: SetCounters, priority: string, place: number): void {
  const cells = classes.get(priority)
  if (cells !== undefined) add(cells, place, 1)
}

function madeOf(request: LimiterRequest, result: StoreResult, binding: PolicyResult): Decision {
  const { granted, unavailableMs } = result
  const { target, key = target.key } = request
  const { name } = target.policySet
  if (granted > 0)
    return new AllowedDecision(name, binding, key, result, new Receipt(request, result))
  if (unavailableMs !== undefined)
    return new DeniedDecision(name, binding, key, result, 'store-unavailable', unavailableMs)
  const { retryAfterMs } = binding
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY
  const reason = isNever ? 'cost-exceeds-limit' : 'limit'
  return new DeniedDecision(name, binding, key, result, reason, retryAfterMs)
}

/** A policy set of a limiter; those of others have no counters. */
interface CountedSet extends PolicySet {
  readonly counters?: SetCounters | undefined
}

/**
 * Counts what was consumed, in the rows and cells of counters.ts: here, as every decision passes
 * through this file.
 * @param place of the binding policy
 */
function count(
  counters: SetCounters,
  { costs, priority }: LimiterRequest,
  result: StoreResult,
  binding: PolicyResult,
  place: number,
): void {
  const row = rowOf(result)
  const cells = counters.policies[place] as Float64Array
  const isAllowed = result.granted > 0
  if (isAllowed) {
    add(counters.decisions, row, 1)
    addAll(counters.policies, TAKEN, costs)
    if (binding.remaining <= binding.limit * NEAR) add(cells, NEAR_LIMIT, 1)
  } else {
    add(counters.decisions, row + 3, 1)
    countDenial(cells, binding, result.unavailableMs !== undefined)
  }
  if (priority !== undefined)
    countOfClass(counters, priority, isAllowed ? CLASS_ALLOWED : CLASS_DENIED)
}

/** The place in ROWS of what a store has allowed; a denial is counted three places further. */
function rowOf({ source, degraded }: StoreResult): number {
  if (degraded || source === 'local') return 2
  return source === 'cache' || source === 'lease' ? 1 : 0
}

function countOther({ policies }: SetCounters, { mode, costs }: LimiterRequest): void {
  const { takes, gives } = traitsOf(mode)
  if (takes) addAll(policies, PENALTY, costs)
  else if (gives) addAll(policies, REFUNDED, costs)
}

function countDenial(cells: Float64Array, binding: PolicyResult, isUnavailable: boolean): void {
  add(cells, DENIED_UNITS, binding.cost)
  let reason = 0
  if (isUnavailable) reason = 2
  else if (binding.retryAfterMs === Number.POSITIVE_INFINITY) reason = 1
  add(cells, DENIALS + reason, 1)
}

function addAll(all: readonly Float64Array[], place: number, units: readonly number[]): void {
  for (let i = 0; i < units.length; i += 1) add(all[i] as Float64Array, place, units[i] as number)
}

/** The part of a limit that is left when it is near. */
const NEAR = 0.2

function add(counters: Float64Array, place: number, units: number): void {
  counters[place] = (counters[place] as number) + units
}

/** The decision where no policy limits anything. */
export function unlimitedDecision(
  limiter: string,
  key: string,
  policy: Policy,
  source: 'local' | 'none' = 'none',
  degraded = false,
): Allowed {
  const limit = Number.POSITIVE_INFINITY
  const binding = { policy, cost: 0, limit, remaining: limit, retryAfterMs: 0, resetAfterMs: 0 }
  const all: All = { policies: [binding], source, degraded }
  return new AllowedDecision(limiter, binding, key, all, new Receipt(undefined, undefined))
}

/** The denial where it is not known what limits. */
export function withoutPolicy(limiter: string, key: string, policy: Policy): Denied {
  const binding = { policy, limit: 0, remaining: 0, resetAfterMs: UNKNOWN_MS }
  const all = { policies: [], source: 'local', degraded: true } as const
  return new DeniedDecision(limiter, binding, key, all, 'policy-failed', UNKNOWN_MS)
}

/** Nothing says when a look-up will go well again. */
const UNKNOWN_MS = 1_000

/** What a layer decides. There is a promise only where it does not answer at once. */
export function decisionBy(layer: Layer, request: LimiterRequest): Decision | Promise<Decision> {
  const pending = new PendingDecision(request)
  layer.ask(request, pending)
  if (pending.decision !== undefined) return pending.decision
  if (pending.failure !== undefined) throw pending.failure.error
  waiting = pending
  return new Promise<Decision>(keepBoth)
}

class PendingDecision implements Pending {
  decision: Decision | undefined
  failure: { readonly error: unknown } | undefined
  resolve: ((decision: Decision) => void) | undefined
  reject: ((error: unknown) => void) | undefined
  readonly request: LimiterRequest

  constructor(request: LimiterRequest) {
    this.request = request
  }

  decided(result: StoreResult): void {
    this.decision = decisionOf(this.request, result)
    this.resolve?.(this.decision)
  }

  failed(error: unknown): void {
    if (this.request.mode === 'consume') countFailure(this.request)
    this.failure = { error }
    this.reject?.(error)
  }
}

let waiting: PendingDecision
/**
 * An executor that is made once: one for each promise would be a third of what the promise takes.
 */
function keepBoth(resolve: (decision: Decision) => void, reject: (error: unknown) => void): void {
  waiting.resolve = resolve
  waiting.reject = reject
}

/** The store could not decide, and nothing decides instead. */
export function countFailure({ target, priority }: LimiterRequest): void {
  const { counters } = target.policySet as CountedSet
  if (counters === undefined) return
  add(counters.decisions, FAILED, 1)
  if (priority !== undefined) countOfClass(counters, priority, CLASS_FAILED)
}

/** Units that a decision was charged more, or below 0 less, than was counted. */
export function countCorrection({ target }: StoreRequest, costs: readonly number[]): void {
  const { counters } = target.policySet as CountedSet
  counters?.policies.forEach((cells, i) => {
    const units = costs[i] as number
    add(cells, units > 0 ? TAKEN : REFUNDED, Math.abs(units))
  })
}

/** A decision that no store made. */
export function published<Made extends Decision>(decision: Made, mode: Mode): Made {
  if (mode === 'consume' && decisionChannel.hasSubscribers)
    decisionChannel.publish(Object.freeze(copyOf(decision)))
  return decision
}

/** A copy. Field by field: by `...` it takes over two microseconds, more than to decide. */
export function copyOf(decision: Decision): Decision {
  const { limiter, key, priority } = decision
  const copy = decision.allowed
    ? new AllowedDecision(limiter, decision, key, decision, decision.receipt)
    : new DeniedDecision(limiter, decision, key, decision, decision.reason, decision.retryAfterMs)
  return ofClass(copy, priority)
}

/** What a decision says of its binding policy. */
type Binding = Pick<PolicyResult, 'policy' | 'limit' | 'remaining' | 'resetAfterMs'>
/** What it says of all of them. */
type All = Pick<DecisionBase, 'policies' | 'source' | 'degraded'>

class AllowedDecision implements Allowed {
  readonly allowed = true
  readonly limiter: string
  readonly policy: Policy
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  readonly policies: readonly PolicyResult[]
  readonly source: Allowed['source']
  readonly degraded: boolean
  readonly receipt: Receipt

  constructor(limiter: string, binding: Binding, key: string, all: All, receipt: Receipt) {
    this.limiter = limiter
    this.policy = binding.policy
    this.key = key
    this.limit = binding.limit
    this.remaining = binding.remaining
    this.resetAfterMs = binding.resetAfterMs
    this.policies = all.policies
    this.source = all.source
    this.degraded = all.degraded
    this.receipt = receipt
  }
}

class DeniedDecision implements Denied {
  readonly allowed = false
  readonly reason: Denied['reason']
  readonly limiter: string
  readonly policy: Policy
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly policies: readonly PolicyResult[]
  readonly source: Denied['source']
  readonly degraded: boolean

  constructor(
    limiter: string,
    binding: Binding,
    key: string,
    all: All,
    reason: Denied['reason'],
    retryAfterMs: number,
  ) {
    this.reason = reason
    this.limiter = limiter
    this.policy = binding.policy
    this.key = key
    this.limit = binding.limit
    this.remaining = binding.remaining
    this.retryAfterMs = retryAfterMs
    this.resetAfterMs = binding.resetAfterMs
    this.policies = all.policies
    this.source = all.source
    this.degraded = all.degraded
  }
}

/**
 * The place of the result that binds: among those of a denied request, one that denied it; of
 * equals the first.
 */
function bindingPlace(results: readonly PolicyResult[], isDenied: boolean): number {
  let place = 0
  for (let i = 1; i < results.length; i += 1) {
    const binding = results[place] as PolicyResult
    const other = results[i] as PolicyResult
    const denies = isDenied && isViolated(other)
    if (bindsMore(other, denies, binding, isDenied && isViolated(binding))) place = i
  }
  return place
}

/** True if a policy denied the request. */
export function isViolated({ remaining, cost }: PolicyResult): boolean {
  return remaining < cost
}

/** What the binding rule compares: of policies, or of whole decisions. */
type Comparable = Pick<PolicyResult, 'limit' | 'remaining'> & {
  readonly retryAfterMs?: number | undefined
}

/**
 * The binding rule: true if `one` says more than `other` about what the client may do. What denied
 * the request goes before what did not, then the longer wait before the shorter; where nothing was
 * denied, the smaller share before the larger.
 */
export function bindsMore(
  one: Comparable,
  oneDenies: boolean,
  other: Comparable,
  otherDenies: boolean,
): boolean {
  if (oneDenies !== otherDenies) return oneDenies
  if (oneDenies) return (one.retryAfterMs ?? 0) > (other.retryAfterMs ?? 0)
  return shareOf(one) < shareOf(other)
}

/** The fraction of a limit that is left. A limit of 0 has nothing left. */
function shareOf({ limit, remaining }: Comparable): number {
  if (limit === Number.POSITIVE_INFINITY) return 1
  return limit > 0 ? remaining / limit : 0
}
