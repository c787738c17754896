// The Common and the Combined Log Format, as nginx and Apache write them:
//
//   203.0.113.7 - ann [10/Oct/2026:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "referer" "agent"
//
// The first quote that is not escaped begins the request: both servers escape quotes within fields.
// So the time is the bracketed text before that quote, and no user name can forge one.
// Apache's vhost_combined puts the virtual host and its port before the address.

import type { LogEntry, Parsed } from './entry.js'
import { clfTime } from './times.js'

const BACKSLASH = 92
const SPACE = 32
const CLOSE = 93
const CR = 13
const ZERO = 48

/** Parses a line. */
export function parseClf(line: string): Parsed {
  const end = line.charCodeAt(line.length - 1) === CR ? line.length - 1 : line.length
  if (end === 0) return undefined
  const first = line.indexOf(' ')
  const ipBegin = first > 0 && isVirtualHost(line, first) ? first + 1 : 0
  const ipEnd = line.indexOf(' ', ipBegin)
  const request = quoteAfter(line, 0)
  if (ipEnd <= 0 || request < 0) return 'no address, time in brackets and quoted request'
  if (line.charCodeAt(request - 1) !== SPACE || line.charCodeAt(request - 2) !== CLOSE)
    return 'no time in brackets before the quoted request'
  const bracket = line.lastIndexOf('[', request - 3)
  if (bracket < ipEnd) return 'no time in brackets'
  const timeUs = clfTime(line, bracket + 1)
  if (Number.isNaN(timeUs)) return 'a time that is not like 10/Oct/2026:13:55:36 -0700'
  const requestEnd = quoteAfter(line, request + 1)
  if (requestEnd < 0) return 'a request without an end'
  const status = numberAt(line, requestEnd + 2, 3)
  if (Number.isNaN(status)) return 'no status of three digits after the request'
  return new ClfEntry(timeUs, line, ipBegin, ipEnd, bracket, request, requestEnd, status)
}

/** Whether the text up to `end` is like `www.example.com:443`. No address is: one with a port has
 *  no letters, or more than one colon. */
function isVirtualHost(line: string, end: number): boolean {
  const colon = line.lastIndexOf(':', end)
  if (colon <= 0 || line.indexOf(':') !== colon) return false
  if (colon + 1 === end || end - colon > 6) return false
  if (Number.isNaN(numberAt(line, colon + 1, end - colon - 1))) return false
  for (let at = 0; at < colon; at += 1) {
    // In lower case.
    const letter = line.charCodeAt(at) | 32
    if (letter >= 97 && letter <= 122) return true
  }
  return false
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
  readonly status: number
  readonly #line: string
  readonly #ipBegin: number
  readonly #ipEnd: number
  readonly #bracket: number
  readonly #request: number
  readonly #requestEnd: number

  constructor(
    timeUs: number,
    line: string,
    ipBegin: number,
    ipEnd: number,
    bracket: number,
    request: number,
    requestEnd: number,
    status: number,
  ) {
    this.timeUs = timeUs
    this.status = status
    this.#line = line
    this.#ipBegin = ipBegin
    this.#ipEnd = ipEnd
    this.#bracket = bracket
    this.#request = request
    this.#requestEnd = requestEnd
  }

  get ip(): string | undefined {
    return said(this.#line.slice(this.#ipBegin, this.#ipEnd))
  }

  get user(): string | undefined {
    const line = this.#line
    const from = line.indexOf(' ', this.#ipEnd + 1)
    if (from < 0 || from >= this.#bracket) return undefined
    return said(unescaped(line.slice(from + 1, this.#bracket - 1)))
  }

  get method(): string | undefined {
    const [method, target] = this.#parts()
    return target === undefined ? undefined : method
  }

  get path(): string | undefined {
    return this.#parts()[1]
  }

  get host(): string | undefined {
    if (this.#ipBegin === 0) return undefined
    return this.#line.slice(0, this.#line.indexOf(':'))
  }

  get bytes(): number | undefined {
    const from = this.#requestEnd + 6
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
    if (lower === 'referer') return this.#quoted(0)
    return lower === 'user-agent' ? this.#quoted(1) : undefined
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

  /** The quoted fields after the request, of which the Combined format has two. */
  #quoted(place: number): string | undefined {
    const line = this.#line
    let begin = quoteAfter(line, this.#requestEnd + 1)
    for (let i = 0; begin >= 0; i += 1) {
      const end = quoteAfter(line, begin + 1)
      if (end < 0) return undefined
      if (i === place) return said(unescaped(line.slice(begin + 1, end)))
      begin = quoteAfter(line, end + 1)
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
