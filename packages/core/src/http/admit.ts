// The first step: whether a request is limited at all, and by which key.

import { quote } from '../errors.js'
import { warnOnce } from '../warnings.js'
import type { Check, HttpAdapter, Verdict } from './adapter.js'
import { sealed } from './answer.js'
import type { Ask } from './ask.js'
import { whenAtHand } from './at-hand.js'
import { addressFinder, isUsable, keyFinder, listing } from './client.js'
import type { LimitOptions } from './options.js'
import { barred, unidentified } from './refusal.js'

/** The bucket of all requests without a usable key. */
// The NUL keeps it apart from what headers, addresses and paths can hold.
const SHARED_KEY = '\0no-key'

export function admitting<Req, Res>(
  options: LimitOptions<Req>,
  name: string,
  adapter: HttpAdapter<Req, Res>,
  ask: Ask<Req, Res>,
): Check<Req, Res> {
  const { skip, onMissingKey, shadow = false } = options
  const addressOf = addressFinder(options, adapter)
  const listed = listing(options, addressOf)
  const keyOf = keyFinder(options, name, addressOf)

  function identify(request: Req, response: Res | undefined): Verdict | Promise<Verdict> {
    return whenAtHand(keyOf(request), (key) =>
      isUsable(key) ? ask(request, response, key) : withoutKey(request, response, key),
    )
  }

  function withoutKey(request: Req, response: Res | undefined, key: unknown): Verdict | Promise<Verdict> {
    if (onMissingKey === 'skip' || (onMissingKey === 'deny' && shadow)) return undefined
    if (onMissingKey === 'deny') return sealed(unidentified(), response, adapter)
    if (typeof onMissingKey === 'function') {
      return whenAtHand(onMissingKey(request), (found) =>
        ask(request, response, isUsable(found) ? found : SHARED_KEY),
      )
    }
    if (onMissingKey === undefined) warnOfMissing(options, name, key)
    return ask(request, response, SHARED_KEY)
  }

  return (request, response) => {
    if (adapter.method(request) === 'OPTIONS' && isPreflight(request, adapter)) return undefined
    const list = listed?.(request)
    if (list === 'deny' && !shadow) return sealed(barred(), response, adapter)
    if (list === 'allow') return undefined
    if (skip === undefined) return identify(request, response)
    return whenAtHand(skip(request), (skipped) => (skipped ? undefined : identify(request, response)))
  }
}

/** Browsers send these by themselves, without credentials, and no page can read their refusal. Other OPTIONS count. */
function isPreflight<Req, Res>(request: Req, { header }: HttpAdapter<Req, Res>): boolean {
  return (
    header(request, 'origin') !== undefined && header(request, 'access-control-request-method') !== undefined
  )
}

function warnOfMissing<Req>(options: LimitOptions<Req>, name: string, key: unknown): void {
  const shared = 'all such requests share one bucket; choose what becomes of them with onMissingKey'
  if (options.key === undefined) {
    warnOnce(
      'WEIR_NO_ADDRESS',
      name,
      `a request to limiter "${name}" has no usable client address; ${shared}`,
    )
  } else {
    warnOnce('WEIR_NO_KEY', name, `key of limiter "${name}" gave ${quote(key)} instead of a text; ${shared}`)
  }
}
