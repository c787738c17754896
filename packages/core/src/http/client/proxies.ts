// Finds the client behind proxies. The forwarding header is read from its end, where trusted
// proxies wrote, and only as far as they can be trusted, so what a client wrote itself is never
// reached.

import { parseAddress } from '../../base/address.js'
import { type AddressOptions, addressKey } from '../../base/address-key.js'
import { invalid, quote, rangeError } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { warnOnce } from '../../base/warnings.js'
import { networkList } from './lists.js'

/** Which proxies are in front of the server: see docs/behind-a-proxy.md. */
export interface ProxyOptions {
  /** Addresses, CIDR ranges, `'loopback'`, `'link-local'`, `'private'`, `'unix'` (whoever connects
   *  through a Unix socket), or a function that decides. */
  readonly trusted: readonly string[] | ((address: string) => boolean)
  /**
   * The header with the client's address. `x-forwarded-for` and `forwarded` hold lists, any other
   * one address. Default `x-forwarded-for`.
   */
  readonly header?: string | undefined
}

/** More hops than any real chain has. */
const MAX_HOPS = 32

/** How a proxy says that it does not know, or does not tell, who its client is. */
const NOBODY = /^(?:unknown|_[\w.-]+)(?::\d{1,5})?$/i

/**
 * Makes the function that finds the client's address, given the address of the connection's other
 * end and the header's value. The result is not an address where the last trusted proxy named none
 * (`unknown`, `_hidden`). If what that proxy sent cannot be read, its own address stands for its
 * clients.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function proxyResolver(
  options: ProxyOptions,
  addresses: AddressOptions = {},
): (peer: string | undefined, forwarded: string | undefined) => string | undefined {
  checkedOptions(options, 'proxies', ['trusted', 'header'])
  const { trusts, trustsUnix } = trustIn(options.trusted, addresses)
  const header = headerOf(options)
  const hopsOf = hopReader(header)
  return (peer, forwarded) => {
    if (forwarded === undefined || !(peer ? trusts(peer) : trustsUnix())) return peer
    let sender = peer
    for (const hop of hopsOf(forwarded)) {
      if (hop !== undefined && trusts(hop)) {
        sender = hop
        continue
      }
      if (hop !== undefined && (NOBODY.test(hop) || parseAddress(hop) !== undefined)) return hop
      warnOfUnreadable(header)
      return sender
    }
    return sender
  }
}

function warnOfUnreadable(header: string): void {
  const what = `a trusted proxy sent ${header} without an address that can be read`
  warnOnce('WEIR_NO_ADDRESS', header, `${what}; such requests count by the address of the proxy`)
}

/** The header that the options name, in lower case. */
export function headerOf({ header = 'x-forwarded-for' }: ProxyOptions): string {
  if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header)) {
    const right = 'give the name of a header'
    throw rangeError('WEIR_INVALID_OPTION', `proxies.header is ${quote(header)}; ${right}`)
  }
  return header.toLowerCase()
}

interface Trusting {
  trusts(address: string): boolean
  /** Whether whoever connects without an address is trusted. */
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
    const right = 'an array of addresses and CIDR ranges, or a function'
    throw invalid('WEIR_INVALID_OPTION', 'proxies.trusted', trusted, right)
  }
  const networks = trusted.filter((network) => network !== 'unix')
  // Trusting everybody would let any client choose the address that it is counted by.
  const trusts = networkList(networks, 'proxies.trusted', addresses, true)
  return { trusts, trustsUnix: () => trusted.includes('unix') }
}

/** Reads the hops of a header, the last first; `undefined` for one that is malformed. */
function hopReader(header: string): (value: string) => Iterable<string | undefined> {
  if (header === 'forwarded') return forwardedFor
  if (header === 'x-forwarded-for') return fromTheEnd
  // Proxies that add a line, rather than replace the client's, add it at the end.
  return (value) => [value.slice(value.lastIndexOf(',') + 1).trim()]
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
 * The `for` of each element of a Forwarded header (RFC 7239). Elements are cut off from the end, so
 * that a quote that a client left open cannot reach into an element that a proxy appended.
 */
function* forwardedFor(list: string): Generator<string | undefined> {
  let end = list.length
  for (let hops = 0; hops < MAX_HOPS && end >= 0; ) {
    const comma = commaBefore(list, end)
    const element = list.slice(comma + 1, end).trim()
    end = comma
    // Lists may have empty elements, which do not count.
    if (element === '') continue
    hops += 1
    yield forOf(element)
  }
}

/** The place of the last comma before `end` that is not in a quoted string; -1: there is none. */
function commaBefore(list: string, end: number): number {
  let isQuoted = false
  for (let i = end - 1; i >= 0; i -= 1) {
    const unit = list[i]
    if (unit === '"') isQuoted = !isQuoted || isEscaped(list, i)
    else if (unit === ',' && !isQuoted) return i
  }
  return -1
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}

/**
 * A pair, which may be missing, and what follows it. No two adjacent parts can match the same text,
 * or a header could take quadratic time.
 */
const PAIR = /[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)[ \t]*)?(;|$)/y
const OBFUSCATED_PORT = /:_[\w.-]+$/

/** The one `for` of an element; `undefined` if it has none, or more, or is malformed. */
function forOf(element: string): string | undefined {
  let hop: string | undefined
  PAIR.lastIndex = 0
  while (true) {
    const match = PAIR.exec(element)
    if (match === null) return undefined
    const [, name = '', raw = '', separator] = match
    if (name.toLowerCase() === 'for') {
      if (hop !== undefined) return undefined
      hop = unquoted(raw).replace(OBFUSCATED_PORT, '')
    }
    if (separator === '') return hop
  }
}

function unquoted(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1).replace(/\\(.)/g, '$1') : raw
}
