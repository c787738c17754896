// The key that a client is counted by when nothing better than its address is known.

import { addressText, type Bits, isIpv4, isMapped, parseAddress, sameNetwork } from './address.js'
import { invalid, quote, rangeError } from './errors.js'

export interface AddressOptions {
  /** How many leading bits of an IPv6 address name one client: 32 to 128. Default 56. */
  readonly ipv6Prefix?: number | undefined
  /** Networks of 96 bits whose addresses end with an IPv4 address, besides `64:ff9b::/96`. */
  readonly nat64?: readonly string[] | undefined
}

const WELL_KNOWN_NAT64: Bits = [0x64, 0xff9b, 0, 0, 0, 0, 0, 0]

/**
 * Makes the function that turns an address into its client's key: IPv4 as `1.2.3.4`, IPv6 as its
 * network (`2001:db8:1234:5600::/56`), anything else as `undefined`.
 *
 * @throws {RangeError} WEIR_INVALID_OPTION
 * @example
 * const clientKey = addressKey()
 * rateLimit({ limit: 9, window: '1s', key: (req, res) => res.locals.user ?? clientKey(req.ip) })
 */
export function addressKey(
  options: AddressOptions = {},
): (address: string | undefined) => string | undefined {
  const { ipv6Prefix = 56 } = options
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    const right = 'give a whole number from 32 to 128'
    throw rangeError('WEIR_INVALID_OPTION', `ipv6Prefix is ${quote(ipv6Prefix)}; ${right}`)
  }
  const read = addressReader(options)
  return (address) => {
    if (typeof address !== 'string') return undefined
    if (isIpv4(address)) return address
    // How a server that listens on all addresses sees an IPv4 client: common enough for a fast
    // path.
    const mapped = address.startsWith('::ffff:') ? address.slice(7) : ''
    if (isIpv4(mapped)) return mapped
    const bits = read(address)
    return bits && keyOf(bits, ipv6Prefix)
  }
}

/**
 * Makes the function that reads an address, with IPv4 taken out of IPv6. The function returns
 * `undefined` for what is no address.
 */
export function addressReader({
  nat64 = [],
}: AddressOptions = {}): (address: string) => Bits | undefined {
  if (!Array.isArray(nat64))
    throw invalid('WEIR_INVALID_OPTION', 'nat64', nat64, 'an array of IPv6 networks')
  const prefixes = [WELL_KNOWN_NAT64, ...nat64.map(checkedNat64)]
  return (address) => {
    const bits = parseAddress(address)
    if (bits === undefined || isMapped(bits)) return bits
    if (!prefixes.some((prefix) => sameNetwork(bits, prefix, 96))) return bits
    return [0, 0, 0, 0, 0, 0xffff, bits[6] as number, bits[7] as number]
  }
}

function checkedNat64(network: string): Bits {
  const [address = '', length] = String(network).split('/')
  const bits = parseAddress(address)
  if (bits === undefined || isMapped(bits) || length !== '96') {
    const right = "give IPv6 networks of 96 bits, such as '2001:db8:64::/96'"
    throw rangeError('WEIR_INVALID_OPTION', `nat64 has ${quote(network)}; ${right}`)
  }
  return bits
}

function keyOf(bits: Bits, prefix: number): string {
  if (isMapped(bits) || isLoopback(bits)) return addressText(bits)
  const kept = bits.map((group, i) => group & masked(prefix - 16 * i))
  return `${addressText(kept)}/${prefix}`
}

function isLoopback(bits: Bits): boolean {
  return bits[7] === 1 && bits.every((group, i) => i === 7 || group === 0)
}

/** A group's mask when `length` bits are kept from its start on. */
function masked(length: number): number {
  if (length >= 16) return 0xffff
  return length <= 0 ? 0 : (0xffff << (16 - length)) & 0xffff
}
