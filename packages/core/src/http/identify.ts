// The first step: whether a request is limited at all, and by which key.

import { quote } from '../base/errors.js'
import { whenKnown } from '../base/maybe-async.js'
import { warnOnce } from '../base/warnings.js'
import { isKey } from '../limiter/policy-set.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { type Address, addressFinder, keyFinder, listing } from './client/find.js'
import type { Consume } from './consume.js'
import type { LimitOptions } from './options.js'
import { setRefusalHeaders } from './respond.js'
import { denyListed, unidentified } from './response/refusal.js'

/** The bucket of all requests without a usable key. */
// The NUL keeps it apart from what headers, addresses and paths can hold.
const SHARED_KEY = '\0no-key'

/** Judges a request from the first step to the last. */
export type Identify<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  rest: Rest,
) => Verdict | Promise<Verdict>

export function identifier<Req, Res, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  name: string,
  adapter: HttpAdapter<Req, Res, Rest>,
  consume: Consume<Req, Res, Rest>,
): Identify<Req, Res, Rest> {
  const { skip, onMissingKey, shadow = false } = options
  const listed = listing(options)
  const addressOf = addressFinder(options, adapter)
  const needsAddress = options.key === undefined || listed !== undefined
  const keyOf = keyFinder(options, name)

  type Judged = ReturnType<Identify<Req, Res, Rest>>

  function withKey(request: Req, response: Res | undefined, address: Address, rest: Rest): Judged {
    const key = keyOf(request, address, rest)
    if (isKey(key)) return consume(request, response, key, rest)
    return whenKnown(key, (found) =>
      isKey(found)
        ? consume(request, response, found, rest)
        : withoutKey(request, response, found, rest),
    )
  }

  function withoutKey(request: Req, response: Res | undefined, key: unknown, rest: Rest): Judged {
    if (onMissingKey === 'skip' || (onMissingKey === 'deny' && shadow)) return undefined
    if (onMissingKey === 'deny') return setRefusalHeaders(unidentified(), response, adapter)
    if (typeof onMissingKey === 'function') {
      return whenKnown(onMissingKey(request, ...rest), (found) =>
        consume(request, response, isKey(found) ? found : SHARED_KEY, rest),
      )
    }
    if (onMissingKey === undefined) warnOfMissing(options.key === undefined, name, key)
    return consume(request, response, SHARED_KEY, rest)
  }

  return (request, response, rest) => {
    if (adapter.method(request) === 'OPTIONS' && isPreflight(request, adapter)) return undefined
    // Before anything is waited for: the socket of a client that has left meanwhile has no address any more.
    const address = needsAddress ? addressOf(request) : undefined
    const list = listed?.(address)
    if (list === 'deny' && !shadow) return setRefusalHeaders(denyListed(), response, adapter)
    if (list === 'allow') return undefined
    if (skip === undefined) return withKey(request, response, address, rest)
    return whenKnown(skip(request, ...rest), (skipped) =>
      skipped ? undefined : withKey(request, response, address, rest),
    )
  }
}

/** Browsers send these by themselves, without credentials, and no page can read their refusal. Other OPTIONS count. */
function isPreflight<Req>(
  request: Req,
  { header }: Pick<HttpAdapter<Req, never>, 'header'>,
): boolean {
  return (
    header(request, 'origin') !== undefined &&
    header(request, 'access-control-request-method') !== undefined
  )
}

function warnOfMissing(byAddress: boolean, name: string, key: unknown): void {
  const shared = 'all such requests share one bucket; choose what becomes of them with onMissingKey'
  if (byAddress) {
    warnOnce(
      'WEIR_NO_ADDRESS',
      name,
      `a request to limiter "${name}" has no usable client address; ${shared}`,
    )
  } else {
    warnOnce(
      'WEIR_NO_KEY',
      name,
      `key of limiter "${name}" gave ${quote(key)}, which is no text and no whole number; ${shared}`,
    )
  }
}
