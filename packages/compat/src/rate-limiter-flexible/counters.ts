// A limiter's counters: a fixed window, and a lock-out that only `block` begins, in one decision.
// Refused units are taken by a penalty, and a much larger limit on the same window shows how many
// were taken in total. Weir keeps the order of one limiter's calls, so what is done for users is
// done by the limiter that takes points.

import { createHash } from 'node:crypto'
import { type Decision, fixedWindow, lockout, type Store } from '@weir/core'
import type { PolicyResult } from '@weir/core/store'
import { limitersOf } from '../limiters.js'

export interface Limit {
  readonly points: number
  readonly windowMs: number
}

export interface Counted {
  /** Points that were taken. Without Redis this process knows only whether the limit is reached;
   *  after a charge it knows nothing: undefined. */
  readonly consumed: number | undefined
  /** The ms until the block ends, or else the window. */
  readonly leftMs: number
  readonly isBlocked: boolean
  /** It was counted in this process, because the store could not be asked. */
  readonly isLocal: boolean
}

export interface Taken extends Counted {
  readonly allowed: boolean
  readonly consumed: number
}

export interface Counters {
  /** Takes points if that many are left. */
  take(limit: Limit, key: string, points: number): Promise<Taken>
  /** Takes points, past the limit if need be, in the order of calls. */
  charge(limit: Limit, key: string, points: number): Promise<Counted>
  /** Takes points, and knows by one call how many are taken then. */
  chargeRefused(limit: Limit, key: string, points: number): Promise<Counted>
  giveBack(limit: Limit, key: string, points: number): Promise<void>
  look(limit: Limit, key: string): Promise<Counted & { readonly consumed: number }>
  /** Blocks a key, and forgets what was counted, so that the key starts afresh after the block. */
  block(limit: Limit, key: string, ms: number): Promise<void>
  forget(limit: Limit, key: string): Promise<void>
}

/** The most units that one of Weir's counters holds. */
const MOST_POINTS = 2 ** 50

export const LONGEST_MS: number = 3_650 * 86_400_000

/** No key has a million attempts in a millisecond, so attempts begin no block. */
const BLOCKS = lockout({ limit: 1_000_000, window: 1, block: [1], forget: LONGEST_MS })

/**
 * @param whenUnavailable undefined: by the store's options
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, and by the methods WEIR_INVALID_COST
 */
export function countersOf(
  store: Store,
  keyPrefix: string,
  whenUnavailable: 'throw' | undefined,
): Counters {
  // Limiters with one prefix count together, as in rate-limiter-flexible.
  const options = { name: nameOf(keyPrefix), shared: true, whenUnavailable }
  const limiterFor = limitersOf(store, options, (limit: number, window: number) => [
    fixedWindow({ limit, window }),
    BLOCKS,
  ])
  const countingFor = limitersOf(store, options, (window: number) =>
    fixedWindow({ limit: MOST_POINTS, window }),
  )
  // Throws if something is wrong with the store.
  countingFor(LONGEST_MS)

  /** A limiter of `points` does not say how many were taken beyond them. */
  async function exactly(
    limit: Limit,
    key: string,
    counted: ReturnType<typeof countedOf>,
  ): Promise<ReturnType<typeof countedOf>> {
    const { points, windowMs } = limit
    if (counted.isBlocked || counted.consumed < points) return counted
    if (counted.isLocal) return { ...counted, consumed: points + 1 }
    const exact = countedOf(await countingFor(windowMs).peek(key), limit)
    return exact.isLocal ? { ...exact, consumed: points + 1 } : exact
  }

  return {
    async take(limit, key, cost) {
      const decision = await limiterFor(limit.points, limit.windowMs).consume(key, { cost })
      return { allowed: decision.allowed, ...countedOf(decision, limit) }
    },

    async charge(limit, key, cost) {
      const decision = await limiterFor(limit.points, limit.windowMs).penalty(key, { cost })
      // Of the window, also while the key is blocked.
      const charged = { ...countedOf(decision, limit), isBlocked: false }
      const counted = await exactly(limit, key, charged)
      return counted.isLocal ? { ...counted, consumed: undefined } : counted
    },

    async chargeRefused(limit, key, cost) {
      const counted = countedOf(await countingFor(limit.windowMs).penalty(key, { cost }), limit)
      return counted.isLocal ? { ...counted, consumed: undefined } : counted
    },

    async giveBack({ points, windowMs }, key, cost) {
      await limiterFor(points, windowMs).refund(key, { cost })
    },

    async look(limit, key) {
      const { points, windowMs } = limit
      return exactly(limit, key, countedOf(await limiterFor(points, windowMs).peek(key), limit))
    },

    async block({ points, windowMs }, key, ms) {
      await limiterFor(points, windowMs).block(key, ms)
      await countingFor(windowMs).reset(key)
    },

    async forget({ points, windowMs }, key) {
      await limiterFor(points, windowMs).reset(key)
    },
  }
}

function countedOf({ policies, source }: Decision, { windowMs }: Limit) {
  const [{ limit, remaining, resetAfterMs }, blocks] = policies as [PolicyResult, PolicyResult?]
  const isBlocked = blocks?.block?.isBlocked === true
  return {
    consumed: limit - remaining,
    // A window that has not begun lasts for its whole length.
    leftMs: (isBlocked ? blocks.resetAfterMs : resetAfterMs) || windowMs,
    isBlocked,
    isLocal: source === 'local',
  }
}

/** Weir's names allow fewer characters than prefixes do. A prefix that looks like a name made here
 *  is given another, so that no two have one. */
function nameOf(keyPrefix: string): string {
  const isMade = /^[0-9a-f]{16}-/.test(keyPrefix)
  if (!isMade && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(keyPrefix)) return keyPrefix
  const hash = createHash('sha256').update(keyPrefix, 'utf16le').digest('hex').slice(0, 16)
  return `${hash}-${keyPrefix.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 47)}`
}
