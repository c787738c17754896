// The second step: what a request may take and what it costs, and the decision.

import type { Policy } from '../algorithms/policy.js'
import { slidingWindow } from '../algorithms/sliding-log/sliding-window.js'
import { type Duration, durationMs } from '../base/duration.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import { type Awaitable, whenKnown } from '../base/maybe-async.js'
import type { Decision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import { type Key, type PolicyInput, usesOf } from '../limiter/policy-set.js'
import type { Allowance, Asked, LimitOptions } from './options.js'

/** The decision on a request whose `cost` gave no cost: 1 was charged. */
export class InvalidCost {
  readonly decision: Decision

  constructor(decision: Decision) {
    this.decision = decision
  }
}

export type Consumed = Decision | InvalidCost

export type Consume<Req, Rest extends unknown[]> = (
  request: Req,
  key: Key,
  rest: Rest,
) => Consumed | Promise<Consumed>

export function consumer<Req, Rest extends unknown[]>(
  { cost = 1 }: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  policyOf: Asked<Req, Rest, PolicyInput> | undefined,
): Consume<Req, Rest> {
  if (typeof cost !== 'function') {
    if (!isCost(cost)) {
      throw rangeError(
        'WEIR_INVALID_OPTION',
        `cost is ${quote(cost)}; give a whole number, 0 or more, or a function`,
      )
    }
    if (policyOf === undefined) {
      const options = { cost }
      return (_, key) => limiter.decide(key, options)
    }
  }
  const costOf = typeof cost === 'function' ? cost : () => cost
  return (request, key, rest) =>
    whenKnown(costOf(request, ...rest), (units) => {
      const isValid = isCost(units)
      // A request that makes its own cost invalid must not be free.
      const options = {
        cost: isValid ? units : 1,
        ...(policyOf && { policy: () => whenKnown(policyOf(request, ...rest), (input) => input) }),
      }
      const decision = limiter.decide(key, options)
      return isValid ? decision : whenKnown(decision, (known) => new InvalidCost(known))
    })
}

function isCost(units: unknown): units is number {
  return Number.isSafeInteger(units) && (units as number) >= 0
}

/** A policy that is the same for all requests, or a function that gives that of each. */
export type PolicySource<Req, Rest extends unknown[]> =
  | { readonly fixed: PolicyInput; readonly of?: undefined }
  | { readonly fixed?: undefined; readonly of: Asked<Req, Rest, PolicyInput> }

/**
 * What requests may take, from the options `policy` or `limit` and `window`.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION
 */
export function policySource<Req, Rest extends unknown[]>(
  options: Allowance<Req, Rest>,
  name: string | undefined,
): PolicySource<Req, Rest> {
  const { policy, limit, window } = options
  if ((policy === undefined) === (limit === undefined && window === undefined)) {
    const given = `policy is ${quote(policy)}, limit ${quote(limit)}, window ${quote(window)}`
    throw typeError('WEIR_INVALID_OPTION', `give either policy or limit and window; ${given}`)
  }
  if (policy !== undefined) return typeof policy === 'function' ? { of: policy } : { fixed: policy }
  // Named after the limiter, so that other numbers continue from the same count, and headers say
  // what users called it.
  if (typeof limit !== 'function' && typeof window !== 'function')
    return { fixed: slidingWindow({ name, limit, window }) }
  const windowOf = windowsByNumbers(name)
  return {
    of: (...request) =>
      whenKnown(forRequest(limit, request), (units) =>
        whenKnown(forRequest(window, request), (span) => windowOf(units, span)),
      ),
  }
}

function forRequest<Req, Rest extends unknown[], Value extends string | number>(
  value: Value | Asked<Req, Rest, Value>,
  request: [request: Req, ...rest: Rest],
): Awaitable<Value> {
  return typeof value === 'function' ? value(...request) : value
}

/** What a limiter calls its policies. `limiter`: as the user named it. */
export function policyNames(policies: PolicyInput, limiter: string | undefined): readonly string[] {
  const owner = { limiter: limiter ?? 'default', isNamed: limiter !== undefined }
  return usesOf(policies, owner).map(({ policy }) => policy.name)
}

const MAX_WINDOWS = 1_000

/** Tiers are few, but numbers that come from requests must not pile up. */
function windowsByNumbers(name: string | undefined): (limit: number, window: Duration) => Policy {
  const known = new Map<string, Policy>()
  return (limit, window) => {
    const numbers = `${typeof limit} ${limit} ${typeof window} ${window}`
    let policy = known.get(numbers)
    if (policy === undefined) {
      policy = slidingWindow({ name, limit, window: durationMs(window, 'window') })
      if (known.size >= MAX_WINDOWS) known.clear()
      known.set(numbers, policy)
    }
    return policy
  }
}
