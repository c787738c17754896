// Reads one or several logs. Several are merged by the times of their entries: they may come from
// several servers, or be the parts of one log that was rotated.

import { failed } from '../errors.js'
import type { LogEntry } from '../log/entry.js'
import {
  type BrokenLine,
  type LogReader,
  logReader,
  type ReaderOptions,
  type ReadReport,
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
  readonly broken: {
    readonly count: number
    readonly first: readonly (BrokenLine & { readonly log?: string })[]
  }
}

const PROGRESS_MS = 250
const SHOWN = 5

/**
 * @param each called with the entries: in the order of the log, or of their times if there are
 * several logs
 * @throws {SimulateError} WEIR_LOG_UNREADABLE, also if no line of a log can be read
 */
export async function readLogs(
  options: LogOptions,
  each: (entry: LogEntry) => void,
): Promise<LogsReport> {
  const { logs, signal, onProgress } = options
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
  const take = (entry: LogEntry): void => {
    entries += 1
    each(entry)
  }
  const reports =
    logs.length === 1
      ? [await readOne(logs[0] as LogSource, options, read, take)]
      : await readSeveral(logs, options, read, take)
  const report = merged(reports, logs)
  if (entries === 0 && report.broken.count > 0) throw nothingRead(report)
  return report
}

async function readOne(
  log: LogSource,
  options: ReaderOptions,
  read: (bytes: number) => void,
  take: (entry: LogEntry) => void,
): Promise<ReadReport> {
  const reader = logReader(options, take)
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

  constructor(log: LogSource, options: ReaderOptions, read: (bytes: number) => void) {
    this.#reader = logReader(options, (entry) => this.#entries.push(entry))
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
  options: ReaderOptions,
  read: (bytes: number) => void,
  take: (entry: LogEntry) => void,
): Promise<readonly ReadReport[]> {
  const all = logs.map((log) => new Pulled(log, options, read))
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

function merged(reports: readonly ReadReport[], logs: readonly LogSource[]): LogsReport {
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
      first: named.slice(0, SHOWN),
    },
  }
}

function nothingRead({ format, lines, broken }: LogsReport): Error {
  const [{ line, text, why } = { line: 1, text: '', why: '' }] = broken.first
  const what = `none of ${lines} lines could be read as ${format}`
  const first = `line ${line} has ${why}: ${text}`
  const right = text.startsWith('[')
    ? "of a JSON array, give one object per line: jq -c '.[]'"
    : 'give --format, and of JSON --fields'
  return failed('WEIR_LOG_UNREADABLE', `${what}; ${first}; ${right}`)
}
