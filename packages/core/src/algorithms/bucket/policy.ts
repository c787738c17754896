// What token bucket, GCRA and leaky bucket share: one kernel, three vocabularies.

import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid, quote, rangeError } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { MAX_UNITS } from '../algorithm.js'
import { type Algorithm, changed, checkedCount, makePolicy, type Policy } from '../policy.js'
import { type BucketNumbers, bucket } from './kernel.js'

/**
 * Keeps now + 3.1 full buckets, or two and the longest wait, in eighths of a microsecond since
 * 2025, below 2^53 until the year 2045.
 */
const MAX_FULL_MS = 1_826 * 86_400_000
const TICKS_PER_MS = 8_000
const MAX_ROUNDING = 0.01

/** What all of them may be given. */
interface BucketOptions {
  readonly name?: string | undefined
  readonly maxWait?: Duration | undefined
}

/**
 * @param words what the algorithm's users call the capacity, the units that come back every so
 * often (a rate, so it may be a fraction), and how often that is
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 */
export function bucketPolicy<Word extends string>(
  algorithm: Algorithm,
  options: { readonly [word in Word]: unknown } & BucketOptions,
  words: readonly [capacity: Word, refill: Word, every: Word],
): Policy {
  checkedOptions(options, `${algorithm}()`, ['name', 'maxWait', ...words], 'WEIR_INVALID_POLICY')
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
  const { maxWait } = options
  const waitMs = maxWait === undefined ? undefined : durationMs(maxWait, `${algorithm}: maxWait`)
  if (waitMs !== undefined && waitMs > MAX_FULL_MS) {
    const right = 'at most 1826 days'
    throw invalid('WEIR_INVALID_POLICY', `${algorithm}: maxWait`, maxWait, right, typeof maxWait)
  }
  // Debts past the limit are counted that far, too, so it is never less than a span.
  const wait = Math.max(span, (waitMs ?? 0) * TICKS_PER_MS)
  const scale = durationText(fullMs)
  return makePolicy({
    name: options.name,
    algorithm,
    limit: capacity,
    windowMs: span / TICKS_PER_MS,
    timeScale: waitMs === undefined ? scale : withWait(scale, waitMs),
    unitMs: price / TICKS_PER_MS,
    maxWaitMs: waitMs ?? fullMs,
    kernel: bucket,
    numbers: [capacity, span, wait],
    options,
  })
}

/**
 * The policy as one that reserves turns so far ahead, if it does not yet. It stays as it is where
 * it was made with a `maxWait`, or is no bucket.
 */
export function reservingAhead(policy: Policy, ms: number): Policy {
  const { maxWaitMs, timeScale, numbers, kernel } = policy
  const isGiven = timeScale !== durationText(maxWaitMs)
  if (kernel?.within === undefined || isGiven || ms <= maxWaitMs) return policy
  const [limit, span] = numbers as BucketNumbers
  const waitMs = Math.min(ms, MAX_FULL_MS)
  const wait = Math.max(span, waitMs * TICKS_PER_MS)
  const parts = { maxWaitMs: waitMs, timeScale: withWait(timeScale, waitMs) }
  return changed(policy, { ...parts, numbers: [limit, span, wait] })
}

function withWait(scale: string, waitMs: number): string {
  return `${scale}-wait-${durationText(waitMs)}`
}
