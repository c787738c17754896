// What a request may take, from the options `policy` or `limit` and `window`.

import { type Duration, durationMs } from '../duration.js'
import { quote, typeError } from '../errors.js'
import type { PolicyInput } from '../limiter.js'
import { slidingWindow } from '../policies/sliding-window.js'
import type { Policy } from '../policy.js'
import { whenAtHand } from './at-hand.js'
import type { Allowance, Awaitable } from './options.js'

/** A policy that is the same for all requests, or a function that gives each request's. */
export type PolicySource<Req> =
  | { readonly fixed: PolicyInput; readonly of?: undefined }
  | { readonly fixed?: undefined; readonly of: (request: Req) => Awaitable<PolicyInput> }

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION */
export function policySource<Req>(options: Allowance<Req> & { readonly name?: string }): PolicySource<Req> {
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
    return { fixed: slidingWindow({ ...(name !== undefined && { name }), limit, window } as WindowNumbers) }
  }
  const windowOf = windows(name ?? 'default')
  return {
    of: (request) =>
      whenAtHand(given(limit as Given<Req, number>, request), (units) =>
        whenAtHand(given(window as Given<Req, Duration>, request), (span) => windowOf(units, span)),
      ),
  }
}

type WindowNumbers = Parameters<typeof slidingWindow>[0]
type Given<Req, Value> = Value | ((request: Req) => Awaitable<Value>)

function given<Req, Value>(value: Given<Req, Value>, request: Req): Awaitable<Value> {
  return typeof value === 'function' ? (value as (request: Req) => Awaitable<Value>)(request) : value
}

const MAX_WINDOWS = 1_000

/** Sliding windows by their numbers. Tiers are few; numbers that come from requests must not pile up. */
function windows(name: string): (limit: number, window: Duration) => Policy {
  const made = new Map<string, Policy>()
  return (limit, window) => {
    const numbers = `${typeof limit} ${limit} ${typeof window} ${window}`
    let policy = made.get(numbers)
    if (policy === undefined) {
      policy = slidingWindow({ name, limit, window: durationMs(window, 'window') })
      if (made.size >= MAX_WINDOWS) made.clear()
      made.set(numbers, policy)
    }
    return policy
  }
}
