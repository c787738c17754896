// What the page shows of a limiter: exact stats, and the keys that were seen.

import type { LimiterStats } from '@weir/core'
import type { KeyRow, LimiterFrame, NearRow } from '../protocol.js'
import type { ShownLimiter } from '../watched.js'
import type { NearKey } from './near-keys.js'
import type { SeenKeys } from './seen-keys.js'
import type { ShowKey } from './shown-key.js'
import type { Slot } from './sketch.js'

const MOST_KEYS = 20

export function limiterFrame(
  id: string,
  limiter: ShownLimiter,
  seen: SeenKeys,
  show: ShowKey,
): LimiterFrame {
  const stats = limiter.stats()
  const { decisions, priorities, policies, undecided, waiting, waits, enabled, shadow } = stats
  const keys = seen.of(limiter.name)
  return {
    id,
    name: limiter.name,
    enabled,
    shadow,
    waiting,
    decisions: decisions.filter(({ count }) => count > 0),
    priorities: priorities.filter(({ count }) => count > 0),
    policies: policies.map(policyFrame),
    undecided,
    waits: { count: waits.counts.reduce((sum, each) => sum + each, 0), sum: waits.sum },
    refusedKeys: keys?.refused.top(MOST_KEYS).map((slot) => refusedRow(slot, show)) ?? [],
    nearKeys: keys?.near.latest(MOST_KEYS).map((near) => nearRow(near, show)) ?? [],
  }
}

type PolicyFrame = LimiterFrame['policies'][number]

/** JSON has no infinity. */
function policyFrame(stats: LimiterStats['policies'][number]): PolicyFrame {
  return { ...stats, limit: finite(stats.limit), windowMs: finite(stats.windowMs) }
}

export function finite(number: number | undefined): number | undefined {
  return Number.isFinite(number) ? number : undefined
}

function refusedRow(slot: Slot, show: ShowKey): KeyRow {
  slot.shown ??= show(slot.key)
  const { shown, handle, count, error, lastMs, policy, retryAfterMs } = slot
  const isNever = !Number.isFinite(retryAfterMs)
  return {
    key: shown,
    handle,
    count,
    error,
    lastMs,
    policy,
    retryAfterMs: isNever ? null : retryAfterMs,
  }
}

function nearRow(near: NearKey, show: ShowKey): NearRow {
  near.shown ??= show(near.key)
  const { shown, handle, lastMs, policy, remaining, limit } = near
  return { key: shown, handle, lastMs, policy, remaining, limit }
}
