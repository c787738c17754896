// Decisions, as users see them. A denial is a value like any other; only misuse and failures throw.

import type { Policy } from '../algorithms/policy.js'
import type { PolicyResult, StoreRequest, StoreResult } from '../store.js'
import type { LimiterRequest } from './limiter-request.js'

/** What all decisions have. */
interface DecisionBase {
  readonly allowed: boolean
  /** The name of the limiter. */
  readonly limiter: string
  /** The binding policy: when denied, the one with the longest wait; else the one with the smallest
   *  share left. */
  readonly policy: Policy
  /** The key, as text. */
  readonly key: string
  /** The limit of the binding policy. */
  readonly limit: number
  /** Units of the binding policy that can still be taken. */
  readonly remaining: number
  /** Ms until the binding policy has forgotten all that was taken. */
  readonly resetAfterMs: number
  /**
   * Units of the binding policy in use. Computed when read, so copies of the decision do not have
   * it.
   */
  readonly used: number
  /**
   * `resetAfterMs` as an instant of the store's clock; undefined: no store has decided. Computed
   * when read.
   */
  readonly resetTime: Date | undefined
  /** The result of each policy, in the given order. */
  readonly policies: readonly PolicyResult[]
  /**
   * What decided: the store, when it was asked; the deny cache (`'cache'`); a lease; this process
   * (`'local'`), without the store or where the policy function failed; or nothing (`'none'`), as
   * `unlimited()` or a limiter that is switched off.
   */
  readonly source: 'store' | 'cache' | 'lease' | 'local' | 'none'
  /** True: the store was not asked, as it could not be or the limiter is switched off. */
  readonly degraded: boolean
  /** The request's class, if it has one and something limits it. */
  readonly priority?: string | undefined
}

/** A decision that lets the request pass (`allowed` is true). Its cost has been charged. */
export interface Allowed extends DecisionBase {
  /** True. */
  readonly allowed: true
  /** Absent. */
  readonly reason?: undefined
  /** Absent as well. */
  readonly retryAfterMs?: undefined
  /** What was charged: pass the decision to `refund` to give it back. */
  readonly receipt: Receipt
}

/** A decision that refuses the request (`allowed` is false). Nothing has been charged. */
export interface Denied extends DecisionBase {
  /** False. */
  readonly allowed: false
  /**
   * Why:
   * - `limit`: wait `retryAfterMs`; `Infinity`: a budget is used up
   * - `cost-exceeds-limit`: the cost is above what can ever pass
   * - `store-unavailable`, `policy-failed`: `whenUnavailable` or `whenPolicyFails` is `'deny'`
   * - `blocked`: by a lock-out, for `retryAfterMs`
   *
   * Later versions may have more: treat one that you do not know as `limit`.
   */
  readonly reason:
    | 'limit'
    | 'cost-exceeds-limit'
    | 'store-unavailable'
    | 'policy-failed'
    | 'blocked'
  /** Ms until this cost can pass, if nobody else takes anything. `Infinity`: never. */
  readonly retryAfterMs: number
}

/** What a limiter answers. A denial is no error: look at `allowed`. */
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

/** What a settlement did. */
export interface Settlement {
  /** What each policy says after it, with the units by which its charge changed as `cost`, and what
   *  it `crossed`. Empty: there was nothing to settle. */
  readonly policies: readonly PolicyResult[]
  /** True: the time of a held estimate was over, or its renewal got no answer, so all that was used
   *  has been charged anew. False where the store is away, as nobody knows. */
  readonly late: boolean
}

/**
 * Proof of a charge. It is good for one refund, and for one release of slots, by a limiter of the
 * same name on the same store. A copy of it is not valid.
 */
export class Receipt {
  /** Undefined: nothing was charged. */
  readonly request: StoreRequest | undefined
  readonly result: StoreResult | undefined
  /** Its units were given back or settled. */
  spent = false
  /** The slots that it took, once they are renewed or released. */
  slots: object | undefined = undefined

  constructor(request: StoreRequest | undefined, result: StoreResult | undefined) {
    this.request = request
    this.result = result
  }

  /** Returns nothing: a logged decision shows what was decided, not what is needed to undo it. */
  toJSON(): undefined {}
}

/** What a decision says of its binding policy. */
type Binding = Pick<PolicyResult, 'policy' | 'limit' | 'remaining' | 'resetAfterMs'>
/** What it says of all of them. */
type All = Pick<DecisionBase, 'policies' | 'source' | 'degraded'>

// Two classes without a common base class: with `super`, a decision takes a tenth longer.

function usedOf({ limit, remaining }: Pick<DecisionBase, 'limit' | 'remaining'>): number {
  return limit === Number.POSITIVE_INFINITY ? 0 : Math.max(0, limit - remaining)
}

function resetTimeOf(policy: Policy, result: StoreResult | undefined): Date | undefined {
  const at = result?.policies.findIndex((each) => each.policy === policy) ?? -1
  const each = result?.policies[at]
  if (result === undefined || each === undefined) return undefined
  const untilUs = result.untilUs[at] as number
  // Windows end at whole milliseconds, wherever within one the store's clock was.
  const ms = Number.isFinite(untilUs) ? untilUs / 1_000 : result.nowUs / 1_000 + each.resetAfterMs
  return new Date(policy.kernel?.traits.drains ? Math.ceil(ms) : Math.floor(ms))
}

class AllowedDecision implements Allowed {
  readonly allowed = true
  readonly limiter: string
  readonly policy: Policy
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  readonly policies: readonly PolicyResult[]
  readonly source: DecisionBase['source']
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

  get used(): number {
    return usedOf(this)
  }

  get resetTime(): Date | undefined {
    return resetTimeOf(this.policy, this.receipt.result)
  }
}

class DeniedDecision implements Denied {
  readonly allowed = false
  readonly limiter: string
  readonly policy: Policy
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  readonly policies: readonly PolicyResult[]
  readonly source: DecisionBase['source']
  readonly degraded: boolean
  readonly reason: Denied['reason']
  readonly retryAfterMs: number
  /** Undefined: no store was asked. */
  readonly #result: StoreResult | undefined

  constructor(
    limiter: string,
    binding: Binding,
    key: string,
    all: All,
    reason: Denied['reason'],
    retryAfterMs: number,
    result: StoreResult | undefined,
  ) {
    this.limiter = limiter
    this.policy = binding.policy
    this.key = key
    this.limit = binding.limit
    this.remaining = binding.remaining
    this.resetAfterMs = binding.resetAfterMs
    this.policies = all.policies
    this.source = all.source
    this.degraded = all.degraded
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.#result = result
  }

  get used(): number {
    return usedOf(this)
  }

  get resetTime(): Date | undefined {
    return resetTimeOf(this.policy, this.#result)
  }

  static copyOf(one: DeniedDecision): DeniedDecision {
    const { limiter, key, reason, retryAfterMs } = one
    return new DeniedDecision(limiter, one, key, one, reason, retryAfterMs, one.#result)
  }
}

/** The decision of a store, without its class. */
export function madeOf(
  request: LimiterRequest,
  result: StoreResult,
  binding: PolicyResult,
): Decision {
  const { granted, unavailableMs } = result
  const { target, key = target.key } = request
  const { name } = target.policySet
  if (granted > 0)
    return new AllowedDecision(name, binding, key, result, new Receipt(request, result))
  if (unavailableMs !== undefined)
    return new DeniedDecision(
      name,
      binding,
      key,
      result,
      'store-unavailable',
      unavailableMs,
      result,
    )
  const { retryAfterMs, block, cost, limit, policy } = binding
  const isUsedUp = policy.kernel?.traits.isLasting === true && cost <= limit
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY && !isUsedUp
  const reason = isNever ? 'cost-exceeds-limit' : block?.isBlocked ? 'blocked' : 'limit'
  return new DeniedDecision(name, binding, key, result, reason, retryAfterMs, result)
}

/** The decision with its class. Decisions without one have no field for it, which would cost
 *  memory. */
export function ofClass(decision: Decision, priority: string | undefined): Decision {
  return priority === undefined ? decision : Object.assign(decision, { priority })
}

/** A copy, made field by field: `...` takes over two microseconds, more than a decision. */
export function copyOf(decision: Decision): Decision {
  const { limiter, key, priority } = decision
  const copy = decision.allowed
    ? new AllowedDecision(limiter, decision, key, decision, decision.receipt)
    : DeniedDecision.copyOf(decision as DeniedDecision)
  return ofClass(copy, priority)
}

/** A copy with more fields. The decision that was observed stays as it is. */
export function withMore<More extends object>(decision: Decision, more: More): Decision & More {
  return Object.assign(copyOf(decision), more)
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

/** The denial if the policies are not known. */
export function withoutPolicy(limiter: string, key: string, policy: Policy): Denied {
  const binding = { policy, limit: 0, remaining: 0, resetAfterMs: UNKNOWN_MS }
  const all = { policies: [], source: 'local', degraded: true } as const
  return new DeniedDecision(limiter, binding, key, all, 'policy-failed', UNKNOWN_MS, undefined)
}

/** Nobody knows when the policy function will work again. */
const UNKNOWN_MS = 1_000
