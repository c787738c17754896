// Who the client is behind proxies: the forwarding header is read from its end, where our own
// proxies wrote, and only as far as they can be trusted. What a client wrote into it itself is
// never reached.

import { quote, rangeError, typeError } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { type AddressOptions, addressKey } from './address-key.js'
import { networkList } from './lists.js'

/** Which proxies are in front of the server, and how they say who the client is. */
export interface ProxyOptions {
  /** The proxies in front of this server: addresses, CIDR ranges, `'loopback'`, `'link-local'`,
   *  `'private'`, `'unix'` (whoever connects through a Unix socket), or a function that decides. */
  readonly trusted: readonly string[] | ((address: string) => boolean)
  /** The header in which they send the client's address. `x-forwarded-for` and `forwarded` hold
   *  lists; any other header holds one address, as `cf-connecting-ip` and `x-real-ip` do. Default
   *  `x-forwarded-for`. */
  readonly header?: string | undefined
}

/** More hops than any real chain has. */
const MAX_HOPS = 32

/**
 * Makes the function that finds the client's address, given the other end of the connection and the
 * header's value. The result may be no address at all, where the last trusted proxy said so
 * (`unknown`, `_hidden`).
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function proxyResolver(
  options: ProxyOptions,
  addresses: AddressOptions = {},
): (peer: string | undefined, forwarded: string | undefined) => string | undefined {
  checkedOptions(options, 'proxies', ['trusted', 'header'])
  const { trusts, trustsUnix } = trustIn(options.trusted, addresses)
  const hopsOf = hopReader(headerOf(options))
  return (peer, forwarded) => {
    if (forwarded === undefined || !(peer ? trusts(peer) : trustsUnix())) return peer
    let client: string | undefined
    for (const hop of hopsOf(forwarded)) {
      client = hop
      // An empty hop, as any other that is no address, cannot be trusted.
      if (!trusts(hop)) break
    }
    return client
  }
}

/** The header that the options name, in lower case. */
export function headerOf({ header = 'x-forwarded-for' }: ProxyOptions): string {
  if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header)) {
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `proxies.header is ${quote(header)}; give the name of a header`,
    )
  }
  return header.toLowerCase()
}

interface Trusting {
  trusts(address: string): boolean
  /** Whoever connects without an address. */
  trustsUnix(): boolean
}

function trustIn(trusted: ProxyOptions['trusted'], addresses: AddressOptions): Trusting {
  if (typeof trusted === 'function') {
    const textOf = addressKey({ ...addresses, ipv6Prefix: 128 })
    return {
      trusts: (address) => {
        const text = textOf(address)?.replace('/128', '')
        return text !== undefined && trusted(text) === true
      },
      trustsUnix: () => trusted('unix') === true,
    }
  }
  if (!Array.isArray(trusted)) {
    const right = 'give an array of addresses and CIDR ranges, or a function'
    throw typeError('WEIR_INVALID_OPTION', `proxies.trusted is ${quote(trusted)}; ${right}`)
  }
  const networks = trusted.filter((network) => network !== 'unix')
  // To trust everybody is to let any client name the address it is counted by.
  const trusts = networkList(networks, 'proxies.trusted', addresses, true)
  return { trusts, trustsUnix: () => trusted.includes('unix') }
}

function hopReader(header: string): (value: string) => Iterable<string> {
  if (header === 'forwarded') return (value) => forwardedFor(value).reverse().slice(0, MAX_HOPS)
  if (header === 'x-forwarded-for') return fromTheEnd
  return (value) => [value.trim()]
}

function* fromTheEnd(list: string): Generator<string> {
  let end = list.length
  for (let hops = 0; hops < MAX_HOPS && end >= 0; hops += 1) {
    const comma = end > 0 ? list.lastIndexOf(',', end - 1) : -1
    yield list.slice(comma + 1, end).trim()
    end = comma
  }
}

/**
 * A pair, which may be missing, and what follows it. No two parts that can match the same text are
 * side by side, or a header could take quadratic time.
 */
const PAIR = /[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)[ \t]*)?([;,]|$)/y
const OBFUSCATED_PORT = /:_[\w.-]+$/

/** The `for` of each element of a Forwarded header (RFC 7239); `['']` if it is malformed. */
function forwardedFor(value: string): string[] {
  const hops: string[] = []
  let hop = ''
  // Lists may have empty elements, which are none, and elements empty pairs.
  let isElement = false
  PAIR.lastIndex = 0
  while (true) {
    const match = PAIR.exec(value)
    if (match === null) return ['']
    const [, name = '', raw = '', separator] = match
    if (name.toLowerCase() === 'for') hop = unquoted(raw).replace(OBFUSCATED_PORT, '')
    isElement ||= name !== '' || separator === ';'
    if (separator === ';') continue
    if (isElement) hops.push(hop)
    hop = ''
    isElement = false
    if (separator === '') return hops.length > 0 ? hops : ['']
  }
}

function unquoted(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1).replace(/\\(.)/g, '$1') : raw
}
