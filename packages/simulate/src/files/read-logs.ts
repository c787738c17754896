// Reads one or several logs. Several are merged by the times of their entries: they may come from
// several servers, or be the parts of one log that was rotated.

import { failed } from '../errors.js'
import { type AddressReport, Clients } from '../log/clients.js'
import type { LogEntry } from '../log/entry.js'
import {
  type BrokenLine,
  type LogReader,
  type ReaderOptions,
  type ReadReport,
  readerWith,
} from '../log/reader.js'
import { shown } from '../log/shown.js'
import { type LogSource, sizeOf, textsOf } from './texts.js'

/** How far reading has come. */
export interface Progress {
  /** Bytes read, before they are unzipped. */
  readonly bytes: number
  /** Bytes in all. Undefined: not known. */
  readonly ofBytes: number | undefined
  readonly entries: number
}

export interface LogOptions extends ReaderOptions {
  /** Paths of files, or streams of bytes; gzip is recognised. Several are merged by time. */
  readonly logs: readonly LogSource[]
  /** Stops reading: the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called a few times a second. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** How the logs were read. */
export interface LogsReport extends ReadReport {
  readonly broken: Omit<ReadReport['broken'], 'first'> & {
    readonly first: readonly (BrokenLine & { readonly log?: string })[]
  }
}

const PROGRESS_MS = 250
const SHOWN = 5

/**
 * @param each called with the entries: in the order of the log, or of their times if there are
 * several logs
 * @throws {SimulateError} WEIR_LOG_UNREADABLE, also if no line of a log can be read, or more than a
 * few lines have something else in place of an address
 */
export async function readLogs(
  options: LogOptions,
  each: (entry: LogEntry) => void,
): Promise<LogsReport> {
  const { logs, signal, onProgress } = options
  const clients = new Clients(options.trusted)
  const ofBytes = await sizeOf(logs)
  let bytes = 0
  let entries = 0
  let last = Date.now()
  const read = (more: number): void => {
    signal?.throwIfAborted()
    bytes += more
    if (onProgress === undefined || Date.now() - last < PROGRESS_MS) return
    last = Date.now()
    onProgress({ bytes, ofBytes, entries })
  }
  const readerOf = (into: (entry: LogEntry) => void): LogReader =>
    readerWith(options, clients, into)
  const take = (entry: LogEntry): void => {
    entries += 1
    each(entry)
  }
  const reports =
    logs.length === 1
      ? [await readOne(logs[0] as LogSource, readerOf, read, take)]
      : await readSeveral(logs, readerOf, read, take)
  const report = merged(reports, logs, clients.report())
  if (entries === 0 && report.broken.count > 0) throw nothingRead(report)
  checkAddresses(report)
  checkFormats(report, entries)
  return report
}

type ReaderOf = (into: (entry: LogEntry) => void) => LogReader

async function readOne(
  log: LogSource,
  readerOf: ReaderOf,
  read: (bytes: number) => void,
  take: (entry: LogEntry) => void,
): Promise<ReadReport> {
  const reader = readerOf(take)
  for await (const text of textsOf(log, read)) reader.write(text)
  reader.end()
  return reader.report()
}

/** The entries of a log that were read and not yet passed on. */
class Pulled {
  readonly #reader: LogReader
  readonly #texts: AsyncGenerator<string>
  #entries: LogEntry[] = []
  #at = 0
  #isOver = false

  constructor(log: LogSource, readerOf: ReaderOf, read: (bytes: number) => void) {
    this.#reader = readerOf((entry) => this.#entries.push(entry))
    this.#texts = textsOf(log, read)
  }

  get next(): LogEntry | undefined {
    return this.#entries[this.#at]
  }

  pass(): void {
    this.#at += 1
  }

  async fill(): Promise<void> {
    while (this.next === undefined && !this.#isOver) {
      this.#entries = []
      this.#at = 0
      const { value, done } = await this.#texts.next()
      this.#isOver = done === true
      if (this.#isOver) this.#reader.end()
      else this.#reader.write(value as string)
    }
  }

  report(): ReadReport {
    return this.#reader.report()
  }

  async close(): Promise<void> {
    await this.#texts.return(undefined)
  }
}

async function readSeveral(
  logs: readonly LogSource[],
  readerOf: ReaderOf,
  read: (bytes: number) => void,
  take: (entry: LogEntry) => void,
): Promise<readonly ReadReport[]> {
  const all = logs.map((log) => new Pulled(log, readerOf, read))
  try {
    for (const one of all) await one.fill()
    for (let first = earliest(all); first?.next !== undefined; first = earliest(all)) {
      take(first.next)
      first.pass()
      if (first.next === undefined) await first.fill()
    }
    return all.map((one) => one.report())
  } finally {
    for (const one of all) await one.close()
  }
}

function earliest(all: readonly Pulled[]): Pulled | undefined {
  let first: Pulled | undefined
  for (const one of all) {
    if (one.next === undefined) continue
    if (first?.next === undefined || one.next.timeUs < first.next.timeUs) first = one
  }
  return first
}

function merged(
  reports: readonly ReadReport[],
  logs: readonly LogSource[],
  addresses: AddressReport,
): LogsReport {
  const named = reports.flatMap(({ broken }, i) => {
    const log = logs[i]
    const isNamed = logs.length > 1 && typeof log === 'string'
    return broken.first.map((line) => (isNamed ? { ...line, log: shown(log, 200) } : line))
  })
  return {
    format: reports.find(({ format }) => format !== undefined)?.format,
    lines: reports.reduce((sum, { lines }) => sum + lines, 0),
    broken: {
      count: reports.reduce((sum, { broken }) => sum + broken.count, 0),
      foreign: reports.reduce((sum, { broken }) => sum + broken.foreign, 0),
      first: named.slice(0, SHOWN),
    },
    addresses,
  }
}

function nothingRead({ format, lines, broken }: LogsReport): Error {
  const [{ line, text, why } = { line: 1, text: '', why: '' }] = broken.first
  const what = `none of ${lines} lines could be read as ${format}`
  const first = `line ${line} has ${why}: ${text}`
  const right = text.startsWith('[')
    ? "; of a JSON array, give one object per line: jq -c '.[]'"
    : '; give the Combined Log Format (morgan: combined, HAProxy: option httplog clf) or JSON'
  return failed('WEIR_LOG_UNREADABLE', `${what}; ${first}${format === 'clf' ? right : ''}`)
}

/** A share of odd lines that may be chance. */
const FEW = 0.01

function checkAddresses({ addresses: { asked, others, firstOther } }: LogsReport): void {
  if (others <= FEW * asked) return
  const percent = Math.ceil((100 * others) / asked)
  const what = `${percent} % of the requests have no address, nor the name of a host, where`
  const right =
    'cut off what stands before it, leave such lines out, or say who is limited with --key'
  throw failed(
    'WEIR_LOG_UNREADABLE',
    `${what} the client's address should be; the first has: ${firstOther}; ${right}`,
  )
}

function checkFormats({ format, lines, broken: { foreign } }: LogsReport, entries: number): void {
  if (foreign <= FEW * (entries + foreign)) return
  const what = `${foreign} of ${lines} lines are requests in another format than ${format}`
  const right = `give one format, or --format ${format} to leave the others out`
  throw failed('WEIR_LOG_UNREADABLE', `${what}; ${right}`)
}
