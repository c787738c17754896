// The request that restores what was last seen in the store.

import { type BlockState, seenUnits } from '../../algorithms/block-code.js'
import type { Policy } from '../../algorithms/policy.js'
import type { RestoreRequest, Target } from '../../store.js'
import type { Loss } from './canary.js'
import type { Seen } from './last-seen.js'
import { latestUs } from './quota.js'

/** Whether a counter tells by itself what it has lost. Units of a sliding window or counter come
 *  back one by one, so those that are missing may have expired. */
export function tellsLosses({ kernel }: Policy): boolean {
  return kernel?.traits.drains === true || kernel?.traits.hasOneEnd === true
}

/** Whether what was seen of a policy is restored after a loss. Where nobody knows of one, or only
 *  another policy's counter is lost, estimates of a budget that have merely expired would be
 *  spent. */
export function isRestoredAfter({ isSure, isOfKey }: Loss, { kernel }: Policy): boolean {
  return (isSure && !isOfKey) || !kernel?.traits.isHeld
}

/**
 * Restores what was last seen of a target.
 * @param loss by which it may be lost
 */
export function restoring(target: Target, seen: Seen, loss?: Loss): RestoreRequest {
  const { remaining, nowUs: seenUs } = seen
  const untilUs = [...seen.untilUs]
  const costs = target.policySet.policies.map((policy, i) => {
    // Holders of slots take them anew.
    if (!policy.kernel?.traits.restores) return 0
    if (loss !== undefined && !isRestoredAfter(loss, policy)) return 0
    const units = Math.max(0, policy.limit - (remaining[i] as number))
    if (!policy.kernel?.traits.blocks) return units
    const state = lockoutSeen(policy, i, seen)
    untilUs[i] = state.untilUs
    return seenUnits(units, state)
  })
  return { mode: 'restore', target, costs, count: 1, untilUs, seenUs, lossUs: loss?.sinceUs }
}

/**
 * What was last seen of a lock-out, in the form in which it is restored: its count, with the level;
 * or its last block, if no count was seen since.
 */
export function lockoutSeen(
  policy: Policy,
  place: number,
  { nowUs, remaining, untilUs, blocks }: Seen,
): Omit<BlockState, 'hasBegun'> & { readonly untilUs: number } {
  const left = remaining[place] as number
  const us = untilUs[place] as number
  const seen = blocks?.[place]
  if (seen === undefined) {
    // The count goes on after a block that a refund has lifted, whose end is still remembered.
    return { level: 0, isBlocked: false, untilUs: Math.min(us, latestUs(policy, nowUs)) }
  }
  const isCounting = left < policy.limit && us > seen.untilUs
  return { level: seen.level, isBlocked: !isCounting, untilUs: isCounting ? us : seen.untilUs }
}
