// What a process tells other processes' dashboards about itself, as a short text. What others tell
// is checked: whoever can write to the store can write anything.

import type { SettingsReport } from '@weir/core/store'
import type { ProcessFrame } from '../protocol.js'

/** The longest snapshot, in bytes. */
export const LONGEST_SNAPSHOT = 4_096
const MOST_KEYS = 5
const LONGEST_KEY = 60
const LONGEST_NAME = 64
const MOST_LIMITERS = 200

type LimiterSnapshot = ProcessFrame['limiters'][number]
/** The counts, in the order in which the text has them. */
const COUNTS = ['allowed', 'denied', 'shadowDenied', 'degraded', 'errors', 'waiting'] as const
const HEALTH = ['closed', 'open', 'half-open'] as const

/** What a process tells about itself. */
export type Snapshot = Omit<ProcessFrame, 'process' | 'isThis'>

/** A snapshot's text. If it is too long, it leaves out keys, and then the limiters that decided
 *  least. */
export function textOfSnapshot(snapshot: Snapshot): string {
  const { atMs, health, memoryBytes, uptimeMs } = snapshot
  const head = [1, Math.round(atMs), health, Math.round(memoryBytes), Math.round(uptimeMs)]
  const busiest = [...snapshot.limiters].sort((one, two) => decided(two) - decided(one))
  const textWith = (limiters: readonly LimiterSnapshot[], keys: number): string => {
    return JSON.stringify([...head, limiters.map((each) => rowOf(each, keys))])
  }
  for (const keys of [MOST_KEYS, 1, 0]) {
    const text = textWith(busiest, keys)
    if (isShort(text)) return text
  }
  let count = busiest.length
  let text = textWith([], 0)
  while (count > 0) {
    count = Math.floor(count * 0.9)
    text = textWith(busiest.slice(0, count), 0)
    if (isShort(text)) break
  }
  return text
}

function isShort(text: string): boolean {
  return Buffer.byteLength(text) <= LONGEST_SNAPSHOT
}

function decided({ allowed, denied }: LimiterSnapshot): number {
  return allowed + denied
}

function rowOf(limiter: LimiterSnapshot, keys: number): unknown[] {
  const counts = COUNTS.map((each) => limiter[each])
  const top = limiter.refusedKeys.slice(0, keys).map(({ key, count, error }) => {
    return [key.slice(0, LONGEST_KEY), count, error]
  })
  return [limiter.name, limiter.enabled ? 1 : 0, ...counts, top]
}

/** What another process told. Undefined: nothing that this version of Weir can read. */
export function processFrame({ process, text }: SettingsReport): ProcessFrame | undefined {
  // None of Weir's: a thousand of them would hold up this process.
  if (text.length > LONGEST_SNAPSHOT) return undefined
  try {
    const [version, atMs, health, memoryBytes, uptimeMs, limiters] = listOf(JSON.parse(text))
    const state = HEALTH.find((each) => each === health)
    if (version !== 1 || state === undefined) return undefined
    return {
      process: textOf(process),
      isThis: false,
      atMs: numberOf(atMs),
      health: state,
      memoryBytes: numberOf(memoryBytes),
      uptimeMs: numberOf(uptimeMs),
      limiters: listOf(limiters).slice(0, MOST_LIMITERS).map(limiterIn),
    }
  } catch {
    return undefined
  }
}

function limiterIn(row: unknown): LimiterSnapshot {
  const [name, enabled, ...rest] = listOf(row)
  const counts = COUNTS.map((each, i) => [each, numberOf(rest[i])] as const)
  const keys = listOf(rest[COUNTS.length]).slice(0, MOST_KEYS)
  return {
    ...(Object.fromEntries(counts) as Pick<LimiterSnapshot, (typeof COUNTS)[number]>),
    name: textOf(name),
    enabled: enabled !== 0,
    refusedKeys: keys.map((each) => {
      const [key, count, error] = listOf(each)
      return { key: textOf(key), count: numberOf(count), error: numberOf(error) }
    }),
  }
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw new TypeError('no list')
}

function numberOf(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new TypeError('no number')
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, 2 * LONGEST_NAME)
  throw new TypeError('no text')
}
