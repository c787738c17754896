// Formats figures, times and texts from outside. Counts are exact; rates are rounded.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const rounded = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const compact = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' })
const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const hour = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

export const NOTHING = '–'
const LONGEST = 120

/** A count, to the unit. */
export function count(value: number): string {
  return whole.format(value)
}

/** A rate. Below 100 it has two digits: frames are not exactly a second apart, so one request a
 *  second is measured as 0.999. */
export function rate(value: number): string {
  return value < 99.5 ? rounded.format(value) : measured(value)
}

/** A measured number. */
export function measured(value: number): string {
  return value >= 10_000 ? compact.format(value) : digits.format(value)
}

/** A part of a whole in percent. Shows 0 % only for none, and 100 % only for all. */
export function share(part: number, all: number): string {
  if (all === 0) return NOTHING
  const percent = (100 * part) / all
  if (percent > 0 && percent < 0.1) return '<0.1%'
  if (percent > 99.9 && percent < 100) return '>99.9%'
  return `${percent < 10 ? percent.toFixed(1).replace('.0', '') : percent.toFixed(0)}%`
}

/** A whole number, and a noun that agrees with it. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** A duration in its two largest units; null: it never ends. */
export function duration(ms: number | null | undefined): string {
  if (ms === undefined) return NOTHING
  if (ms === null || ms === Number.POSITIVE_INFINITY) return 'never'
  if (ms < 1_000) return `${digits.format(ms)} ms`
  if (ms < 10_000) return `${digits.format(ms / 1_000)} s`
  const at = UNITS.findIndex(([, unit]) => ms >= unit)
  const [name, unit] = UNITS[at] as readonly [string, number]
  const first = Math.floor(ms / unit)
  const next = UNITS[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms - first * unit) / next[1])
  return rest === 0 ? `${first} ${name}` : `${first} ${name} ${rest} ${next?.[0]}`
}

/** The time of day; for another day, with its date. */
export function clock(ms: number, now: number = Date.now()): string {
  return dated(ms, now, time)
}

/** The same without seconds. */
export function minute(ms: number, now: number = Date.now()): string {
  return dated(ms, now, hour)
}

function dated(ms: number, now: number, format: Intl.DateTimeFormat): string {
  const at = new Date(ms)
  const isToday = at.toDateString() === new Date(now).toDateString()
  return isToday ? format.format(at) : `${day.format(at)} ${format.format(at)}`
}

/** Some names in a sentence: three, and how many more there are. */
export function listed(names: readonly string[]): string {
  const rest = names.length - 3
  return names.slice(0, 3).join(', ') + (rest > 0 ? ` and ${count(rest)} more` : '')
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length, Math.floor(Math.log10(value) / 3))
  return `${digits.format(value / 1_000 ** power)} ${units[power - 1]}`
}

// Control characters and marks that change the writing direction garble a line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** A text from outside on one line, with invisible characters written as codes. */
export function shown(text: string, longest: number = LONGEST): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut.replace(INVISIBLE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
