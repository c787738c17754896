// @ts-check
// What the tests and their processes share.

import { fixedWindow, slidingCounter, slidingLog, slidingWindow, tokenBucket } from '@weir/core'

/** For connections on a busy machine, where a process may stall for long. */
export const PATIENT = {
  connectionTimeoutMillis: 60_000,
  query_timeout: 60_000,
  lock_timeout: 60_000,
  idle_in_transaction_session_timeout: 60_000,
}

export const LIMIT = 20

/** Policies of all algorithms. No units come back while a test runs. */
const POLICIES = [
  tokenBucket({ capacity: LIMIT, refill: 1, every: '1h' }),
  fixedWindow({ limit: LIMIT, window: 'year', timeZone: 'UTC' }),
  slidingWindow({ limit: LIMIT, window: '1h' }),
  slidingLog({ limit: LIMIT, window: '1h' }),
  slidingCounter({ limit: LIMIT, window: '365d' }),
]

/** @param {number} i */
export function policyOf(i) {
  return /** @type {import('@weir/core').Policy} */ (POLICIES[i % POLICIES.length])
}

export const address = fixedWindow({ name: 'address', limit: 100_000, window: '1h' })
export const account = slidingLog({ name: 'account', limit: 100_000, window: '1h' })
