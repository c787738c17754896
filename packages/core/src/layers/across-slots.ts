// Policies of one decision whose keys lie in different slots of a Cluster cannot be decided in one step. They are asked slot
// by slot, and if one denies, the earlier ones are given back: not atomic, but nobody is charged for a refused request.

import type { PolicyFigures } from '../limiter/decision.js'
import { slotOf } from '../redis/transport/hash-slot.js'
import { hashTagOf, type KeyFormat } from '../redis/transport/keys.js'
import type { Answer, Group, Subject } from '../store.js'
import { partOfGroup, partOfSubject } from './resilience/unavailable.js'

/** The places of a group's policies, by the slots of their keys. */
export function slotsOf({ plan, key, ownKeys }: Subject, format: KeyFormat): Map<number, number[]> {
  const slots = new Map<number, number[]>()
  plan.policies.forEach((_, i) => {
    const slot = slotOf(hashTagOf(format, ownKeys?.[i]?.tag ?? key))
    const places = slots.get(slot)
    if (places === undefined) slots.set(slot, [i])
    else places.push(i)
  })
  return slots
}

/** A subject as one for each slot that its keys lie in. */
export function partsBySlot(subject: Subject, format: KeyFormat): Subject[] {
  return [...slotsOf(subject, format).values()].map((places) => partOfSubject(subject, places))
}

/** Decides one of the parts; undefined: what was to be given back is under way, and there is no time to wait for it. */
type Decide = (part: Group) => Answer | Promise<Answer> | undefined

/** Decides a group whose keys lie in several slots, the smallest limits first: what is refused there costs nobody else. */
export async function decideBySlot(
  group: Group,
  format: KeyFormat,
  decide: Decide,
): Promise<Answer> {
  const smallest = (places: readonly number[]) =>
    Math.min(...places.map((i) => group.plan.policies[i]?.limit ?? 0))
  const parts = [...slotsOf(group, format).values()].sort(
    (one, other) => smallest(one) - smallest(other),
  )
  const asked: Asked[] = []
  let denied = false
  for (const places of parts) {
    // Once one has denied, the others are only looked at.
    const mode = denied && group.mode === 'consume' ? 'peek' : group.mode
    const part: Group = { ...partOfGroup(group, places), mode }
    let answer: Answer
    try {
      answer = (await decide(part)) as Answer
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
    const refund: Group = { ...earlier.part, mode: 'refund', untilUs, seenUs: nowUs }
    const answer = await decide(refund)
    if (answer !== undefined) earlier.answer = { ...answer, source }
  }
}

interface Asked {
  readonly part: Group
  readonly places: readonly number[]
  answer: Answer
}

function joined(group: Group, asked: readonly Asked[], allowed: boolean): Answer {
  const figures: PolicyFigures[] = []
  const untilUs: number[] = []
  for (const { places, answer } of asked) {
    places.forEach((place, i) => {
      figures[place] = answer.figures[i] as PolicyFigures
      untilUs[place] = answer.untilUs[i] as number
    })
  }
  const { unavailableMs: _, ...first } = (asked[0] as Asked).answer
  const waits = asked.flatMap(({ answer }) => answer.unavailableMs ?? [])
  const local = asked.some(({ answer }) => answer.source === 'local')
  return {
    ...first,
    allowed,
    figures: group.plan.policies.map((_, i) => figures[i] as PolicyFigures),
    untilUs,
    source: local ? 'local' : 'store',
    degraded: asked.some(({ answer }) => answer.degraded),
    ...(waits.length > 0 && { unavailableMs: Math.max(...waits) }),
  }
}
