// Times in logs, as whole microseconds since 1970; NaN for a text that is no time. Read by
// character codes, in one pass: no hostile line can make that slow, as it could a regular
// expression, and engines differ in what `Date.parse` reads.

const US_PER_S = 1_000_000
/** The start of 2255: a double does not hold every later us. */
const LAST_S = 8_993_721_600
const DAY_S = 86_400
/** March 1973: a smaller number is rather a duration. */
const FIRST_S = 1e8

const ZERO = 48
const NINE = 57
const DASH = 45
const PLUS = 43
const COLON = 58
const SLASH = 47
const DOT = 46
const COMMA = 44
const SPACE = 32
const T = 84
const Z = 90

/** Where the scan of the last time that was read ended. */
let scanned = 0

/** The offset of a time that names no zone: UTC's. */
const UTC_S = 0

/** The time that a value of a log means. */
export function timeOf(value: unknown): number {
  if (typeof value === 'number') return epochTime(value)
  if (typeof value !== 'string' || value.length > 64) return Number.NaN
  const text = value.trim()
  const clf = text.charCodeAt(0) === 91 /* [ */ ? 1 : 0
  if (clf === 1 || text.charCodeAt(2) === SLASH) return clfTime(text, clf)
  const separator = text.charCodeAt(4)
  if (separator === DASH || separator === SLASH) return isoTime(text)
  return isPlainNumber(text) ? epochTime(Number(text)) : Number.NaN
}

function isPlainNumber(text: string): boolean {
  if (text === '') return false
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if ((code < ZERO || code > NINE) && code !== DOT) return false
  }
  return true
}

/** Seconds, ms, us or ns since 1970, told apart by size: they overlap only after the year 5138. */
function epochTime(value: number): number {
  if (!(value >= FIRST_S)) return Number.NaN
  if (value < 1e11) {
    if (value >= LAST_S) return Number.NaN
    // In two steps: the product alone would be rounded twice.
    const second = Math.floor(value)
    return second * US_PER_S + Math.round((value - second) * US_PER_S)
  }
  const us = Math.round(value < 1e14 ? value * 1_000 : value < 1e17 ? value : value / 1_000)
  return us < LAST_S * US_PER_S ? us : Number.NaN
}

/** `2026-01-31T13:55:36.123Z`, `2026-01-31 13:55:36,5 +0200`, `2026/01/31 13:55:36`. */
function isoTime(text: string): number {
  const gap = text.charCodeAt(10)
  if (text.charCodeAt(7) !== text.charCodeAt(4) || (gap !== T && gap !== SPACE)) return Number.NaN
  const day = dayOf(digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2))
  const timeUs = day * DAY_S * US_PER_S + clockUs(text, 11)
  const us = timeUs - zoneS(text, scanned) * US_PER_S
  return scanned === text.length ? us : Number.NaN
}

/**
 * A time in the Common Log Format, `10/Oct/2026:13:55:36 -0700`, with or without a fraction of a
 * second. Reads no further than it needs.
 */
export function clfTime(text: string, at: number): number {
  if (text.charCodeAt(at + 2) !== SLASH || text.charCodeAt(at + 6) !== SLASH) return Number.NaN
  const day = dayOf(digits(text, at + 7, 4), monthAt(text, at + 3), digits(text, at, 2))
  if (text.charCodeAt(at + 11) !== COLON) return Number.NaN
  const timeUs = day * DAY_S * US_PER_S + clockUs(text, at + 12)
  return timeUs - zoneS(text, scanned) * US_PER_S
}

/** `13:55:36`, with or without a fraction. */
function clockUs(text: string, at: number): number {
  const hour = digits(text, at, 2)
  const minute = digits(text, at + 3, 2)
  const second = digits(text, at + 6, 2)
  if (text.charCodeAt(at + 2) !== COLON || text.charCodeAt(at + 5) !== COLON) return Number.NaN
  // 60 is a leap second.
  if (!(hour < 24 && minute < 60 && second <= 60)) return Number.NaN
  scanned = at + 8
  return ((hour * 60 + minute) * 60 + second) * US_PER_S + fractionUs(text)
}

function fractionUs(text: string): number {
  const code = text.charCodeAt(scanned)
  if (code !== DOT && code !== COMMA) return 0
  scanned += 1
  let us = 0
  for (let unit = 100_000; ; unit = Math.floor(unit / 10)) {
    const digit = text.charCodeAt(scanned) - ZERO
    if (!(digit >= 0 && digit <= 9)) return us
    us += digit * unit
    scanned += 1
  }
}

/** `Z`, `+02`, `+0200` or `+02:00`, with or without a space before it; nothing means UTC. */
function zoneS(text: string, from: number): number {
  const at = text.charCodeAt(from) === SPACE ? from + 1 : from
  const sign = text.charCodeAt(at)
  if (sign === Z) scanned = at + 1
  if (sign !== PLUS && sign !== DASH) return UTC_S
  const hours = digits(text, at + 1, 2)
  const gap = text.charCodeAt(at + 3) === COLON ? 1 : 0
  const minutes = digits(text, at + 3 + gap, 2)
  scanned = Number.isNaN(minutes) ? at + 3 : at + 5 + gap
  const seconds = hours * 3_600 + (Number.isNaN(minutes) ? 0 : minutes * 60)
  return sign === PLUS ? seconds : -seconds
}

/** A whole number of `count` digits. */
function digits(text: string, at: number, count: number): number {
  let value = 0
  for (let i = at; i < at + count; i += 1) {
    const digit = text.charCodeAt(i) - ZERO
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

const MONTHS: ReadonlyMap<number, number> = new Map(
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map(
    (name, i) => [nameAt(name, 0), i + 1],
  ),
)

function nameAt(text: string, at: number): number {
  return (text.charCodeAt(at) << 16) | (text.charCodeAt(at + 1) << 8) | text.charCodeAt(at + 2)
}

function monthAt(text: string, at: number): number {
  return MONTHS.get(nameAt(text, at)) ?? Number.NaN
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

let lastDate = 0
let lastDay = 0

/** Days from 1970-01-01 to a date. Remembers the last date: a log has many lines for one day. */
function dayOf(year: number, month: number, day: number): number {
  const date = (year * 16 + month) * 32 + day
  if (date === lastDate) return lastDay
  const most = MONTH_DAYS[month - 1]
  if (!(year >= 1970 && year < 2255 && most !== undefined && day >= 1 && day <= most))
    return Number.NaN
  lastDate = date
  lastDay = Date.UTC(year, month - 1, day) / (DAY_S * 1_000)
  return lastDay
}
