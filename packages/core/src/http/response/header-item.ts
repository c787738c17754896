// One policy's part in a response, in the units of HTTP: whole seconds that never come too early, whole units.

import type { PolicyResult } from '../../limiter/decision.js'

/** One policy's figures on one response. */
export interface Row {
  /** Name of the limiter. */
  readonly limiter: string
  /** What the policy is called there: its own name, unless another limiter has told one of that name already. */
  readonly name: string
  readonly figures: PolicyResult
  /** True if this policy refused the request. */
  readonly violated: boolean
}

/** Beyond 2^31 ms Node's timers fire at once, so a client that sleeps so long hammers instead: 24.8 days are the most. */
export const MAX_SECONDS = 2_147_483
/** The largest integer of a structured field. */
const MAX_INTEGER = 999_999_999_999_999

/** Seconds for Retry-After: whole, rounded up, 1 at the least. `undefined` where waiting cannot help. */
export function retryAfterSeconds(ms: number): number | undefined {
  if (!Number.isFinite(ms)) return undefined
  return Math.max(1, seconds(ms))
}

export function seconds(ms: number): number {
  return Math.min(MAX_SECONDS, Math.ceil(ms / 1_000))
}

export function integer(units: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.floor(units)))
}

/**
 * The effective window: ms within which the units left may be used, or, where none fits, ms until it does. Never so
 * short that the rate it suggests is above the policy's own. `undefined`: there is no such time.
 */
export function effectiveMs({ figures, violated }: Row): number | undefined {
  const { policy, remaining, retryAfterMs, resetAfterMs } = figures
  if (violated || remaining < 1) {
    if (Number.isFinite(retryAfterMs)) return retryAfterMs
    if (remaining < 1) return resetAfterMs > 0 ? resetAfterMs : undefined
  }
  if (policy.kernel?.traits.drains) return remaining * policy.unitMs
  if (policy.kernel?.traits.hasOneEnd && resetAfterMs > 0) return resetAfterMs
  return policy.windowMs
}

/** The longest wait of those that refused, else the smallest share left. */
export function bindingOf(rows: readonly Row[]): Row {
  return rows.reduce((binding, row) => (rowBindsMore(row, binding) ? row : binding))
}

/** True if this row says more about what the client may do than that one. */
export function rowBindsMore(row: Row, than: Row): boolean {
  if (row.violated !== than.violated) return row.violated
  if (row.violated) return row.figures.retryAfterMs > than.figures.retryAfterMs
  return share(row.figures) < share(than.figures)
}

/** The part of a limit that is left. */
export function share({
  limit,
  remaining,
}: {
  readonly limit: number
  readonly remaining: number
}): number {
  if (limit === Number.POSITIVE_INFINITY) return 1
  return limit > 0 ? remaining / limit : 0
}
