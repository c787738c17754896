// How many processes share a limit, and which of them this one is.

import { quote, rangeError, typeError } from '../../base/errors.js'

/** `rank` runs from 0 to count - 1; undefined: not known, so nobody gets the remainders. */
export interface Peers {
  readonly count: number
  readonly rank: number | undefined
}

export const ALONE: Peers = { count: 1, rank: 0 }
const MOST = 100_000

/** Whether these are a count of processes and, where it is known, the rank of one of them. */
export function isPeers(told: { readonly count: unknown; readonly rank: unknown }): told is Peers {
  const { count, rank } = told as Peers
  if (!Number.isInteger(count) || count < 1 || count > MOST) return false
  return rank === undefined || (Number.isInteger(rank) && rank >= 0 && rank < count)
}

/**
 * This process's part of `units`. All parts add up to `units`, or to less if ranks are not known. A
 * part may be 0.
 */
export function partOf(units: number, { count, rank }: Peers): number {
  const whole = Math.floor(units / count)
  return rank !== undefined && rank < units % count ? whole + 1 : whole
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export function checkedInstances(option: number | { count: number; rank: number }): Peers {
  const isObject = typeof option === 'object' && option !== null
  const { count, rank } = isObject ? option : { count: option, rank: undefined }
  if (!isPeers({ count, rank })) {
    const right = `a count from 1 to ${MOST}, or { count, rank } with a rank below the count`
    const isOfType = isObject || typeof option === 'number'
    const error = isOfType ? rangeError : typeError
    const shown = quote(isOfType ? JSON.stringify(option) : option)
    throw error('WEIR_INVALID_OPTION', `instances is ${shown}; give ${right}`)
  }
  return { count, rank }
}
