// A decision as other limiters say it: how many requests were counted, and until when.

import type { Decision } from '@weir/core'

/** Those that were counted, with this one. Of a refused one, as they judge by it, one more than
 *  the limit. */
export function hitsOf({ allowed, limit, remaining }: Decision): number {
  return allowed ? Math.max(1, limit - remaining) : limit + 1
}

/** Until a refused request would pass, or else until nothing is counted. Of a limit of 0, which
 *  none passes, a window. */
export function leftMsOf({ retryAfterMs, resetAfterMs }: Decision, windowMs: number): number {
  const leftMs = retryAfterMs ?? resetAfterMs
  return Number.isFinite(leftMs) ? leftMs : windowMs
}
