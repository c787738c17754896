import { checkedOptions } from '../base/options.js'
import { makePolicy, type Policy } from './policy.js'

export interface UnlimitedOptions {
  /** The policy's name in decisions. Default `'unlimited'`. */
  readonly name?: string | undefined
}

/**
 * Allows everything and is never stored.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_NAME
 * @example
 * const policies = { standard: slidingWindow({ limit: 100, window: '1m' }), partner: unlimited() }
 */
export function unlimited(options: UnlimitedOptions = {}): Policy {
  checkedOptions(options, 'unlimited()', ['name'], 'WEIR_INVALID_POLICY')
  const { name = 'unlimited' } = options
  return makePolicy({
    name,
    algorithm: 'unlimited',
    limit: Number.POSITIVE_INFINITY,
    windowMs: 0,
    timeScale: '',
    unitMs: 0,
    maxWaitMs: 0,
    kernel: undefined,
    numbers: [],
    options,
  })
}
