// The formats of logs, and how to tell which one a log is in.

import { misuse } from '../errors.js'
import { parseClf } from './clf.js'
import type { Parsed } from './entry.js'
import { parseHar } from './har.js'
import { FIELD_NAMES, type FieldNames, jsonParser } from './json.js'

/**
 * A log's format.
 * - `clf`: the Common or the Combined Log Format of nginx and Apache
 * - `nginx-json`, `caddy`: these servers' logs in JSON
 * - `json`: any other log with one JSON object per line
 * - `har`: an HTTP Archive, which is one document
 */
export type LogFormat = 'clf' | 'nginx-json' | 'caddy' | 'json' | 'har'

const FORMATS: readonly (LogFormat | 'auto')[] = [
  'auto',
  'clf',
  'nginx-json',
  'caddy',
  'json',
  'har',
]

export interface ParserOptions {
  /** Where a JSON log has its fields. */
  readonly fields?: FieldNames | undefined
}

/** Reads the entries of a log. */
export interface LogParser {
  readonly format: LogFormat
  /** True: `parse` takes the whole document. False: one line. */
  readonly isWhole: boolean
  /** The entries of a document or a line. Never throws. */
  parse(text: string): Parsed | readonly Parsed[]
}

/** @throws {SimulateError} WEIR_INVALID_OPTION */
export function checkedFormat(format: unknown): LogFormat | 'auto' {
  if (FORMATS.includes(format as LogFormat)) return format as LogFormat
  throw misuse('format', format, FORMATS.join(', '))
}

/**
 * The parser of a format.
 * @throws {SimulateError} WEIR_INVALID_OPTION
 * @example
 * const { parse } = parserOf('json', { fields: { time: 'ts', key: 'user.id', cost: 'tokens' } })
 * parse('{"ts":1796472000.25,"user":{"id":"u42"},"tokens":7}')
 */
export function parserOf(format: LogFormat, { fields = {} }: ParserOptions = {}): LogParser {
  if (checkedFormat(format) === 'auto') throw misuse('format', format, FORMATS.slice(1).join(', '))
  const unknown = Object.keys(fields).find((name) => !FIELD_NAMES.includes(name as 'time'))
  if (unknown !== undefined) throw misuse('a field', unknown, FIELD_NAMES.join(', '))
  return { format, isWhole: format === 'har', parse: parseOf(format, fields) }
}

function parseOf(format: LogFormat, fields: FieldNames): LogParser['parse'] {
  if (format === 'clf') return parseClf
  if (format === 'har') return parseHar
  if (format === 'json') return jsonParser('any', fields)
  return jsonParser(format === 'caddy' ? 'caddy' : 'nginx', fields)
}

/** The format that a log's beginning looks like, by the first line that tells. */
export function formatOf(beginning: string): LogFormat {
  if (/^\s*\{\s*"log"\s*:/.test(beginning.slice(0, 1_000))) return 'har'
  for (const line of beginning.split('\n', MOST_LINES)) {
    if (typeof parseClf(line) === 'object') return 'clf'
    const format = jsonFormatOf(line)
    if (format !== undefined) return format
  }
  return beginning.trimStart().startsWith('{') ? 'json' : 'clf'
}

const MOST_LINES = 100

function jsonFormatOf(line: string): LogFormat | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const has = (name: string): boolean => Object.hasOwn(value, name)
  if (has('ts') && has('request')) return 'caddy'
  return has('remote_addr') && (has('request_uri') || has('request')) ? 'nginx-json' : 'json'
}
