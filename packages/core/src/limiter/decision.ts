// The answer to a request. A denial is a value like any other; only misuse and failures are thrown.

import type { Policy } from '../algorithms/policy.js'
import type { PolicyResult, StoreRequest, StoreResult } from '../store.js'

interface DecisionBase {
  /** The binding policy: when denied, the one with the longest wait; else the one with the smallest share left. */
  readonly policy: Policy
  readonly key: string
  /** Limit, remaining and reset of the binding policy; `policies` has those of all. */
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** Every policy's own figures, in the order in which they were given. */
  readonly policies: readonly PolicyResult[]
  /** Where it was decided: by the store, or in this process without asking it. */
  readonly source: 'store' | 'local'
  /** True if the shared store was not asked, because it could not be or the limiter is switched off: the limit is kept
   *  less exactly, or not at all. */
  readonly degraded: boolean
}

export interface Allowed extends DecisionBase {
  readonly allowed: true
  /** What was charged, and when: pass the decision to `refund` to give it back. */
  readonly receipt: Receipt
}

export interface Denied extends DecisionBase {
  readonly allowed: false
  /** - `limit`: wait `retryAfterMs`
   *  - `cost-exceeds-limit`: the cost is above what can ever pass, so waiting cannot help
   *  - `store-unavailable`: the store could not decide and the limiter was told to deny then */
  readonly reason: 'limit' | 'cost-exceeds-limit' | 'store-unavailable'
  /** Ms until a request of this cost can pass, if nobody else takes anything. `Infinity`: never. */
  readonly retryAfterMs: number
}

export type Decision = Allowed | Denied

/**
 * Proof of a charge. It is good for one refund, of all or of a part, by a limiter of the same name
 * on the same store. A copy of it (`structuredClone`, JSON) is none.
 */
export class Receipt {
  readonly request: StoreRequest | undefined
  readonly result: StoreResult
  spent: boolean

  constructor(request: StoreRequest | undefined, result: StoreResult, spent: boolean) {
    this.request = request
    this.result = result
    this.spent = spent
  }

  /** Nothing: a decision that is logged shows what was decided, and not what it takes to undo it. */
  toJSON(): undefined {}
}

/** The decision that a result of a store amounts to. */
export function decisionOf(request: StoreRequest, result: StoreResult): Decision {
  const { policies, source, degraded } = result
  const { key } = request.target
  const isAllowed = result.granted > 0
  const isUnavailable = !isAllowed && result.unavailableMs !== undefined
  const binding = isAllowed || isUnavailable ? scarcest(policies) : slowest(policies)
  const { policy, limit, remaining, resetAfterMs } = binding
  if (isAllowed) {
    return {
      allowed: true,
      policy,
      key,
      limit,
      remaining,
      resetAfterMs,
      policies,
      source,
      degraded,
      receipt: new Receipt(request, result, false),
    }
  }
  const retryAfterMs = result.unavailableMs ?? binding.retryAfterMs
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY
  return {
    allowed: false,
    reason: isUnavailable ? 'store-unavailable' : isNever ? 'cost-exceeds-limit' : 'limit',
    policy,
    key,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs,
    policies,
    source,
    degraded,
  }
}

/** The decision where no policy limits anything. */
export function unlimitedDecision(key: string, policy: Policy, degraded = false): Allowed {
  const limit = Number.POSITIVE_INFINITY
  const figures = { policy, cost: 0, limit, remaining: limit, retryAfterMs: 0, resetAfterMs: 0 }
  const result: StoreResult = {
    granted: 1,
    nowUs: 0,
    untilUs: [],
    policies: [figures],
    source: 'local',
    degraded,
  }
  return {
    allowed: true,
    policy,
    key,
    limit,
    remaining: limit,
    resetAfterMs: 0,
    policies: result.policies,
    source: 'local',
    degraded,
    receipt: new Receipt(undefined, result, true),
  }
}

/** The smallest share left; of equals the first. A limit of 0 has nothing left. */
function scarcest(figures: readonly PolicyResult[]): PolicyResult {
  let binding = figures[0] as PolicyResult
  for (let i = 1; i < figures.length; i += 1) {
    const other = figures[i] as PolicyResult
    if (share(other) < share(binding)) binding = other
  }
  return binding
}

function share({ limit, remaining }: PolicyResult): number {
  return limit > 0 ? remaining / limit : 0
}

/** The longest wait among the policies that denied; of equals the first. */
function slowest(figures: readonly PolicyResult[]): PolicyResult {
  let binding: PolicyResult | undefined
  for (const other of figures) {
    if (other.remaining >= other.cost) continue
    if (binding === undefined || other.retryAfterMs > binding.retryAfterMs) binding = other
  }
  return binding ?? (figures[0] as PolicyResult)
}
