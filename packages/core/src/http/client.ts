// Who makes a request: its address, whether that is on a list, and the key that it is counted by.

import { warnOnce } from '../warnings.js'
import type { HttpAdapter } from './adapter.js'
import { addressKey } from './address-key.js'
import { trustAdviser } from './advice.js'
import { whenAtHand } from './at-hand.js'
import { networkList } from './networks.js'
import type { Awaitable, LimitOptions, MaybeKey } from './options.js'
import { headerOf, proxyResolver } from './proxies.js'

/** Makes the function that finds the client's address, as the options or else the framework say. */
export function addressFinder<Req, Res>(
  options: LimitOptions<Req>,
  adapter: HttpAdapter<Req, Res>,
): (request: Req) => string | undefined {
  const { proxies } = options
  if (proxies === undefined) {
    const advise = trustAdviser(adapter)
    return (request) => {
      advise(request)
      return adapter.address(request)
    }
  }
  const resolve = proxyResolver(proxies, options)
  const header = headerOf(proxies)
  return (request) => resolve(adapter.peer(request), adapter.header(request, header))
}

/** Makes the function that tells what the lists say of a client; `undefined` where there are no lists. */
export function listing<Req>(
  options: LimitOptions<Req>,
  addressOf: (request: Req) => string | undefined,
): ((request: Req) => 'allow' | 'deny' | undefined) | undefined {
  const { allow = [], deny = [] } = options
  const allows = networkList(allow, 'allow', options)
  const denies = networkList(deny, 'deny', options)
  if (allow.length === 0 && deny.length === 0) return undefined
  return (request) => {
    const address = addressOf(request)
    if (denies(address)) return 'deny'
    return allows(address) ? 'allow' : undefined
  }
}

/** Makes the function that finds a request's key, which may be missing. */
export function keyFinder<Req>(
  options: LimitOptions<Req>,
  name: string,
  addressOf: (request: Req) => string | undefined,
): (request: Req) => Awaitable<MaybeKey> {
  const keyOfAddress = addressKey(options)
  const { key } = options
  if (key === undefined) return (request) => keyOfAddress(addressOf(request))
  return (request) => whenAtHand(key(request), (found) => watched(found, name))
}

/** A full IPv6 address is no key: its owner has 2^64 of them and more. */
function watched(key: MaybeKey, name: string): MaybeKey {
  if (typeof key === 'string' && key.includes(':') && IPV6.test(key)) {
    warnOnce(
      'WEIR_RAW_ADDRESS',
      name,
      `key of limiter "${name}" gives full IPv6 addresses, of which a client has any number; use addressKey()`,
    )
  }
  return key
}

const IPV6 = /^(?=.*:.*:)[0-9A-Fa-f:]+(?:[\d.]+)?(?:%.*)?$/

export function isUsable(key: MaybeKey): key is string {
  return typeof key === 'string' && key !== ''
}
