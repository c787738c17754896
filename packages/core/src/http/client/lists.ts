// Lists of networks: whom to let through, whom to turn away, which proxies to trust.

import { type Bits, isMapped, parseBare, sameNetwork } from '../../base/address.js'
import { type AddressOptions, addressReader } from '../../base/address-key.js'
import { invalid, quote, rangeError } from '../../base/errors.js'

interface Network {
  readonly bits: Bits
  readonly length: number
  readonly v4: boolean
}

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

interface AccessOptions extends AddressOptions {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/**
 * Makes the function that says on which of the lists a client is; `undefined` where there are none.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function accessList(
  options: AccessOptions,
): ((address: string | undefined) => 'allow' | 'deny' | undefined) | undefined {
  const { allow = [], deny = [] } = options
  const isAllowed = networkList(allow, 'allow', options)
  const isDenied = networkList(deny, 'deny', options)
  if (allow.length === 0 && deny.length === 0) return undefined
  return (address) => {
    if (isDenied(address)) return 'deny'
    return isAllowed(address) ? 'allow' : undefined
  }
}

/**
 * Makes the function that says whether an address is in one of these networks: addresses, CIDR
 * ranges, `'loopback'`, `'link-local'` or `'private'`. Anything that is no address is in none of
 * them. An IPv4 client matches IPv4 networks only, however its address is written. With `partial`,
 * a range that is a whole address family is refused.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function networkList(
  networks: readonly string[],
  what: string,
  options: AddressOptions = {},
  partial = false,
): (address: string | undefined) => boolean {
  if (!Array.isArray(networks)) {
    const right = 'an array of addresses and CIDR ranges'
    throw invalid('WEIR_INVALID_OPTION', what, networks, right)
  }
  const read = addressReader(options)
  const known = networks
    .flatMap((text) => NAMED[text] ?? [text])
    .map((text) => parseNetwork(text, what, read))
  if (partial && known.some(({ length, v4 }) => length === (v4 ? 96 : 0))) {
    const right = 'give the networks that are meant'
    throw rangeError('WEIR_INVALID_OPTION', `${what} has a range of all addresses; ${right}`)
  }
  return (address) => {
    const bits = typeof address === 'string' ? read(address) : undefined
    return bits !== undefined && known.some((network) => contains(network, bits))
  }
}

function contains(network: Network, bits: Bits): boolean {
  return network.v4 === isMapped(bits) && sameNetwork(bits, network.bits, network.length)
}

const LENGTH = /^(0|[1-9]\d{0,2})$/

function parseNetwork(
  text: string,
  what: string,
  read: (address: string) => Bits | undefined,
): Network {
  const [address, suffix, ...rest] = String(text).split('/') as [string, ...string[]]
  const written = parseBare(address)
  const bits = written && read(address)
  const most = address.includes(':') ? 128 : 32
  const length = suffix === undefined ? most : LENGTH.test(suffix) ? Number(suffix) : Number.NaN
  if (bits === undefined || rest.length > 0 || !(length <= most)) {
    const right =
      text === 'localhost'
        ? "give 'loopback', as names of hosts are not looked up"
        : "give addresses and CIDR ranges such as '10.0.0.0/8' or '2001:db8::/32'"
    throw rangeError('WEIR_INVALID_OPTION', `${what} has ${quote(text)}; ${right}`)
  }
  const prefix = length + 128 - most
  // A shorter one would reach from IPv4 into IPv6 (CVE-2026-90711), which nobody means.
  if (isMapped(bits) && prefix < 96) {
    const right = "write IPv4 ranges as IPv4, such as '10.0.0.0/8'"
    throw rangeError('WEIR_INVALID_OPTION', `${what} has ${quote(text)}; ${right}`)
  }
  return { bits, length: prefix, v4: isMapped(bits) }
}
