// Whether the addresses in a log are those of clients. A key that is not one, such as a word of a
// prefix, a proxy's address or a list that its client has written, would make every figure wrong.

import { addressKey, FORWARDING_HEADERS, proxyResolver } from '@weir/core/http'
import { shown } from './shown.js'

/** What the addresses were that entries were asked for. */
export interface AddressReport {
  /** How often entries were asked for an address, or for a header with addresses, by each
   *  limiter. */
  readonly asked: number
  /** Lists of addresses: without `trusted`, each is one key, and its client may have written all
   *  of it but the end. */
  readonly lists: number
  /** What is neither an address nor a host name, and was left out. */
  readonly others: number
  /** The first of these, printable. */
  readonly firstOther: string | undefined
  /** What makes the addresses look like those of proxies. Undefined: nothing. */
  readonly proxies: ProxyReport | undefined
}

export interface ProxyReport {
  /** The addresses that nearly all requests have: one, or a few private ones; or those of trusted
   *  proxies that most have. None: most requests have other addresses in the header. */
  readonly addresses: readonly string[]
  /** Whether these are addresses of `trusted`. */
  readonly areTrusted: boolean
  /** The header in which most requests have other addresses. Undefined: there is none. */
  readonly header: string | undefined
}

/** An entry that is asked for its headers as they were sent. */
interface Sent {
  sent(lowerName: string): string | undefined
}

const LIST = 'x-forwarded-for'
/** Each of the first entries is looked at for headers that name other clients; later, one in 64,
 *  which counts as 64. */
const FIRST = 1_000
const THEN_EVERY = 64
/** With fewer requests, one address may have nearly all by chance. */
const FEWEST = 30
/** The share of the requests that is nearly all of them. */
const NEARLY_ALL = 0.9
/** The most private addresses that are rather those of proxies than of clients. */
const MOST_PROXIES = 10
const NEAR = ['private', 'loopback', 'link-local']

const networkOf = addressKey()
const addressOf = addressKey({ ipv6Prefix: 128 })

let lastText: string | undefined
let lastKey: string | undefined

/** The key of an address, as the middlewares count it; undefined for what is no address. Remembers
 *  the last one: each is asked for when it is read, and again when it is counted. */
export function clientKey(text: string): string | undefined {
  if (text === lastText) return lastKey
  lastKey = networkOf(text)
  lastText = text
  return lastKey
}

/** Whether a text is a name as Apache logs it for an address: `client.example`, with a dot. */
export function isHostName(text: string): boolean {
  return text.length < 256 && (text === 'localhost' || HOST.test(text))
}

const HOST = /^(?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62}\.?$/i

/** The end of a list of addresses. */
export function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim()
}

type Resolve = ReturnType<typeof proxyResolver>

/** Checks the addresses of a log, and finds the client in lists of them. */
export class Clients {
  readonly #resolve: ReadonlyMap<string, Resolve> | undefined
  /** Whether an address is that of a trusted proxy; without `trusted`, whether it is private. */
  readonly #isNear: (address: string) => boolean
  #asked = 0
  #lists = 0
  #others = 0
  #firstOther: string | undefined
  /** The address that most requests have, if one has most, and by how many more than the others. */
  #most = ''
  #lead = 0
  #voted = 0
  /** Entries with a header that has another address, those whose address it does not have, and the
   *  addresses that are near, with how often each is. */
  #forwarded = 0
  #behind = 0
  #header: string | undefined
  readonly #near = new Map<string, number>()

  /** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
  constructor(trusted: readonly string[] | undefined) {
    const near = proxyResolver({ trusted: trusted ?? NEAR })
    this.#isNear = (address) => near(address, 'unknown') === 'unknown'
    if (trusted === undefined) return
    // Whoever wrote the log is trusted to have written it.
    const through = { trusted: [...trusted, 'unix'] }
    this.#resolve = new Map(
      [LIST, 'forwarded'].map((header) => [header, proxyResolver({ ...through, header })]),
    )
  }

  /** The address of an entry: of its client, if `trusted` says which are proxies. */
  of(text: string | undefined, entry: Sent): string | undefined {
    if (text === undefined) return undefined
    const address = this.#checked(text, entry)
    if (address === undefined) return undefined
    this.#voted += 1
    if (this.#voted <= FIRST) this.#look(address, entry, 1)
    else if (this.#voted % THEN_EVERY === 0) this.#look(address, entry, THEN_EVERY)
    if (address === this.#most) this.#lead += 1
    else if (this.#lead > 0) this.#lead -= 1
    else {
      this.#most = address
      this.#lead = 1
    }
    return address
  }

  #checked(text: string, entry: Sent): string | undefined {
    this.#asked += 1
    if (this.#resolve === undefined) {
      if (clientKey(text) !== undefined || isHostName(text)) return text
      if (this.#isList(text)) return text
    } else {
      const before = entry.sent(LIST)
      const client = this.#clientIn(LIST, before === undefined ? text : `${before}, ${text}`)
      if (client !== undefined) return client
    }
    this.#other(text)
    return undefined
  }

  #clientIn(header: string, list: string): string | undefined {
    const client = this.#resolve?.get(header)?.(undefined, list)
    return client === undefined || clientKey(client) === undefined ? undefined : client
  }

  #isList(text: string): boolean {
    if (!text.includes(',')) return false
    this.#lists += 1
    return true
  }

  /** Counts a line in which no address was found. */
  without(line: string): void {
    this.#asked += 1
    this.#other(line)
  }

  #other(text: string): void {
    this.#others += 1
    this.#firstOther ??= shown(text, 60)
  }

  /** A header that an entry is asked for, as it was sent: the client, if it has a list. */
  header(lowerName: string, sent: string | undefined): string | undefined {
    if (sent === undefined || (lowerName !== LIST && lowerName !== 'forwarded')) return sent
    this.#asked += 1
    if (this.#resolve !== undefined) return this.#clientIn(lowerName, sent)
    this.#isList(sent)
    return sent
  }

  /** A field of a user's choice: the client, if it is a list of addresses. */
  field(text: string): string | undefined {
    const isList = text.includes(',') && clientKey(lastOf(text)) !== undefined
    return isList ? this.header(LIST, text) : text
  }

  #look(address: string, entry: Sent, weight: number): void {
    if (this.#near.size <= MOST_PROXIES && this.#isNear(address))
      this.#near.set(address, (this.#near.get(address) ?? 0) + weight)
    const own = clientKey(address)
    for (const name of FORWARDING_HEADERS) {
      const sent = entry.sent(name)
      if (sent === undefined) continue
      this.#header ??= name
      const addresses = sent.split(/[\s,;="]+/).map((part) => networkOf(part))
      if (!addresses.some((one) => one !== undefined && one !== own)) return
      this.#forwarded += weight
      if (!addresses.includes(own)) this.#behind += weight
      return
    }
  }

  report(): AddressReport {
    const counts = { asked: this.#asked, lists: this.#lists, others: this.#others }
    return { ...counts, firstOther: this.#firstOther, proxies: this.#proxies() }
  }

  #proxies(): ProxyReport | undefined {
    if (this.#voted < FEWEST) return undefined
    const isBehind = 2 * this.#behind >= this.#voted
    const addresses = this.#fewAddresses(isBehind)
    if (addresses.length === 0 && !isBehind) return undefined
    const header = 2 * this.#forwarded >= this.#voted ? this.#header : undefined
    const areTrusted = this.#resolve !== undefined && addresses.every((one) => this.#isNear(one))
    return { addresses: addresses.map(textOf), areTrusted, header }
  }

  #fewAddresses(isBehind: boolean): readonly string[] {
    const isTrusting = this.#resolve !== undefined
    // The others are as many as the lead lacks, once to be fewer and once to be against it.
    const isOne = this.#lead >= (2 * NEARLY_ALL - 1) * this.#voted
    if (isOne) return isBehind || !isTrusting || this.#isNear(this.#most) ? [this.#most] : []
    const near = [...this.#near.values()].reduce((sum, count) => sum + count, 0)
    // A trusted proxy asks for itself now and then, to see whether the server lives.
    const most = isTrusting ? 0.5 : NEARLY_ALL
    const isFew = this.#near.size <= MOST_PROXIES && near >= most * this.#voted
    return isFew ? [...this.#near.keys()] : []
  }
}

/** An address as `trusted` takes it. */
function textOf(address: string): string {
  return addressOf(address) ?? shown(address)
}
