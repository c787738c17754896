// Delaying a request until its turn instead of refusing it.

import type { WaitDecision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import type { WaitOptions } from '../limiter/options.js'
import type { Key } from '../policy-input.js'
import type { HttpAdapter } from './adapter.js'
import { clientLeft, limiterClosed, type Refusal } from './response/refusal.js'

/** A request on which no decision was made, for what it is itself: it is refused. */
export class Undecided {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    this.refusal = refusal
  }
}

/** Why a wait was aborted. */
const LEFT = Symbol('the client has left')

/** A client that leaves meanwhile gives its turn back; without a response that cannot be known. */
export async function waitForTurn<Res>(
  limiter: RateLimiter,
  key: Key,
  options: WaitOptions,
  response: Res | undefined,
  { afterResponse }: Pick<HttpAdapter<never, Res, never>, 'afterResponse'>,
): Promise<WaitDecision | Undecided> {
  const leaving = new AbortController()
  if (response !== undefined) afterResponse(response, () => leaving.abort(LEFT))
  try {
    return await limiter.wait(key, { ...options, signal: leaving.signal })
  } catch (error) {
    if (error === LEFT) return new Undecided(clientLeft())
    if ((error as { code?: unknown } | null)?.code === 'WEIR_CLOSED')
      return new Undecided(limiterClosed())
    throw error
  }
}
