// An outage gives nobody a new budget: memory begins with what was last seen of a key in the store.

import type { Policy } from '../../algorithms/policy.js'
import type { MemoryStore } from '../../memory/store.js'
import type { Target } from '../../store.js'
import type { Seen } from './last-seen.js'
import type { Ledger } from './ledger.js'
import { partOf } from './peers.js'
import { type LocalPart, localTarget } from './quota.js'

/**
 * Has memory begin with what was last seen of each counter, unless it did so with something newer.
 * An entry may be of a request that failed by itself, long ago: the store has gone on counting.
 */
export function carryOver(
  store: MemoryStore,
  ledger: Ledger,
  target: Target,
  local: LocalPart,
  seen: Seen,
): void {
  const nowUs = ledger.nowUs()
  const used = local.places.map((place, i) => {
    const admitted = ledger.of(target, place)
    if (seen.nowUs <= (admitted?.seen?.seenUs ?? Number.NEGATIVE_INFINITY)) return 0
    if (admitted !== undefined) ledger.saw(admitted, target, place, seen)
    if (typeof local.each[place] === 'object') return 0
    const part = local.policySet.policies[i]?.limit as number
    const policy = target.policySet.policies[place] as Policy
    const left = partOf(leftOf(policy, place, seen, nowUs), local.of)
    // What was admitted here and is not counted yet comes on top of what the store has counted.
    return Math.min(part, Math.max(0, part - left) + Math.ceil(admitted?.units ?? 0))
  })
  if (used.every((units) => units === 0)) return
  const untilUs = local.places.map((place) => seen.untilUs[place] as number)
  take(store, localTarget(target, local), used, untilUs)
}

/** What this process has used of its part, so that no more is left than its part of what was. */
function take(
  store: MemoryStore,
  target: Target,
  used: readonly number[],
  untilUs: readonly number[],
): void {
  const local = { target, count: 1 }
  const { policies } = store.decide({ ...local, mode: 'peek', costs: used })
  // What is counted here already, such as from an earlier outage, is a part of it.
  const missing = policies.map(({ limit, remaining }, i) =>
    Math.max(0, (used[i] as number) - (limit - remaining)),
  )
  store.decide({ ...local, mode: 'reconcile', costs: missing, untilUs })
}

/** What is left by now of what was last seen: a bucket has drained since. */
function leftOf(
  { limit, unitMs, kernel }: Policy,
  place: number,
  { remaining, untilUs }: Seen,
  nowUs: number,
): number {
  const left = remaining[place] as number
  if (kernel?.traits.drains !== true) return left
  const usedMs = Math.max(0, (untilUs[place] as number) - nowUs) / 1_000
  return Math.max(left, limit - Math.ceil(usedMs / unitMs))
}
