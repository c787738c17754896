// What rates and quantiles are calculated from: the server keeps the last minute of it, and the
// page as much as its charts show.

import type { Frame, LimiterFrame, Past, Totals } from './protocol.js'

export const OUTCOMES = ['allowed', 'shadow_denied', 'denied', 'error'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Frames that come sooner after another, because of an action, add nothing to a chart: a rate over
 *  so short a time would be too high or too low. */
export const SHORTEST_MS = 500
const KEPT_MS = 60_000

/** A limiter's decisions, by outcome. */
export function totalsOf({ decisions }: Pick<LimiterFrame, 'decisions'>): Totals {
  const totals = { allowed: 0, shadow_denied: 0, denied: 0, error: 0 }
  for (const { outcome, count } of decisions) totals[outcome] += count
  return totals
}

/** A limiter's decisions that were made without the shared store. */
export function degradedOf({ decisions }: Pick<LimiterFrame, 'decisions'>): number {
  return decisions.reduce((sum, { degraded, count }) => sum + (degraded ? count : 0), 0)
}

export function pastOf({ atMs, limiters, stores, guards }: Omit<Frame, 'viewer'>): Past {
  return {
    atMs,
    limiters: limiters.map((limiter) => {
      return { id: limiter.id, totals: totalsOf(limiter), degraded: degradedOf(limiter) }
    }),
    stores: stores.map(({ id, nodes }) => ({ id, nodes })),
    guards: guards.map(({ id, refused }) => ({ id, refused })),
  }
}

/** The last minute before `now`, with it, the oldest first. */
export function withPast(before: readonly Past[], now: Past): readonly Past[] {
  const last = before.at(-1)
  if (last === undefined || now.atMs < last.atMs) return [now]
  if (now.atMs - last.atMs < SHORTEST_MS) return before
  return [...before.filter(({ atMs }) => atMs >= now.atMs - KEPT_MS), now]
}
