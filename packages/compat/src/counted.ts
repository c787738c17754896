// A decision in other limiters' terms: how many requests were counted, and until when.

import type { Decision } from '@weir/core'

/** How many requests were counted, this one included. If it was refused, one more than the limit,
 *  because the middlewares judge by this number. */
export function hitsOf({ allowed, limit, remaining }: Decision): number {
  return allowed ? Math.max(1, limit - remaining) : limit + 1
}

/** The ms until a refused request would pass, or until an allowed one's counter is empty. For a
 *  limit of 0, which no request passes, one window. */
export function leftMsOf({ retryAfterMs, resetAfterMs }: Decision, windowMs: number): number {
  const leftMs = retryAfterMs ?? resetAfterMs
  return Number.isFinite(leftMs) ? leftMs : windowMs
}
