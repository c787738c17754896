// The counters of a limiter: a fixed window, and a lock-out that nothing but `block` begins, in one
// decision. Refused units are taken by a penalty, and a much larger limit on the same window says
// how many were taken in all.

import { createHash } from 'node:crypto'
import { type Decision, fixedWindow, lockout, type PolicyResult, type Store } from '@weir/core'
import { limitersOf } from '../limiters.js'

export interface Limit {
  readonly points: number
  readonly windowMs: number
}

export interface Counted {
  /** Points that were taken. Without Redis this process knows no more than whether the limit is
   *  reached, and of a charge nothing: undefined. */
  readonly consumed: number | undefined
  /** Until the block ends, or else the window. */
  readonly leftMs: number
  readonly isBlocked: boolean
  /** It was counted in this process, as the store could not be asked. */
  readonly isLocal: boolean
}

export interface Taken extends Counted {
  readonly allowed: boolean
  readonly consumed: number
}

export interface Counters {
  /** Takes points if there are as many. */
  take(limit: Limit, key: string, points: number): Promise<Taken>
  /** Takes points, past the limit if need be. */
  charge(limit: Limit, key: string, points: number): Promise<Counted>
  giveBack(limit: Limit, key: string, points: number): Promise<void>
  look(limit: Limit, key: string): Promise<Counted & { readonly consumed: number }>
  /** What was counted before is forgotten: after the block the key is a fresh one. */
  block(limit: Limit, key: string, ms: number): Promise<void>
  forget(limit: Limit, key: string): Promise<void>
}

/** The most units that a counter of Weir has. */
const MOST_POINTS = 2 ** 50

export const LONGEST_MS: number = 3_650 * 86_400_000

/** Attempts as many as these do not happen in a millisecond, so they begin no block. */
const BLOCKS = lockout({ limit: 1_000_000, window: 1, block: [1], forget: LONGEST_MS })

/**
 * @param whenUnavailable undefined: as the store says
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, and the methods WEIR_INVALID_COST
 */
export function countersOf(
  store: Store,
  keyPrefix: string,
  whenUnavailable: 'throw' | undefined,
): Counters {
  // Limiters of one prefix count together, as those of rate-limiter-flexible do.
  const options = { name: nameOf(keyPrefix), shared: true, whenUnavailable }
  const limiterFor = limitersOf(store, options, (limit: number, window: number) => [
    fixedWindow({ limit, window }),
    BLOCKS,
  ])
  const countingFor = limitersOf(store, options, (window: number) =>
    fixedWindow({ limit: MOST_POINTS, window }),
  )
  // It says what is wrong with the store.
  countingFor(LONGEST_MS)

  return {
    async take({ points, windowMs }, key, cost) {
      const decision = await limiterFor(points, windowMs).consume(key, { cost })
      return { allowed: decision.allowed, ...countedOf(decision, windowMs) }
    },

    async charge({ windowMs }, key, cost) {
      const decision = await countingFor(windowMs).penalty(key, { cost })
      const counted = countedOf(decision, windowMs)
      return counted.isLocal ? { ...counted, consumed: undefined } : counted
    },

    async giveBack({ windowMs }, key, cost) {
      await countingFor(windowMs).refund(key, { cost })
    },

    async look({ points, windowMs }, key) {
      const counted = countedOf(await limiterFor(points, windowMs).peek(key), windowMs)
      const { consumed, isBlocked, isLocal } = counted
      if (isBlocked || consumed < points) return counted
      // At the limit, or past it.
      if (isLocal) return { ...counted, consumed: points + 1 }
      const exact = countedOf(await countingFor(windowMs).peek(key), windowMs)
      return exact.isLocal ? { ...exact, consumed: points + 1 } : exact
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

function countedOf({ policies, source }: Decision, windowMs: number) {
  const [{ limit, remaining, resetAfterMs }, blocks] = policies as [PolicyResult, PolicyResult?]
  const isBlocked = blocks?.block?.isBlocked === true
  return {
    consumed: limit - remaining,
    // A window that has not begun is a whole one.
    leftMs: (isBlocked ? blocks.resetAfterMs : resetAfterMs) || windowMs,
    isBlocked,
    isLocal: source === 'local',
  }
}

/** Names of Weir have fewer characters than prefixes may have. */
function nameOf(keyPrefix: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(keyPrefix)) return keyPrefix
  const hash = createHash('sha256').update(keyPrefix, 'utf16le').digest('hex').slice(0, 16)
  return `${hash}-${keyPrefix.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 47)}`
}
