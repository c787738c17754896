// Token bucket, GCRA and leaky bucket: one kernel, three vocabularies.

import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid, quote, rangeError } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { MAX_UNITS } from '../algorithm.js'
import { type Algorithm, changed, checkedCount, makePolicy, type Policy } from '../policy.js'
import { type BucketNumbers, bucket } from './kernel.js'

export interface TokenBucketOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /**
   * What is counted, for the `RateLimit-Policy` header: `'tokens'`. Default: requests, which the
   * header does not mention.
   */
  readonly unit?: string | undefined
  /** The most units that can pass at once: a whole number from 0, which denies all. All of them may
   *  take at most 1,826 days to come back. */
  readonly capacity: number
  /** Units that come back every `every`, one by one. Above 0; a fraction is allowed. */
  readonly refill: number
  /** From 1 ms to 3,650 days. */
  readonly every: Duration
  /** How far ahead `wait` may reserve turns, from 1 ms to 1,826 days; if given, part of the time
   *  scale. Default: until all units have come back. */
  readonly maxWait?: Duration | undefined
  /**
   * Shares of the limit whose crossing is reported, such as `[0.8, 1]`: see docs/budgets.md. Up to
   * 10, above 0 and at most 1, rising.
   */
  readonly notifyAt?: readonly number[] | undefined
}

/**
 * A bucket that starts full and fills up at a steady rate. At most `capacity + refill * t / every`
 * units pass in any time t.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example tokenBucket({ capacity: 20, refill: 10, every: '1s' }) // 20 at once, 10 a second
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  return bucketPolicy('token-bucket', options, ['capacity', 'refill', 'every'])
}

export interface GcraOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /**
   * What is counted, for the `RateLimit-Policy` header: `'tokens'`. Default: requests, which the
   * header does not mention.
   */
  readonly unit?: string | undefined
  /** Units per `period` in the long run. A fraction is allowed; 0 denies all. */
  readonly limit: number
  /** From 1 ms to 3,650 days. */
  readonly period: Duration
  /** The most units that can pass at once: a whole number from 0, only 0 with a `limit` of 0.
   *  Default: `limit`, rounded down, but at least 1 if `limit` is above 0. */
  readonly burst?: number | undefined
  /** How far ahead `wait` may reserve turns, from 1 ms to 1,826 days; if given, part of the time
   *  scale. Default: until all units have come back. */
  readonly maxWait?: Duration | undefined
  /**
   * Shares of the limit whose crossing is reported, such as `[0.8, 1]`: see docs/budgets.md. Up to
   * 10, above 0 and at most 1, rising.
   */
  readonly notifyAt?: readonly number[] | undefined
}

/**
 * `tokenBucket` in the words of traffic shaping: `limit` units per `period`, evenly spaced except
 * for bursts. At most `burst + limit * t / period` units pass in any time t.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example gcra({ limit: 10, period: '1s', burst: 3 }) // one every 100 ms, 3 at once after a pause
 */
export function gcra(options: GcraOptions): Policy {
  const words = ['burst', 'limit', 'period'] as const
  checkedOptions(options, 'gcra()', [...COMMON, ...words], 'WEIR_INVALID_POLICY')
  const { limit } = options
  const rounded = typeof limit === 'number' && limit > 0 ? Math.max(1, Math.floor(limit)) : 0
  const { burst = rounded } = options
  // A limit of 0 denies all, so its rate does not matter.
  const rate = limit === 0 && burst === 0 ? 1 : limit
  const { name, unit, maxWait, notifyAt, period } = options
  const all = { name, unit, maxWait, notifyAt, burst, limit: rate, period }
  return bucketPolicy('gcra', all, words)
}

export interface LeakyBucketOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /**
   * What is counted, for the `RateLimit-Policy` header: `'tokens'`. Default: requests, which the
   * header does not mention.
   */
  readonly unit?: string | undefined
  /** The most units that can pass at once: a whole number from 0, which denies all. All of them may
   *  take at most 1,826 days to come back. */
  readonly capacity: number
  /** Units that leak out every `every`, steadily. Above 0; a fraction is allowed. */
  readonly leak: number
  /** From 1 ms to 3,650 days. */
  readonly every: Duration
  /** How far ahead `wait` may reserve turns, from 1 ms to 1,826 days; if given, part of the time
   *  scale. Default: until all units have come back. */
  readonly maxWait?: Duration | undefined
  /**
   * Shares of the limit whose crossing is reported, such as `[0.8, 1]`: see docs/budgets.md. Up to
   * 10, above 0 and at most 1, rising.
   */
  readonly notifyAt?: readonly number[] | undefined
}

/**
 * A bucket that requests fill and that leaks at a steady rate; what would overflow it is denied. At
 * most `capacity + leak * t / every` units pass in any time t.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example leakyBucket({ capacity: 5, leak: 1, every: '1s' })
 */
export function leakyBucket(options: LeakyBucketOptions): Policy {
  return bucketPolicy('leaky-bucket', options, ['capacity', 'leak', 'every'])
}

/**
 * With this maximum, sums stay below 2^53 until the year 2045: now plus 3.1 full buckets, or now
 * plus two full buckets and the longest wait, in eighths of a microsecond since 2025.
 */
const MAX_FULL_MS = 1_826 * 86_400_000
const TICKS_PER_MS = 8_000
const MAX_ROUNDING = 0.01

const COMMON = ['name', 'unit', 'maxWait', 'notifyAt'] as const

/**
 * @param words the algorithm's words for the capacity, for the units that come back (a rate, so it
 * may be a fraction), and for the time in which they do
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 */
function bucketPolicy<Word extends string>(
  algorithm: Algorithm,
  options: { readonly [word in Word]: unknown } & Pick<GcraOptions, (typeof COMMON)[number]>,
  words: readonly [capacity: Word, refill: Word, every: Word],
): Policy {
  checkedOptions(options, `${algorithm}()`, [...COMMON, ...words], 'WEIR_INVALID_POLICY')
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
  const rate = `${quote(refill)} per ${everyMs} ms`
  if (price - exact > MAX_ROUNDING * exact) {
    const remedy = 'give at most 79000 per millisecond, or a divisor of 8000'
    const problem = `${algorithm}: ${rate} cannot be kept within 1 %; ${remedy}`
    throw rangeError('WEIR_INVALID_POLICY', problem)
  }
  // The negation also refuses an infinite price: 0 times infinity is NaN.
  if (!(capacity * price <= MAX_FULL_MS * TICKS_PER_MS)) {
    const problem = `${quote(capacity)} at ${rate} takes more than 1826 days to fill`
    const remedy = `give a smaller ${capacityWord} or a larger ${refillWord}`
    throw rangeError('WEIR_INVALID_POLICY', `${algorithm}: ${problem}; ${remedy}`)
  }
  // Calculated before the price is rounded, so that equal settings have the same time scale,
  // whichever algorithm's words they use.
  const fullMs = Math.max(1, Math.round((capacity * everyMs) / refill))
  const span = capacity * price
  const { maxWait } = options
  const waitMs = maxWait === undefined ? undefined : durationMs(maxWait, `${algorithm}: maxWait`)
  if (waitMs !== undefined && waitMs > MAX_FULL_MS) {
    const right = 'at most 1826 days'
    throw invalid('WEIR_INVALID_POLICY', `${algorithm}: maxWait`, maxWait, right, typeof maxWait)
  }
  // Debts past the limit are counted up to this time, so it is never less than a span.
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
 * Lets turns be reserved `ms` ahead, unless they already can be. A policy that was made with a
 * `maxWait`, or is not a bucket, stays unchanged.
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
