// Boundaries of calendar periods, computed in another way than in base/calendar.ts: it first finds
// all changes of a zone's clock, hour by hour and then to the second, and counts dates in days (H.
// Hinnant, "chrono-compatible low-level date algorithms").

import { isWeekly } from '@weir/testkit'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** No zone of the short run changes its clock twice in so few days. */
const STEP_MS = isWeekly ? DAY_MS / 2 : 5 * DAY_MS

/** From `startMs` on, the local clock is this many ms ahead of UTC. */
export interface Stretch {
  readonly startMs: number
  readonly offsetMs: number
}

/** Reads the offset that `Intl` names, not the local time that it shows. */
function offsetReader(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  return (ms) => {
    const [, sign, hours, minutes, seconds = 0] =
      /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(ms)) ?? []
    if (sign === undefined) return 0
    const value = Number(hours) * HOUR_MS + Number(minutes) * 60_000 + Number(seconds) * 1_000
    return sign === '-' ? -value : value
  }
}

/** The stretches with one offset of a zone, between two instants. */
export function stretchesOf(timeZone: string, fromMs: number, toMs: number): Stretch[] {
  const read = offsetReader(timeZone)
  const found: Stretch[] = [{ startMs: Number.NEGATIVE_INFINITY, offsetMs: read(fromMs) }]
  let offsetMs = read(fromMs)
  for (let ms = fromMs; ms < toMs; ms += STEP_MS) {
    if (read(ms + STEP_MS) === offsetMs) continue
    for (const stepMs of [HOUR_MS, 60_000, 1_000])
      while (read(ms + stepMs) === offsetMs) ms += stepMs
    ms += 1_000
    offsetMs = read(ms)
    found.push({ startMs: ms, offsetMs })
    ms -= STEP_MS
  }
  return found
}

/** The first instant at which the local clock shows a time, or a later one. */
export function firstInstant(stretches: readonly Stretch[], localMs: number): number {
  for (let i = 0; ; i += 1) {
    const { startMs, offsetMs } = stretches[i] as Stretch
    const endMs = stretches[i + 1]?.startMs ?? Number.POSITIVE_INFINITY
    const ms = Math.max(startMs, localMs - offsetMs)
    if (ms < endMs) return ms
  }
}

/** The year, month and day of the month of a day, counted from the Unix epoch. */
export function civilOf(day: number): [year: number, month: number, date: number] {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const ofEra = shifted - era * 146_097
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) /
      365,
  )
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  const fromMarch = Math.floor((5 * ofYear + 2) / 153)
  const date = ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  return [year + era * 400 + (month <= 2 ? 1 : 0), month, date]
}

/** The beginnings of the chosen days, in order and each once: a zone may have skipped some. */
export function boundariesOf(
  stretches: readonly Stretch[],
  days: readonly [first: number, last: number],
  isFirst: (day: number) => boolean,
): number[] {
  const instants: number[] = []
  for (let day = days[0]; day <= days[1]; day += 1)
    if (isFirst(day)) instants.push(firstInstant(stretches, day * DAY_MS))
  return [...new Set(instants)]
}

/** The beginnings of hours around a change: each full hour of the local clock, and the change. */
export function hoursAround(stretches: readonly Stretch[], place: number): number[] {
  const { startMs } = stretches[place] as Stretch
  const instants = new Set([startMs])
  for (const [i, { offsetMs }] of stretches.entries()) {
    const from = Math.max(stretches[i]?.startMs as number, startMs - 5 * HOUR_MS)
    const to = Math.min(
      stretches[i + 1]?.startMs ?? Number.POSITIVE_INFINITY,
      startMs + 5 * HOUR_MS,
    )
    const first = Math.ceil((from + offsetMs) / HOUR_MS) * HOUR_MS - offsetMs
    for (let ms = first; ms < to; ms += HOUR_MS) instants.add(ms)
  }
  return [...instants].sort((one, other) => one - other)
}
