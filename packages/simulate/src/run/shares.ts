// Shares of a sample, with their standard errors. A sample has all requests of some keys, chosen by
// a hash of the key: each key is in it with the same probability, whatever its requests are.

import { hashOf } from './hash.js'
import type { Counts } from './key-table.js'

/** A part of a whole. */
export interface Share {
  readonly share: number
  /** The share's standard error, if it comes from a sample. `NaN`: from fewer than two keys. */
  readonly error?: number | undefined
}

/** Whether a key is simulated, which one in `oneOf` is. 1: all. */
export function isSampled(key: string, oneOf: number): boolean {
  return oneOf === 1 || (hashOf(key) >>> 0) % oneOf === 0
}

/** The share of keys that are affected, estimated from a simple random sample of all keys. */
export function shareOfKeys(affected: number, keys: number, oneOf: number): Share {
  const share = keys === 0 ? 0 : affected / keys
  if (oneOf === 1) return { share }
  const rest = 1 - 1 / oneOf
  return {
    share,
    error: keys < 2 ? Number.NaN : Math.sqrt((rest * share * (1 - share)) / (keys - 1)),
  }
}

/** The share of requests that are refused: a ratio of two sums over keys, where each key is drawn
 *  with all its requests (W. Cochran, Sampling Techniques, 6.4). */
export function shareOfRequests(
  { refused, requests }: { readonly refused: Counts; readonly requests: Counts },
  keys: number,
  oneOf: number,
): Share {
  let allRefused = 0
  let all = 0
  for (let key = 0; key < keys; key += 1) {
    allRefused += refused.of(key)
    all += requests.of(key)
  }
  const share = all === 0 ? 0 : allRefused / all
  if (oneOf === 1) return { share }
  if (keys < 2) return { share, error: Number.NaN }
  let squares = 0
  for (let key = 0; key < keys; key += 1)
    squares += (refused.of(key) - share * requests.of(key)) ** 2
  const variance = ((1 - 1 / oneOf) * keys * squares) / (keys - 1)
  return { share, error: Math.sqrt(variance) / all }
}
