// Reads a log part by part: cuts it into lines, finds out its format, and counts the lines that
// cannot be read. Holds at most one line in memory; for a format that is a document, all of it.

import { failed } from '../errors.js'
import { NO_ADDRESS } from './clf.js'
import { type AddressReport, Clients } from './clients.js'
import type { LogEntry, Parsed } from './entry.js'
import {
  checkedFormat,
  formatOf,
  isForeignTo,
  type LogFormat,
  type LogParser,
  type ParserOptions,
  parserWith,
} from './formats.js'
import { shown } from './shown.js'

export interface ReaderOptions extends ParserOptions {
  /** Default `'auto'`: by the first lines. */
  readonly format?: LogFormat | 'auto' | undefined
}

/** A line that could not be read. */
export interface BrokenLine {
  /** The line's number, or an entry's in a document, from 1. */
  readonly line: number
  /** The line's beginning, printable. */
  readonly text: string
  /** What is wrong with the line. */
  readonly why: string
}

/** How a log was read. */
export interface ReadReport {
  /** Undefined: the log was empty. */
  readonly format: LogFormat | undefined
  readonly lines: number
  readonly broken: {
    readonly count: number
    /** Of these, requests in another format than that of the first lines. */
    readonly foreign: number
    readonly first: readonly BrokenLine[]
  }
  readonly addresses: AddressReport
}

export interface LogReader {
  /** Takes the next part of the log. */
  write(text: string): void
  /** The log has ended; another may follow, in the same format. */
  end(): void
  report(): ReadReport
}

const LONGEST_LINE = 2 ** 20
const LONGEST_DOCUMENT = 2 ** 28
/** How many characters are looked at to find out the format. */
const BEGINNING = 2 ** 16
const SHOWN = 5

/**
 * Reads logs, and calls back with each entry.
 * @param each called with each entry; `write` and `end` throw what it throws
 * @throws {SimulateError} WEIR_INVALID_OPTION; `write` throws WEIR_LOG_UNREADABLE for a document of
 * over 268,435,456 characters
 * @example
 * const reader = logReader({ format: 'clf' }, (entry) => console.log(entry.timeUs, entry.ip))
 * reader.write('203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 12\n')
 * reader.end()
 */
export function logReader(options: ReaderOptions, each: (entry: LogEntry) => void): LogReader {
  return readerWith(options, new Clients(options.trusted), each)
}

/** @internal */
export function readerWith(
  options: ReaderOptions,
  clients: Clients,
  each: (entry: LogEntry) => void,
): LogReader {
  const format = checkedFormat(options.format ?? 'auto')
  const parser = format === 'auto' ? undefined : parserWith(format, options, clients)
  return new Reader(parser, options, clients, each)
}

class Reader implements LogReader {
  #parser: LogParser | undefined
  readonly #options: ParserOptions
  readonly #clients: Clients
  readonly #each: (entry: LogEntry) => void
  /** Text not yet parsed: an incomplete line, a document, or all until the format is known. */
  #rest = ''
  /** The line is too long, and is skipped up to its end. */
  #isSkipping = false
  #lines = 0
  #broken = 0
  #foreign = 0
  /** Whether a line is in another format. Undefined: the format was given. */
  #isForeign: ((line: string) => boolean) | undefined
  readonly #first: BrokenLine[] = []

  constructor(
    parser: LogParser | undefined,
    options: ParserOptions,
    clients: Clients,
    each: (entry: LogEntry) => void,
  ) {
    this.#parser = parser
    this.#options = options
    this.#clients = clients
    this.#each = each
  }

  write(text: string): void {
    const all = this.#rest + text
    this.#rest = ''
    if (this.#parser === undefined && all.length < BEGINNING) {
      this.#rest = all
      return
    }
    this.#read(all)
  }

  end(): void {
    const rest = this.#rest
    this.#rest = ''
    if (rest !== '') this.#read(rest.endsWith('\n') ? rest : `${rest}\n`)
    if (this.#parser?.isWhole && this.#rest !== '') this.#document()
    this.#isSkipping = false
  }

  report(): ReadReport {
    const broken = { count: this.#broken, foreign: this.#foreign, first: [...this.#first] }
    const addresses = this.#clients.report()
    return { format: this.#parser?.format, lines: this.#lines, broken, addresses }
  }

  #read(all: string): void {
    this.#parser ??= this.#found(formatOf(withoutMark(all)))
    if (!this.#parser.isWhole) {
      this.#readLines(this.#lines === 0 ? withoutMark(all) : all)
      return
    }
    if (all.length > LONGEST_DOCUMENT) {
      const what = `an HTTP Archive of over ${LONGEST_DOCUMENT} characters does not fit in memory`
      throw failed('WEIR_LOG_UNREADABLE', `${what}; give one JSON object per line`)
    }
    this.#rest = all
  }

  #found(format: LogFormat): LogParser {
    this.#isForeign = isForeignTo(format)
    return parserWith(format, this.#options, this.#clients)
  }

  #readLines(text: string): void {
    const { parse } = this.#parser as LogParser
    let begin = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', begin)) {
      const line = text.slice(begin, end)
      begin = end + 1
      if (this.#isSkipping) this.#isSkipping = false
      else this.#take(line, parse)
    }
    if (this.#isSkipping) return
    if (text.length - begin <= LONGEST_LINE) {
      this.#rest = text.slice(begin)
      return
    }
    this.#lines += 1
    this.#count(`over ${LONGEST_LINE} characters`, text.slice(begin, begin + 100))
    this.#isSkipping = true
  }

  #take(line: string, parse: LogParser['parse']): void {
    this.#lines += 1
    const parsed = parse(line) as Parsed
    if (typeof parsed === 'object') this.#each(parsed)
    else if (parsed !== undefined) this.#count(parsed, line)
  }

  #document(): void {
    const text = withoutMark(this.#rest)
    this.#rest = ''
    for (const parsed of (this.#parser as LogParser).parse(text) as readonly Parsed[]) {
      this.#lines += 1
      if (typeof parsed === 'object') this.#each(parsed)
      else if (parsed !== undefined) this.#count(parsed, text)
    }
  }

  #count(why: string, line: string): void {
    this.#broken += 1
    if (why === NO_ADDRESS) this.#clients.without(line)
    else if (this.#isForeign?.(line)) this.#foreign += 1
    if (this.#first.length < SHOWN)
      this.#first.push({ line: this.#lines, text: shown(line, 100), why })
  }
}

/** The text without the byte order mark that some programs begin with. */
function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}
