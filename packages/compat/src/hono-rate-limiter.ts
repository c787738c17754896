// The store under hono-rate-limiter, whose stores have the form of express-rate-limit's.

import type { Store } from '@weir/core'
import { type Form, storeOf, type WeirStore, type WeirStoreOptions } from './express-rate-limit.js'

export type {
  CompatOptions,
  Counted,
  MiddlewareOptions,
  WeirStore,
  WeirStoreOptions,
} from './express-rate-limit.js'

/** It judges a refusal before it has a status, as a success. */
const HONO: Form = {
  defaultName: 'hono-rate-limiter',
  takesBackRefused: ({ skipSuccessfulRequests = false }) => skipSuccessfulRequests,
}

/**
 * The store of one limiter of hono-rate-limiter, over any of Weir's. Each limiter needs one of its
 * own, with a `name` of its own; they may be over one store of Weir's.
 *
 * Refused requests are not counted, so `totalHits` is at most one more than the limit. Where
 * `limit` is a function, it is `Number.MAX_SAFE_INTEGER` above the limit that is given here.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, and of the limiter
 * WEIR_INVALID_POLICY; WEIR_INVALID_OPTION also where its `limit` is a function and no limit is
 * given here
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
