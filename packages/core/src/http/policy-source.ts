// What a request may take, from the options `policy` or `limit` and `window`.

import type { Policy } from '../algorithms/policy.js'
import { slidingWindow } from '../algorithms/sliding-log/sliding-window.js'
import { type Duration, durationMs } from '../base/duration.js'
import { quote, typeError } from '../base/errors.js'
import { type Awaitable, whenKnown } from '../base/maybe-async.js'
import type { PolicyInput } from '../limiter/limiter.js'
import { usesOf } from '../limiter/policy-set.js'
import type { Allowance, Asked } from './options.js'

/** A policy that is the same for all requests, or a function that gives each request's. */
export type PolicySource<Req, Rest extends unknown[]> =
  | { readonly fixed: PolicyInput; readonly of?: undefined }
  | { readonly fixed?: undefined; readonly of: Asked<Req, Rest, PolicyInput> }

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION */
export function policySource<Req, Rest extends unknown[]>(
  options: Allowance<Req, Rest> & { readonly name?: string },
): PolicySource<Req, Rest> {
  const { policy, limit, window, name } = options
  if ((policy === undefined) === (limit === undefined && window === undefined)) {
    throw typeError(
      'WEIR_INVALID_OPTION',
      `give either policy or limit and window; policy is ${quote(policy)}, limit ${quote(limit)}, window ${quote(window)}`,
    )
  }
  if (policy !== undefined) return typeof policy === 'function' ? { of: policy } : { fixed: policy }
  if (typeof limit !== 'function' && typeof window !== 'function') {
    // Named after the limiter, so that other numbers continue from the same count, and headers say what users called it.
    return {
      fixed: slidingWindow({ ...(name !== undefined && { name }), limit, window } as WindowNumbers),
    }
  }
  const windowOf = windows(name)
  return {
    of: (...asked) =>
      whenKnown(given(limit as Given<Req, Rest, number>, asked), (units) =>
        whenKnown(given(window as Given<Req, Rest, Duration>, asked), (span) =>
          windowOf(units, span),
        ),
      ),
  }
}

type WindowNumbers = Parameters<typeof slidingWindow>[0]
type Given<Req, Rest extends unknown[], Value> = Value | Asked<Req, Rest, Value>

function given<Req, Rest extends unknown[], Value>(
  value: Given<Req, Rest, Value>,
  asked: [request: Req, ...rest: Rest],
): Awaitable<Value> {
  return typeof value === 'function' ? (value as Asked<Req, Rest, Value>)(...asked) : value
}

/** What a limiter calls its policies. `limiter`: as the user named it. */
export function policyNames(policies: PolicyInput, limiter: string | undefined): readonly string[] {
  const owner = { limiter: limiter ?? 'default', isNamed: limiter !== undefined }
  return usesOf(policies, owner).map(({ policy }) => policy.name)
}

const MAX_WINDOWS = 1_000

/** Sliding windows by their numbers. Tiers are few; numbers that come from requests must not pile up. */
function windows(name: string | undefined): (limit: number, window: Duration) => Policy {
  const made = new Map<string, Policy>()
  return (limit, window) => {
    const numbers = `${typeof limit} ${limit} ${typeof window} ${window}`
    let policy = made.get(numbers)
    if (policy === undefined) {
      policy = slidingWindow({
        ...(name !== undefined && { name }),
        limit,
        window: durationMs(window, 'window'),
      })
      if (made.size >= MAX_WINDOWS) made.clear()
      made.set(numbers, policy)
    }
    return policy
  }
}
