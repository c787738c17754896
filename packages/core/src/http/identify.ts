// The first step: whether a request is limited at all, and by which key.

import { parseAddress } from '../base/address.js'
import { addressKey } from '../base/address-key.js'
import { quote } from '../base/errors.js'
import { NO_KEY } from '../base/key-text.js'
import { whenKnown } from '../base/maybe-async.js'
import { warnOnce } from '../base/warnings.js'
import type { UndecidedCounters } from '../limiter/counters.js'
import { isKey, isLongKey, type Key } from '../policy-input.js'
import type { HttpAdapter } from './adapter.js'
import { accessList } from './client/lists.js'
import { headerOf, proxyResolver } from './client/proxies.js'
import { checkTrust, checkTrusted } from './client/warnings.js'
import type { LimitOptions } from './options.js'
import { denyListed, longKey, type Refusal, unidentified } from './response/refusal.js'

/** A request's key, or its refusal; undefined: the request is not limited. */
type Client = Key | Refusal | undefined

export function identifier<Req, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  limiterName: string,
  adapter: HttpAdapter<Req, never, Rest>,
  undecided: UndecidedCounters,
): (request: Req, rest: Rest) => Client | Promise<Client> {
  const { key, skip, onMissingKey, preflight = 'skip', shadow = false } = options
  const skipsPreflights = preflight === 'skip'
  const listOf = accessList(options)
  const addressOf = addressFinder(options, adapter)
  const needsAddress = key === undefined || listOf !== undefined
  const keyOfAddress = addressKey(options)

  function keyOf(request: Req, address: string | undefined, rest: Rest): Client | Promise<Client> {
    if (key === undefined) return keyOfAddress(address) ?? withoutKey(request, undefined, rest)
    return whenKnown(key(request, ...rest), (found) => {
      if (!isKey(found)) return withoutKey(request, found, rest)
      warnOfRawAddress(found, limiterName)
      return counted(found)
    })
  }

  /** A key that is too long to be counted must neither go free nor share the bucket of others. */
  function counted(key: Key): Client {
    if (!isLongKey(key)) return key
    undecided.noKey += 1
    return shadow ? undefined : longKey()
  }

  function withoutKey(request: Req, found: unknown, rest: Rest): Client | Promise<Client> {
    if (onMissingKey === 'skip' || onMissingKey === 'deny') {
      undecided.noKey += 1
      return onMissingKey === 'skip' || shadow ? undefined : unidentified()
    }
    if (typeof onMissingKey === 'function') {
      return whenKnown(onMissingKey(request, ...rest), (other) =>
        isKey(other) ? counted(other) : NO_KEY,
      )
    }
    if (onMissingKey === undefined) warnOfMissingKey(key === undefined, limiterName, found)
    return NO_KEY
  }

  return (request, rest) => {
    if (skipsPreflights && isPreflight(request, adapter)) {
      undecided.preflight += 1
      return undefined
    }
    // Before anything is awaited: the socket of a client that leaves meanwhile loses its address.
    const address = needsAddress ? addressOf(request) : undefined
    const list = listOf?.(address)
    if (list === 'deny' && !shadow) {
      undecided.denyList += 1
      return denyListed()
    }
    if (list === 'allow') {
      undecided.allowList += 1
      return undefined
    }
    if (skip === undefined) return keyOf(request, address, rest)
    return whenKnown(skip(request, ...rest), (skipped) => {
      if (!skipped) return keyOf(request, address, rest)
      undecided.skip += 1
      return undefined
    })
  }
}

/** A proxy shows in every request except probes from inside, so Weir checks the first requests and
 *  then a few. */
const FIRST_CHECKED = 100
const THEN_EVERY = 64

/** Makes the function that finds the client's address, by the options or else the framework. */
function addressFinder<Req>(
  options: LimitOptions<Req, never>,
  adapter: HttpAdapter<Req, never, never>,
): (request: Req) => string | undefined {
  const { proxies } = options
  if (proxies !== undefined) {
    const resolve = proxyResolver(proxies, options)
    checkTrusted(proxies.trusted)
    const header = headerOf(proxies)
    return (request) => resolve(adapter.peer(request), adapter.header(request, header))
  }
  let seen = 0
  let isChecked = false
  return (request) => {
    if (!isChecked) {
      seen += 1
      if (seen <= FIRST_CHECKED || seen % THEN_EVERY === 0) isChecked = checkTrust(request, adapter)
    }
    return adapter.address(request)
  }
}

/**
 * Browsers send preflights by themselves, without credentials, and no page can read a refusal.
 * Other OPTIONS requests count.
 */
function isPreflight<Req>(request: Req, adapter: HttpAdapter<Req, never, never>): boolean {
  return (
    adapter.method(request) === 'OPTIONS' &&
    adapter.header(request, 'origin') !== undefined &&
    adapter.header(request, 'access-control-request-method') !== undefined
  )
}

function warnOfMissingKey(byAddress: boolean, name: string, key: unknown): void {
  const what = byAddress
    ? `a request to limiter "${name}" has no usable client address`
    : `key of limiter "${name}" gave ${quote(key)}, neither a text nor a whole number`
  const shared = 'all such requests share one bucket; onMissingKey chooses otherwise'
  warnOnce(byAddress ? 'WEIR_NO_ADDRESS' : 'WEIR_NO_KEY', name, `${what}; ${shared}`)
}

/** A full IPv6 address is not a good key: its owner has at least 2^64 of them. */
function warnOfRawAddress(key: Key, name: string): void {
  if (typeof key !== 'string' || key.indexOf(':') === key.lastIndexOf(':')) return
  if (parseAddress(key) === undefined) return
  const what = `key of limiter "${name}" gives full IPv6 addresses`
  warnOnce(
    'WEIR_RAW_ADDRESS',
    name,
    `${what}, and a client has at least 2^64 of them; use addressKey()`,
  )
}
