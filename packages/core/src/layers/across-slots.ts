// Policies of one decision whose keys lie in different slots of a Cluster cannot be decided in one step. They are asked slot
// by slot, and if one denies, the earlier ones are given back: not atomic, but nobody is charged for a refused request.

import type { PolicyResult } from '../limiter/decision.js'
import { slotOf } from '../redis/transport/hash-slot.js'
import { hashTagOf, type KeyFormat } from '../redis/transport/keys.js'
import type { StoreRequest, StoreResult, Target } from '../store.js'
import { partOfGroup, partOfTarget } from './resilience/unavailable.js'

/** The places of a group's policies, by the slots of their keys. */
export function slotsOf(
  { policySet, key, ownKeys }: Target,
  format: KeyFormat,
): Map<number, number[]> {
  const slots = new Map<number, number[]>()
  policySet.policies.forEach((_, i) => {
    const slot = slotOf(hashTagOf(format, ownKeys?.[i]?.tag ?? key))
    const places = slots.get(slot)
    if (places === undefined) slots.set(slot, [i])
    else places.push(i)
  })
  return slots
}

/** A target as one for each slot that its keys lie in. */
export function partsBySlot(target: Target, format: KeyFormat): Target[] {
  return [...slotsOf(target, format).values()].map((places) => partOfTarget(target, places))
}

/** Decides one of the parts; undefined: what was to be given back is under way, and there is no time to wait for it. */
type Decide = (part: StoreRequest) => StoreResult | Promise<StoreResult> | undefined

/** Decides a group whose keys lie in several slots, the smallest limits first: what is refused there costs nobody else. */
export async function decideBySlot(
  group: StoreRequest,
  format: KeyFormat,
  decide: Decide,
): Promise<StoreResult> {
  const smallest = (places: readonly number[]) =>
    Math.min(...places.map((i) => group.policySet.policies[i]?.limit ?? 0))
  const parts = [...slotsOf(group, format).values()].sort(
    (one, other) => smallest(one) - smallest(other),
  )
  const asked: Asked[] = []
  let denied = false
  for (const places of parts) {
    // Once one has denied, the others are only looked at.
    const mode = denied && group.mode === 'consume' ? 'peek' : group.mode
    const part: StoreRequest = { ...partOfGroup(group, places), mode }
    let answer: StoreResult
    try {
      answer = (await decide(part)) as StoreResult
    } catch (error) {
      if (group.mode === 'consume' && !denied) await giveBack(asked, decide)
      throw error
    }
    asked.push({ part, places, answer })
    if (answer.allowed || denied) continue
    denied = true
    if (group.mode === 'consume') await giveBack(asked.slice(0, -1), decide)
  }
  return joined(group, asked, !denied)
}

async function giveBack(asked: readonly Asked[], decide: Decide): Promise<void> {
  for (const earlier of asked) {
    const { nowUs, untilUs, source } = earlier.answer
    const refund: StoreRequest = { ...earlier.part, mode: 'refund', untilUs, seenUs: nowUs }
    const answer = await decide(refund)
    if (answer !== undefined) earlier.answer = { ...answer, source }
  }
}

interface Asked {
  readonly part: StoreRequest
  readonly places: readonly number[]
  answer: StoreResult
}

function joined(group: StoreRequest, asked: readonly Asked[], allowed: boolean): StoreResult {
  const figures: PolicyResult[] = []
  const untilUs: number[] = []
  for (const { places, answer } of asked) {
    places.forEach((place, i) => {
      figures[place] = answer.figures[i] as PolicyResult
      untilUs[place] = answer.untilUs[i] as number
    })
  }
  const { unavailableMs: _, ...first } = (asked[0] as Asked).answer
  const waits = asked.flatMap(({ answer }) => answer.unavailableMs ?? [])
  const local = asked.some(({ answer }) => answer.source === 'local')
  return {
    ...first,
    allowed,
    figures: group.policySet.policies.map((_, i) => figures[i] as PolicyResult),
    untilUs,
    source: local ? 'local' : 'store',
    degraded: asked.some(({ answer }) => answer.degraded),
    ...(waits.length > 0 && { unavailableMs: Math.max(...waits) }),
  }
}
