// Who makes a request: its address, whether that is on a list, and the key that it is counted by.

import { type Awaitable, whenKnown } from '../../base/maybe-async.js'
import { warnOnce } from '../../base/warnings.js'
import type { HttpAdapter } from '../adapter.js'
import type { LimitOptions, MaybeKey } from '../options.js'
import { type AddressOptions, addressKey } from './address-key.js'
import { networkList } from './lists.js'
import { headerOf, type ProxyOptions, proxyResolver } from './proxies.js'
import { trustWatcher } from './warnings.js'

/** As the framework or a proxy gives it: it may be none. */
export type Address = string | undefined

/** Makes the function that finds the client's address, as the options or else the framework say. */
export function addressFinder<Req>(
  options: AddressOptions & { readonly proxies?: ProxyOptions },
  adapter: Pick<HttpAdapter<Req, never>, 'address' | 'peer' | 'header' | 'trust'>,
): (request: Req) => Address {
  const { proxies } = options
  if (proxies === undefined) {
    const watch = trustWatcher(adapter)
    return (request) => {
      watch(request)
      return adapter.address(request)
    }
  }
  const resolve = proxyResolver(proxies, options)
  const header = headerOf(proxies)
  return (request) => resolve(adapter.peer(request), adapter.header(request, header))
}

interface Lists extends AddressOptions {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

/** Makes the function that tells what the lists say of a client; `undefined` where there are no lists. */
export function listing(
  options: Lists,
): ((address: Address) => 'allow' | 'deny' | undefined) | undefined {
  const { allow = [], deny = [] } = options
  const allows = networkList(allow, 'allow', options)
  const denies = networkList(deny, 'deny', options)
  if (allow.length === 0 && deny.length === 0) return undefined
  return (address) => {
    if (denies(address)) return 'deny'
    return allows(address) ? 'allow' : undefined
  }
}

/** Makes the function that finds a request's key, which may be missing. */
export function keyFinder<Req, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  name: string,
): (request: Req, address: Address, rest: Rest) => Awaitable<MaybeKey> {
  const keyOfAddress = addressKey(options)
  const { key } = options
  if (key === undefined) return (_, address) => keyOfAddress(address)
  return (request, _, rest) => whenKnown(key(request, ...rest), (found) => watched(found, name))
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
