// The second step: what a request costs and what it may take, and the decision.

import { quote, rangeError } from '../base/errors.js'
import { isPromise, whenKnown } from '../base/maybe-async.js'
import type { Key, PolicyInput, RateLimiter } from '../limiter/limiter.js'
import type { Verdict } from './adapter.js'
import type { Asked, LimitOptions } from './options.js'
import type { Respond } from './respond.js'

/** Asks the limiter about a key, and answers the request. */
export type Consume<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  key: Key,
  rest: Rest,
) => Verdict | Promise<Verdict>

export function consumer<Req, Res, Rest extends unknown[]>(
  { cost = 1 }: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  policyOf: Asked<Req, Rest, PolicyInput> | undefined,
  respond: Respond<Req, Res, Rest>,
): Consume<Req, Res, Rest> {
  if (typeof cost !== 'function') {
    if (!isCost(cost)) {
      throw rangeError(
        'WEIR_INVALID_OPTION',
        `cost is ${quote(cost)}; give a whole number, 0 or more, or a function`,
      )
    }
    if (policyOf === undefined) {
      const asked = { cost }
      return (request, response, key, rest) => {
        const decided = limiter.decide(key, asked)
        return isPromise(decided)
          ? decided.then((decision) => respond(request, response, decision, true, rest))
          : respond(request, response, decided, true, rest)
      }
    }
  }
  const costOf = typeof cost === 'function' ? cost : () => cost
  return (request, response, key, rest) =>
    whenKnown(costOf(request, ...rest), (units) => {
      const validCost = isCost(units)
      // A request that makes its own cost invalid must not be free.
      const asked = { cost: validCost ? units : 1 }
      const policy = policyOf && (() => whenKnown(policyOf(request, ...rest), (input) => input))
      return whenKnown(limiter.decide(key, policy ? { ...asked, policy } : asked), (decision) =>
        respond(request, response, decision, validCost, rest),
      )
    })
}

function isCost(units: unknown): units is number {
  return Number.isSafeInteger(units) && (units as number) >= 0
}
