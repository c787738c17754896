import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { checkedCount, makePolicy, type Policy } from '../policy.js'
import { lockout as kernel } from './kernel.js'

export interface LockoutOptions {
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
  /** Attempts in a window, before a block begins: a whole number from 0, which denies all and
   *  blocks nobody, to 1,000,000. */
  readonly limit: number
  /** How long attempts are counted together, from the first one: 1 ms to 3,650 days. */
  readonly window: Duration
  /**
   * How long the first block lasts, the second, and so on; the last length repeats. One to eight,
   * rising.
   */
  readonly block: readonly Duration[]
  /**
   * How long after a block's end the next one is as long as the first again: at least the longest
   * block.
   */
  readonly forget: Duration
  /**
   * What starts a block: the attempt that brings the count to the limit, which is granted, or
   * (`'excess'`) the next one, which is refused. Default `'limit'`.
   */
  readonly starts?: 'limit' | 'excess' | undefined
}

const MOST_ATTEMPTS = 1_000_000
/** The kernel takes this many lengths. */
const MOST_BLOCKS = 8

/**
 * Allows a number of attempts in a window, then blocks, longer each time: for what can be guessed.
 * See docs/lock-outs.md. A request is one attempt, whatever it costs, or none at a cost of 0.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example lockout({ limit: 5, window: '15m', block: ['1m', '5m', '1h'], forget: '1d' })
 */
export function lockout(options: LockoutOptions): Policy {
  const known = ['name', 'unit', 'limit', 'window', 'block', 'forget', 'starts']
  checkedOptions(options, 'lockout()', known, 'WEIR_INVALID_POLICY')
  const limit = checkedCount(options.limit, 'lockout: limit', MOST_ATTEMPTS)
  const windowMs = durationMs(options.window, 'lockout: window')
  const blocks = checkedBlocks(options.block)
  const forgetMs = durationMs(options.forget, 'lockout: forget')
  const longest = blocks.at(-1) as number
  if (forgetMs < longest) {
    const right = `at least the longest block, ${durationText(longest)}`
    const type = typeof options.forget
    throw invalid('WEIR_INVALID_POLICY', 'lockout: forget', options.forget, right, type)
  }
  const { starts = 'limit' } = options
  if (starts !== 'limit' && starts !== 'excess')
    throw invalid('WEIR_INVALID_POLICY', 'lockout: starts', starts, "'limit' or 'excess'", 'string')
  const excess = starts === 'excess' ? 1 : 0
  const lengths = Array.from({ length: MOST_BLOCKS }, (_, i) => blocks[i] ?? longest)
  return makePolicy({
    name: options.name,
    algorithm: 'lockout',
    limit,
    windowMs,
    timeScale: `${durationText(windowMs)}-forget-${durationText(forgetMs)}`,
    unitMs: 0,
    maxWaitMs: 0,
    kernel,
    numbers: [limit, windowMs, forgetMs, excess, ...lengths],
    options,
  })
}

function checkedBlocks(block: readonly Duration[]): readonly number[] {
  const wrong = (right: string): TypeError | RangeError =>
    invalid('WEIR_INVALID_POLICY', 'lockout: block', block, right, 'object')
  if (!Array.isArray(block) || block.length === 0 || block.length > MOST_BLOCKS)
    throw wrong(`a list of 1 to ${MOST_BLOCKS} durations, such as ['1m', '5m', '1h']`)
  const blocks = block.map((each: Duration) => durationMs(each, 'lockout: a duration of block'))
  if (blocks.some((ms, i) => i > 0 && ms <= (blocks[i - 1] as number)))
    throw wrong('durations, each longer than the one before')
  return blocks
}
