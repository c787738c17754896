// One policy's part in a response, in the units of HTTP: whole seconds that never come too early, whole units.

import { bindsMore, type PolicyResult } from '../../limiter/decision.js'

/** One policy's figures on one response. */
export interface HeaderItem {
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
export function effectiveMs({ figures, violated }: HeaderItem): number | undefined {
  const { policy, remaining, retryAfterMs, resetAfterMs } = figures
  if (violated || remaining < 1) {
    if (Number.isFinite(retryAfterMs)) return retryAfterMs
    if (remaining < 1) return resetAfterMs > 0 ? resetAfterMs : undefined
  }
  if (policy.unitMs > 0) return remaining * policy.unitMs
  if (policy.algorithm === 'fixed-window' && resetAfterMs > 0) return resetAfterMs
  return policy.windowMs
}

/** The item that binds; of equals the first. */
export function bindingOf(items: readonly HeaderItem[]): HeaderItem {
  return items.reduce((binding, item) => (itemBindsMore(item, binding) ? item : binding))
}

export function itemBindsMore(one: HeaderItem, other: HeaderItem): boolean {
  return bindsMore(one.figures, one.violated, other.figures, other.violated)
}
