// The formats of logs: how to see which one a log is in, and how to read it.

import { misuse } from '../errors.js'
import { clfParser } from './clf.js'
import { Clients } from './clients.js'
import { albLine, isAlb, isW3c, w3cReader } from './columns.js'
import type { Parsed } from './entry.js'
import { entryMaker, FIELD_NAMES, type FieldNames } from './fields.js'
import { archiveIn, isArchive, isPino, objectIn } from './json.js'
import { within } from './wrapped.js'

/**
 * A log's format.
 * - `clf`: the Common or the Combined Log Format of nginx, Apache and others
 * - `alb`: the access log of an AWS Application Load Balancer
 * - `w3c`: columns that a line `#Fields` names, as CloudFront and IIS write them
 * - `json`: one JSON object per line
 * - `pino`: the same, with the fields that pino writes
 * - `har`: an HTTP Archive, which is one document
 */
export type LogFormat = 'clf' | 'alb' | 'w3c' | 'pino' | 'json' | 'har'

export interface ParserOptions {
  /** Where a log has its fields, for formats with named fields. */
  readonly fields?: FieldNames | undefined
  /** The proxies in front of the server, as in the option `proxies` of middlewares: addresses, CIDR
   *  ranges, `'loopback'`, `'link-local'`, `'private'`. The client is then the last address of a
   *  list, or of the header `X-Forwarded-For` before the logged address, that is none of them. */
  readonly trusted?: readonly string[] | undefined
}

/** Reads the entries of a log. */
export interface LogParser {
  readonly format: LogFormat
  /** True: `parse` takes the whole document. False: one line. */
  readonly isWhole: boolean
  /** The entries of a document or a line. Never throws. */
  parse(text: string): Parsed | readonly Parsed[]
}

interface Format {
  /** Whether a line, or for `har` a log's beginning, is in the format. */
  readonly sees: (text: string) => boolean
  readonly reads: (fields: FieldNames, clients: Clients) => LogParser['parse']
}

/** In the order in which they are looked for. */
const FORMATS: Readonly<Record<LogFormat, Format>> = {
  har: { sees: isArchive, reads: archiveReader },
  clf: {
    sees: (line) => typeof SEEN(line) === 'object',
    reads: (_, clients) => clfParser(clients),
  },
  alb: { sees: isAlb, reads: named(() => albLine) },
  w3c: { sees: isW3c, reads: named(w3cReader) },
  pino: { sees: (line) => isPino(objectIn(line)), reads: named(() => objectIn) },
  json: { sees: (line) => typeof objectIn(line) === 'object', reads: named(() => objectIn) },
}
const NAMES = Object.keys(FORMATS) as readonly LogFormat[]
const SEEN = clfParser(new Clients(undefined))

/** Makes entries of the objects that lines are. */
function named(read: () => typeof objectIn): Format['reads'] {
  return (fields, clients) => {
    const [objectOf, entryOf] = [read(), entryMaker(fields, clients)]
    return (line) => {
      const value = objectOf(line)
      return typeof value === 'object' ? entryOf(value) : value
    }
  }
}

function archiveReader(fields: FieldNames, clients: Clients): LogParser['parse'] {
  const entryOf = entryMaker(fields, clients)
  return (text) => archiveIn(text).map((one) => (typeof one === 'object' ? entryOf(one) : one))
}

/** @throws {SimulateError} WEIR_INVALID_OPTION */
export function checkedFormat(format: unknown): LogFormat | 'auto' {
  if (format === 'auto' || NAMES.includes(format as LogFormat)) return format as LogFormat
  throw misuse('format', format, ['auto', ...NAMES].join(', '))
}

/**
 * The parser of a format.
 * @throws {SimulateError} WEIR_INVALID_OPTION
 * @example
 * const { parse } = parserOf('json', { fields: { time: 'ts', key: 'user.id', cost: 'tokens' } })
 * parse('{"ts":1796472001.25,"user":{"id":"u42"},"tokens":7}')
 */
export function parserOf(format: LogFormat, options: ParserOptions = {}): LogParser {
  return parserWith(format, options, new Clients(options.trusted))
}

/** @internal */
export function parserWith(
  format: LogFormat,
  { fields = {} }: ParserOptions,
  clients: Clients,
): LogParser {
  if (checkedFormat(format) === 'auto') throw misuse('format', format, NAMES.join(', '))
  const [name] = Object.keys(fields)
  const unknown = Object.keys(fields).find((each) => !FIELD_NAMES.includes(each as 'time'))
  if (unknown !== undefined) throw misuse('a field', unknown, FIELD_NAMES.join(', '))
  if (format === 'clf' && name !== undefined)
    throw misuse('fields', fields, 'none, since a log in the Combined Log Format has no names')
  const parse = FORMATS[format].reads(fields, clients)
  const isWhole = format === 'har'
  return { format, isWhole, parse: isWhole ? parse : unwrapping(parse as (line: string) => Parsed) }
}

/** Reads a line as it is, or else what a collector of logs has put a prefix or JSON around. */
function unwrapping(parse: (line: string) => Parsed): (line: string) => Parsed {
  return (line) => {
    let parsed = parse(line)
    if (typeof parsed !== 'string') return parsed
    for (const inner of within(line)) {
      parsed = parse(inner)
      if (typeof parsed !== 'string') return parsed
    }
    return parsed
  }
}

/** Makes the function that says whether a line is a request in another format. */
export function isForeignTo(format: LogFormat): (line: string) => boolean {
  const isSame = isJson(format) ? isJson : (name: LogFormat) => name === format
  const others = LINES.filter((name) => !isSame(name))
  const parsers = others.map((name) => parserWith(name, {}, new Clients(undefined)))
  return (line) =>
    parsers.some(({ parse }) => {
      const parsed = parse(line) as Parsed
      return typeof parsed === 'object' && parsed.ip !== undefined
    })
}

/** Whether a log's lines are objects of JSON. */
export function isJson(format: LogFormat | undefined): boolean {
  return format === 'json' || format === 'pino'
}

/** The format that a log's beginning looks like, by the first line that tells. JSON tells least: a
 *  server's lines may be within it, or between those of other programs. */
export function formatOf(beginning: string): LogFormat {
  if (isArchive(beginning)) return 'har'
  let json: LogFormat | undefined
  for (const line of beginning.split('\n', MOST_LINES)) {
    for (const text of [line, ...within(line)]) {
      const format = LINES.find((name) => FORMATS[name].sees(text))
      if (format !== undefined && !isJson(format)) return format
      // A collector's JSON may be around text that is not pino's.
      if (json !== 'pino') json = format ?? json
    }
  }
  return json ?? (beginning.trimStart().startsWith('{') ? 'json' : 'clf')
}

const LINES = NAMES.filter((name) => name !== 'har')
const MOST_LINES = 1_000
