// The Common and the Combined Log Format, as nginx, Apache and many others write them:
//
//   203.0.113.7 - ann [10/Oct/2026:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "referer" "agent"
//
// The first quote that is not escaped begins the request: both servers escape quotes within fields.
// So the time is the bracketed text before that quote, and no user name can forge one.
//
// The address stands before the first ` - `, and may be a list. Before it there may be a virtual
// host (Apache's vhost_combined), or what a collector of logs has put there. After it,
// ingress-nginx had a list of addresses: `203.0.113.7 - [203.0.113.7] - ann [10/Oct/...`. nginx's
// format main ends with the header X-Forwarded-For.

import { type Clients, clientKey, isHostName, lastOf } from './clients.js'
import type { LogEntry, Parsed } from './entry.js'
import { clfTime, timeOf } from './times.js'

const BACKSLASH = 92
const QUOTE = 34
const SPACE = 32
const CLOSE = 93
const COMMA = 44
const DASH = 45
const SLASH = 47
const ZERO = 48

/** Why a line is left out whose address is not known: a reader counts these. */
export const NO_ADDRESS = 'no address, nor the name of a host, before " - "'

/** Makes the function that parses a line. */
export function clfParser(clients: Clients): (line: string) => Parsed {
  return (line) => parseClf(line, clients)
}

function parseClf(line: string, clients: Clients): Parsed {
  const request = quoteAfter(line, 0)
  if (request < 0)
    return line.trim() === '' ? undefined : 'no address, time in brackets and quoted request'
  if (line.charCodeAt(request - 1) !== SPACE || line.charCodeAt(request - 2) !== CLOSE)
    return 'no time in brackets before the quoted request'
  const bracket = line.lastIndexOf('[', request - 3)
  if (bracket < 0) return 'no time in brackets'
  const isClf = line.charCodeAt(bracket + 3) === SLASH
  const timeUs = isClf ? clfTime(line, bracket + 1) : timeOf(line.slice(bracket + 1, request - 2))
  if (Number.isNaN(timeUs)) return 'a time that is not like 10/Oct/2026:13:55:36 -0700'
  const requestEnd = quoteAfter(line, request + 1)
  if (requestEnd < 0) return 'a request without an end'
  // morgan writes a dash for a response that was not sent.
  const isCut = line.charCodeAt(requestEnd + 2) === DASH
  const status = isCut ? undefined : numberAt(line, requestEnd + 2, 3)
  if (Number.isNaN(status)) return 'no status of three digits after the request'
  const space = line.indexOf(' ')
  // As in most lines, which have no prefix.
  const isFirst = line.charCodeAt(space + 1) === DASH && line.charCodeAt(space + 2) === SPACE
  const dash = isFirst ? space : line.indexOf(' - ')
  const isDashed = dash >= 0 && dash < bracket
  const ipEnd = isDashed ? dash : space
  const ipBegin = dash > space && isDashed ? beginOfAddress(line, ipEnd) : 0
  const user = isDashed ? dash + 3 : line.indexOf(' ', ipEnd + 1) + 1
  // Most users are unknown, `- - [`. A name with a dash might be an address and what follows it.
  const isPlain = user + 2 === bracket || !userIn(line, user, bracket).includes(' - ')
  if (ipBegin < 0 || ipEnd <= ipBegin || ipEnd > bracket || !isPlain) return NO_ADDRESS
  const ip = line.slice(ipBegin, ipEnd)
  return new ClfEntry(
    timeUs,
    status,
    line,
    ip,
    ipBegin,
    user,
    bracket,
    request,
    requestEnd,
    clients,
  )
}

const VIRTUAL_HOST = /^[\w.-]+(?::\d{1,5})?$/

/** Where the address or the list of addresses begins that ends at `end`; -1: there is none. */
function beginOfAddress(line: string, end: number): number {
  const space = line.lastIndexOf(' ', end - 1)
  let begin = space + 1
  while (begin > 1 && line.charCodeAt(begin - 2) === COMMA)
    begin = line.lastIndexOf(' ', begin - 2) + 1
  if (begin === 0) return 0
  // A host alone before the address is the virtual host; other words are a prefix.
  const last = lastOf(line.slice(space + 1, end))
  const isClient = clientKey(last) !== undefined
  return isClient || (VIRTUAL_HOST.test(line.slice(0, begin - 1)) && isHostName(last)) ? begin : -1
}

const FORWARDED = /^\[([^\]]*)\] - /

/** The user's name, without the list of addresses that ingress-nginx had before it. */
function userIn(line: string, from: number, bracket: number): string {
  return line.slice(from, bracket - 1).replace(FORWARDED, '')
}

/** The next quote that no backslash escapes; -1: there is none. */
function quoteAfter(line: string, from: number): number {
  let at = line.indexOf('"', from)
  while (at > 0 && isEscaped(line, at, from)) at = line.indexOf('"', at + 1)
  return at
}

/** Whether an odd number of backslashes stands before the character. */
function isEscaped(line: string, at: number, from: number): boolean {
  let first = at
  while (first > from && line.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

function numberAt(line: string, at: number, count: number): number {
  let value = 0
  for (let i = at; i < at + count; i += 1) {
    const digit = line.charCodeAt(i) - ZERO
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** Cuts fields that most simulations do not need out of the line only when they are asked for. */
class ClfEntry implements LogEntry {
  readonly timeUs: number
  readonly status: number | undefined
  readonly #line: string
  readonly #ip: string
  readonly #ipBegin: number
  readonly #user: number
  readonly #bracket: number
  readonly #request: number
  readonly #requestEnd: number
  readonly #clients: Clients

  constructor(
    timeUs: number,
    status: number | undefined,
    line: string,
    ip: string,
    ipBegin: number,
    user: number,
    bracket: number,
    request: number,
    requestEnd: number,
    clients: Clients,
  ) {
    this.timeUs = timeUs
    this.status = status
    this.#line = line
    this.#ip = ip
    this.#ipBegin = ipBegin
    this.#user = user
    this.#bracket = bracket
    this.#request = request
    this.#requestEnd = requestEnd
    this.#clients = clients
  }

  get ip(): string | undefined {
    return this.#clients.of(said(this.#ip), this)
  }

  get user(): string | undefined {
    return said(unescaped(userIn(this.#line, this.#user, this.#bracket)))
  }

  get method(): string | undefined {
    const [method, target] = this.#parts()
    return target === undefined ? undefined : method
  }

  get path(): string | undefined {
    return this.#parts()[1]
  }

  get host(): string | undefined {
    const before = this.#line.slice(0, Math.max(0, this.#ipBegin - 1))
    return VIRTUAL_HOST.test(before) ? before.split(':', 1)[0] : undefined
  }

  get bytes(): number | undefined {
    const from = this.#line.indexOf(' ', this.#requestEnd + 2) + 1
    if (from === 0) return undefined
    const end = this.#line.indexOf(' ', from)
    const bytes = Number(this.#line.slice(from, end < 0 ? undefined : end).trim() || Number.NaN)
    return Number.isNaN(bytes) ? undefined : bytes
  }

  get key(): undefined {
    return undefined
  }

  get cost(): undefined {
    return undefined
  }

  header(name: string): string | undefined {
    const lower = name.toLowerCase()
    return this.#clients.header(lower, this.sent(lower))
  }

  sent(lower: string): string | undefined {
    if (lower === 'referer') return this.#quoted(0)
    if (lower === 'user-agent') return this.#quoted(1)
    return lower === 'x-forwarded-for' ? this.#forwarded() : undefined
  }

  /** A third quoted field is the header if it ends with an address, as proxies write it. */
  #forwarded(): string | undefined {
    const last = this.#quoted(2)
    if (last !== undefined && clientKey(lastOf(last)) !== undefined) return last
    const list = FORWARDED.exec(this.#line.slice(this.#user, this.#bracket))?.[1]
    return list !== undefined && lastOf(list) === this.#ip ? list : undefined
  }

  field(path: string): string | number | boolean | undefined {
    const read = FIELDS[path]
    return read === undefined ? undefined : read(this)
  }

  get protocol(): string | undefined {
    return this.#parts()[2]
  }

  #parts(): readonly (string | undefined)[] {
    const text = unescaped(this.#line.slice(this.#request + 1, this.#requestEnd))
    const first = text.indexOf(' ')
    const last = text.lastIndexOf(' ')
    if (first <= 0) return []
    if (last === first) return [text.slice(0, first), text.slice(first + 1)]
    return [text.slice(0, first), text.slice(first + 1, last), text.slice(last + 1)]
  }

  /** The quoted fields after the request, of which the Combined format has two, one directly after
   *  the other. */
  #quoted(place: number): string | undefined {
    const line = this.#line
    let begin = quoteAfter(line, this.#requestEnd + 1)
    for (let i = 0; begin >= 0; i += 1) {
      const end = quoteAfter(line, begin + 1)
      if (end < 0) return undefined
      if (i === place) return said(unescaped(line.slice(begin + 1, end)))
      begin = line.charCodeAt(end + 2) === QUOTE ? end + 2 : -1
    }
    return undefined
  }
}
const FIELDS: Readonly<Record<string, (entry: ClfEntry) => string | number | undefined>> =
  Object.assign(Object.create(null), {
    ip: (entry: ClfEntry) => entry.ip,
    user: (entry: ClfEntry) => entry.user,
    method: (entry: ClfEntry) => entry.method,
    path: (entry: ClfEntry) => entry.path,
    host: (entry: ClfEntry) => entry.host,
    protocol: (entry: ClfEntry) => entry.protocol,
    status: (entry: ClfEntry) => entry.status,
    bytes: (entry: ClfEntry) => entry.bytes,
    referer: (entry: ClfEntry) => entry.header('referer'),
    userAgent: (entry: ClfEntry) => entry.header('user-agent'),
  })

/** The field; undefined for `-`, which means unknown. */
function said(text: string): string | undefined {
  return text === '-' || text === '' ? undefined : text
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

/** A field as it was before the server escaped it: `\"`, `\\`, `\n`, `\x22`. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|(.))/gs, (_, hex?: string, one?: string) =>
    hex === undefined ? (ESCAPES[one as string] ?? (one as string)) : fromHex(hex),
  )
}

function fromHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}
