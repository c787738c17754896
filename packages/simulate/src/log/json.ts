// JSON: logs with one object per line, and HTTP Archives, which are one document.

import { within } from './wrapped.js'

/** The object that a line is; undefined for a blank line; a text that says why there is none. */
export function objectIn(line: string): object | string | undefined {
  if (line.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'no JSON'
  }
  if (!isObject(value)) return 'no JSON object'
  return typeof value.log === 'string' ? (objectWithin(line) ?? value) : value
}

/** Whether a line has what pino writes into each. Bunyan writes the time as text. */
export function isPino(value: ReturnType<typeof objectIn>): boolean {
  if (!isObject(value)) return false
  const { level, time, pid, hostname } = value
  return [level, time, pid].every((each) => typeof each === 'number') && hostname !== undefined
}

/** What a server wrote as JSON, and Docker or Fluent Bit put into JSON once more. */
function objectWithin(line: string): object | undefined {
  for (const text of within(line)) {
    const value = text.startsWith('{') ? objectIn(text) : undefined
    if (typeof value === 'object') return value
  }
  return undefined
}

/** The entries of an HTTP Archive. It records one client, and so has no addresses. */
export function archiveIn(text: string): readonly (object | string)[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return ['no JSON']
  }
  const entries = entriesOf(value)
  if (entries === undefined) return ['no HTTP Archive: it has no log.entries']
  return entries.map((entry) => (isObject(entry) ? entry : 'no JSON object'))
}

/** Whether a text begins as an HTTP Archive does, and not as a line of JSON with a field `log`. */
export function isArchive(beginning: string): boolean {
  if (!/^\s*\{\s*"log"\s*:\s*\{/.test(beginning.slice(0, 1_000))) return false
  try {
    return entriesOf(JSON.parse(beginning.slice(0, beginning.indexOf('\n') >>> 0))) !== undefined
  } catch {
    return true
  }
}

function entriesOf(value: unknown): readonly unknown[] | undefined {
  const entries = isObject(value) && isObject(value.log) ? value.log.entries : undefined
  return Array.isArray(entries) ? entries : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
