// The second step: what a request costs and what it may take, and the decision.

import { quote, rangeError } from '../base/errors.js'
import { isPromise, whenKnown } from '../base/maybe-async.js'
import type { Key, PolicyInput, RateLimiter } from '../limiter/limiter.js'
import type { Verdict } from './adapter.js'
import type { Asked, LimitOptions } from './options.js'
import type { Answer } from './respond.js'

/** Asks the limiter about a key, and answers the request. */
export type Ask<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  key: Key,
  rest: Rest,
) => Verdict | Promise<Verdict>

export function asking<Req, Res, Rest extends unknown[]>(
  { cost = 1 }: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  policyOf: Asked<Req, Rest, PolicyInput> | undefined,
  answer: Answer<Req, Res, Rest>,
): Ask<Req, Res, Rest> {
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
          ? decided.then((decision) => answer(request, response, decision, true, rest))
          : answer(request, response, decided, true, rest)
      }
    }
  }
  const costOf = typeof cost === 'function' ? cost : () => cost
  return (request, response, key, rest) =>
    whenKnown(costOf(request, ...rest), (units) => {
      const sound = isCost(units)
      // A request that makes its own cost invalid must not be free.
      const asked = { cost: sound ? units : 1 }
      const policy = policyOf && (() => whenKnown(policyOf(request, ...rest), (input) => input))
      return whenKnown(limiter.decide(key, policy ? { ...asked, policy } : asked), (decision) =>
        answer(request, response, decision, sound, rest),
      )
    })
}

function isCost(units: unknown): units is number {
  return Number.isSafeInteger(units) && (units as number) >= 0
}
