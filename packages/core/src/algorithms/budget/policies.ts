import { type Duration, durationMs } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { MAX_UNITS } from '../algorithm.js'
import { checkedCount, makePolicy, type Policy } from '../policy.js'
import { budgetOfHolds, budget as kernel } from './kernel.js'

export interface BudgetOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /** What is counted, for the `RateLimit-Policy` header: `'tokens'`. Default: requests, which the
   *  header does not mention. */
  readonly unit?: string | undefined
  /** Units that may be spent: a whole number from 0, which denies all, to 2^50 - 1. */
  readonly limit: number
  /**
   * When an estimate's units come back, unless `settle` says what was used: 1 s to 1 d, rounded up
   * by at most a sixtieth; `'10m'` suits most calls. Default: a cost is spent at once.
   */
  readonly holdTimeout?: Duration | undefined
  /**
   * How long after its last use a key is forgotten, and all of its budget is there again. At least
   * twice `holdTimeout`. Default `'90d'`.
   */
  readonly forgetAfter?: Duration | undefined
  /**
   * Shares of the limit whose crossing is reported, such as `[0.8, 1]`: see docs/budgets.md. Up to
   * 10, above 0 and at most 1, rising.
   */
  readonly notifyAt?: readonly number[] | undefined
}

const LEAST_HOLD_MS = 1_000
const MOST_HOLD_MS = 86_400_000

/**
 * A total that no time gives back: what a run, a session or a customer may spend. See
 * docs/budgets.md.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example budget({ name: 'session', limit: 200_000, unit: 'tokens', holdTimeout: '10m' })
 */
export function budget(options: BudgetOptions): Policy {
  const known = ['name', 'unit', 'limit', 'holdTimeout', 'forgetAfter', 'notifyAt']
  checkedOptions(options, 'budget()', known, 'WEIR_INVALID_POLICY')
  const limit = checkedCount(options.limit, 'budget: limit', MAX_UNITS)
  const { holdTimeout, forgetAfter = '90d' } = options
  const wrong = (option: 'holdTimeout' | 'forgetAfter', right: string): Error =>
    invalid('WEIR_INVALID_POLICY', `budget: ${option}`, options[option], right)
  const holdMs = holdTimeout === undefined ? 0 : durationMs(holdTimeout, 'budget: holdTimeout')
  if (holdTimeout !== undefined && (holdMs < LEAST_HOLD_MS || holdMs > MOST_HOLD_MS))
    throw wrong('holdTimeout', 'from 1 s to 1 d')
  const forgetMs = durationMs(forgetAfter, 'budget: forgetAfter')
  if (forgetMs < 2 * holdMs) throw wrong('forgetAfter', 'at least twice holdTimeout')
  return makePolicy({
    name: options.name,
    algorithm: 'budget',
    limit,
    windowMs: forgetMs,
    // Neither time is part of it: a change of one must not give money back.
    timeScale: 'lifetime',
    unitMs: 0,
    maxWaitMs: 0,
    kernel: holdMs > 0 ? budgetOfHolds : kernel,
    numbers: [limit, holdMs, forgetMs],
    options,
  })
}
