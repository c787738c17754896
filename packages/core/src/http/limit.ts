// What a rate limit means to an HTTP request, once for all frameworks. Three steps: admit.ts says whether the request
// is limited and by which key, ask.ts gets the decision, answer.ts does to the response what the decision means. A
// framework's adapter reads requests and writes responses, and decides nothing.

import { quote, typeError } from '../errors.js'
import { type PolicyInput, RateLimiter } from '../limiter.js'
import { warnOnce } from '../warnings.js'
import type { Check, HttpAdapter } from './adapter.js'
import { admitting } from './admit.js'
import { adviseOnStore } from './advice.js'
import { policySource } from './allowance.js'
import { answering } from './answer.js'
import { asking } from './ask.js'
import { checkOptions, type LimitOptions } from './options.js'

export interface HttpLimiter<Req, Res> {
  /** The limiter beneath, to peek, refund, charge or reset a key, or to switch it off. */
  readonly limiter: RateLimiter
  readonly check: Check<Req, Res>
}

/**
 * A limiter of requests, for adapters of frameworks.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, and what names and policies throw
 */
export function httpLimiter<Req, Res>(
  options: LimitOptions<Req>,
  adapter: HttpAdapter<Req, Res>,
): HttpLimiter<Req, Res> {
  checkOptions(options)
  const source = policySource(options)
  const limiter = limiterOf(options, source.fixed)
  const answer = answering(options, limiter, adapter)
  const ask = asking(options, limiter, source.of, answer)
  const check = admitting(options, limiter.name, adapter, ask)
  return { limiter, check: options.shadow ? shielded(check, limiter.name) : check }
}

function limiterOf<Req>(options: LimitOptions<Req>, fixed: PolicyInput | undefined): RateLimiter {
  const { name = 'default', store, onDecision, whenUnavailable, shared } = options
  const limiter = new RateLimiter({
    name,
    policy: fixed ?? fromRequestsOnly(name),
    ...(store !== undefined && { store }),
    ...(onDecision !== undefined && { onDecision }),
    ...(whenUnavailable !== undefined && { whenUnavailable }),
    ...(shared !== undefined && { shared }),
  })
  adviseOnStore(limiter.store)
  return limiter
}

function fromRequestsOnly(name: string): () => never {
  return () => {
    throw typeError(
      'WEIR_INVALID_POLICY',
      `limiter "${name}" has a policy for requests only; pass { policy }`,
    )
  }
}

/** A trial must not break what it watches. */
function shielded<Req, Res>(check: Check<Req, Res>, name: string): Check<Req, Res> {
  const failed = (error: unknown): undefined => {
    warnOnce('WEIR_SHADOW_FAILED', name, `limiter "${name}" could not decide in shadow mode: ${quote(error)}`)
  }
  return (request, response) => {
    try {
      const verdict = check(request, response)
      return verdict instanceof Promise ? verdict.catch(failed) : verdict
    } catch (error) {
      return failed(error)
    }
  }
}
