// The store for hono-rate-limiter, whose stores have the form of express-rate-limit's.

import type { Store } from '@weir/core'
import { type Form, storeOf, type WeirStore, type WeirStoreOptions } from './express-rate-limit.js'

export type {
  CompatOptions,
  Counted,
  MiddlewareOptions,
  WeirStore,
  WeirStoreOptions,
} from './express-rate-limit.js'

/** hono-rate-limiter judges a refusal before it has a status, and so as a success. */
const HONO: Form = {
  defaultName: 'hono-rate-limiter',
  takesBackRefused: ({ skipSuccessfulRequests = false }) => skipSuccessfulRequests,
}

/**
 * The store of one limiter of hono-rate-limiter, over any of Weir's stores. Each limiter needs its
 * own, with its own `name`; all may use the same store of Weir's.
 *
 * Refused requests are not counted, so `totalHits` is at most one more than the limit. Where the
 * middleware's `limit` is a function, `totalHits` is `Number.MAX_SAFE_INTEGER` for requests above
 * the limit given here.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, and the limiter
 * WEIR_INVALID_POLICY; WEIR_INVALID_OPTION also where the limiter's `limit` is a function and no
 * limit is given here
 * @example
 * const limiter = rateLimiter({
 *   limit: 100,
 *   windowMs: 60_000,
 *   keyGenerator: (c) => c.req.header('x-api-key') ?? 'nobody',
 *   store: weirStore(redisStore(client), { name: 'api' }),
 * })
 */
export function weirStore(store: Store, options: WeirStoreOptions = {}): WeirStore {
  return storeOf(store, options, HONO)
}
