// A limiter for frameworks whose handlers go on with a callback: Express's `next`, Fastify's
// `done`.

import { isPromise } from '../base/maybe-async.js'
import type { Denied } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { asThrown, httpLimiter } from './http-limiter.js'
import type { HttpOptions } from './options.js'
import type { Refusal } from './response/refusal.js'

export interface CallbackLimiter<Req, Res> {
  readonly limiter: RateLimiter
  handle(request: Req, response: Res, next: (error?: never) => void): void
}

/**
 * `httpLimiter` as a handler. Errors go to its callback.
 * @experimental
 * @param answer answers with what `onDenied` has returned; by default, that is ignored
 */
export function callbackLimiter<Req, Res, Next extends (error?: never) => void>(
  options: HttpOptions<Req, [Res, Next], [Res]>,
  adapter: HttpAdapter<Req, Res, [Res]>,
  refuse: (refusal: Refusal, response: Res) => void,
  answer?: (body: unknown, response: Res) => void,
): CallbackLimiter<Req, Res> {
  const { check, limiter } = httpLimiter<Req, Res, [Res]>(options, adapter)
  const { onDenied } = options

  function go(verdict: Verdict, request: Req, response: Res, next: Next): void {
    if (verdict === undefined) next()
    else if (onDenied && verdict.decision?.allowed === false)
      void answerWith(verdict.decision, request, response, next)
    else refuse(verdict, response)
  }

  /** Express 4 and Fastify ignore the promise of such a handler. */
  async function answerWith(
    decision: Denied,
    request: Req,
    response: Res,
    next: Next,
  ): Promise<void> {
    try {
      const body = await onDenied?.(decision, request, response, next)
      answer?.(body, response)
    } catch (error) {
      next(asThrown(error) as never)
    }
  }

  function handle(request: Req, response: Res, callback: (error?: never) => void): void {
    const next = callback as Next
    let verdict: Verdict | Promise<Verdict>
    try {
      verdict = check(request, response, response)
    } catch (error) {
      next(error as never)
      return
    }
    // Outside the try: errors of later handlers are not the limiter's.
    if (isPromise(verdict))
      verdict.then((settled) => go(settled, request, response, next), next as () => void)
    else go(verdict, request, response, next)
  }

  return { limiter, handle }
}
