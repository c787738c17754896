// What stores and layers do with requests: make policy sets, name targets, take parts, write
// results.

import type { Reading } from './algorithms/driver.js'
import type { Policy } from './algorithms/policy.js'
import { quote, rangeError } from './base/errors.js'
import type {
  PolicyResult,
  PolicySet,
  StoreRequest,
  StoreResult,
  Target,
  WhenUnavailable,
} from './store.js'

/** @throws {RangeError} WEIR_INVALID_POLICY if two policies of a decision have one name */
export function makePolicySet(
  name: string,
  policies: readonly Policy[],
  whenUnavailable?: readonly (WhenUnavailable | undefined)[],
): PolicySet {
  checkNames(
    name,
    policies.map((policy) => ({ policy })),
  )
  return Object.freeze({ name, policies: Object.freeze([...policies]), whenUnavailable })
}

/** @throws {RangeError} WEIR_INVALID_POLICY if two of the policies have one name */
export function checkNames(limiter: string, uses: readonly { readonly policy: Policy }[]): void {
  const names = new Set<string>()
  for (const { policy } of uses) {
    if (names.has(policy.name)) {
      throw rangeError(
        'WEIR_INVALID_POLICY',
        `limiter "${limiter}" has two policies named "${policy.name}"; give each a name of its own`,
      )
    }
    names.add(policy.name)
  }
}

/** @throws {RangeError} WEIR_INVALID_OPTION */
export function checkedWhen<When extends WhenUnavailable | undefined>(when: When): When {
  if (when === undefined || ['local', 'allow', 'deny', 'throw'].includes(when)) return when
  const right = "give 'local', 'allow', 'deny' or 'throw'"
  throw rangeError('WEIR_INVALID_OPTION', `whenUnavailable is ${quote(when)}; ${right}`)
}

const parts: WeakMap<PolicySet, Map<string, PolicySet>> = new WeakMap()

/** The target as if its set had only the policies at these places; itself if they are all. */
export function partOfTarget(target: Target, places: readonly number[]): Target {
  if (places.length === target.policySet.policies.length) return target
  const { policySet, key, ownKeys } = target
  const known = parts.get(policySet) ?? new Map<string, PolicySet>()
  parts.set(policySet, known)
  const id = places.join()
  const part =
    known.get(id) ??
    makePolicySet(
      policySet.name,
      places.map((i) => policySet.policies[i] as Policy),
      policySet.whenUnavailable && places.map((i) => policySet.whenUnavailable?.[i]),
    )
  known.set(id, part)
  return { policySet: part, key, ownKeys: ownKeys && places.map((i) => ownKeys[i]) }
}

/** The request as if its set had only the policies at these places. */
export function partOfRequest<Request extends Omit<StoreRequest, 'mode'>>(
  request: Request,
  places: readonly number[],
): Request {
  return {
    ...request,
    target: partOfTarget(request.target, places),
    costs: places.map((i) => request.costs[i] as number),
    untilUs: request.untilUs && places.map((i) => request.untilUs?.[i] as number),
  }
}

/** Whether each policy is charged one unit. */
export function areOne(costs: readonly number[]): boolean {
  for (let i = 0; i < costs.length; i += 1) if (costs[i] !== 1) return false
  return true
}

/** The result that readings of the kernels amount to. */
export function resultOf(
  { target, costs }: Pick<StoreRequest, 'target' | 'costs'>,
  granted: number,
  nowUs: number,
  readings: readonly Reading[],
  sentAtMs?: number,
): StoreResult {
  const all = target.policySet.policies
  // Of the right size: an array that grows by push takes room for 17 entries.
  const policies = new Array<PolicyResult>(all.length)
  const untilUs = new Array<number>(all.length)
  for (let i = 0; i < all.length; i += 1) {
    const policy = all[i] as Policy
    const { left, waitMs, resetUs } = readings[i] as Reading
    untilUs[i] = nowUs + resetUs
    policies[i] = {
      policy,
      cost: costs[i] as number,
      limit: policy.limit,
      remaining: left,
      retryAfterMs: waitMs < 0 ? Number.POSITIVE_INFINITY : waitMs,
      resetAfterMs: Math.ceil(resetUs / 1_000),
    }
  }
  return {
    granted,
    nowUs,
    untilUs,
    policies,
    source: 'store',
    degraded: false,
    unavailableMs: undefined,
    sentAtMs,
  }
}
