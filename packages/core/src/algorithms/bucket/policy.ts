// What token bucket, GCRA and leaky bucket share: one kernel, three vocabularies.

import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid, quote, rangeError } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { MAX_UNITS } from '../algorithm.js'
import { type Algorithm, checkedCount, makePolicy, type Policy } from '../policy.js'
import { bucket } from './kernel.js'

/**
 * Keeps now + 3.1 full buckets, in eighths of a microsecond since 2025, below 2^53 until the year
 * 2045.
 */
const MAX_FULL_MS = 1_826 * 86_400_000
const TICKS_PER_MS = 8_000
const MAX_ROUNDING = 0.01

/**
 * @param words what the algorithm's users call the capacity, the units that come back every so
 * often (a rate, so it may be a fraction), and how often that is
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 */
export function bucketPolicy<Word extends string>(
  algorithm: Algorithm,
  options: { readonly [word in Word]: unknown } & { readonly name?: string | undefined },
  words: readonly [capacity: Word, refill: Word, every: Word],
): Policy {
  checkedOptions(options, `${algorithm}()`, ['name', ...words], 'WEIR_INVALID_POLICY')
  const [capacityWord, refillWord, everyWord] = words
  const capacity = checkedCount(options[capacityWord], `${algorithm}: ${capacityWord}`, MAX_UNITS)
  const everyMs = durationMs(options[everyWord] as Duration, `${algorithm}: ${everyWord}`)
  const refill = options[refillWord]
  if (typeof refill !== 'number' || !(refill > 0 && refill <= MAX_UNITS)) {
    const what = `${algorithm}: ${refillWord}`
    throw invalid('WEIR_INVALID_POLICY', what, refill, 'a number above 0', 'number')
  }
  const exact = (everyMs * TICKS_PER_MS) / refill
  const price = Math.ceil(exact)
  if (price - exact > MAX_ROUNDING * exact) {
    throw rangeError(
      'WEIR_INVALID_POLICY',
      `${algorithm}: ${quote(refill)} per ${everyMs} ms cannot be kept within 1 %; give at most 79000 per millisecond, or a divisor of 8000`,
    )
  }
  // An infinite price is none either: 0 times that is no number.
  if (!(capacity * price <= MAX_FULL_MS * TICKS_PER_MS)) {
    const full = `${quote(capacity)} at ${quote(refill)} per ${everyMs} ms`
    throw rangeError(
      'WEIR_INVALID_POLICY',
      `${algorithm}: ${full} takes more than 1826 days to fill; give a smaller ${capacityWord} or a larger ${refillWord}`,
    )
  }
  // Before the price is rounded, so that equal settings in other words are of one time scale.
  const fullMs = Math.max(1, Math.round((capacity * everyMs) / refill))
  const span = capacity * price
  return makePolicy({
    name: options.name,
    algorithm,
    limit: capacity,
    windowMs: span / TICKS_PER_MS,
    timeScale: durationText(fullMs),
    unitMs: price / TICKS_PER_MS,
    kernel: bucket,
    numbers: [capacity, span, reachOf(span, fullMs)],
  })
}

/**
 * How far ahead of now any bucket of the time scale can have put the state: two full resets. That
 * of another one may be longer than this one's by its rounding: half a ms of the time scale, and
 * then up to 1 % of its price.
 */
function reachOf(span: number, fullMs: number): number {
  return Math.ceil(2 * Math.max(span, (1 + MAX_ROUNDING) * (fullMs + 0.5) * TICKS_PER_MS))
}
