// What must hold for slots: how much is in progress at once, and that all are free in the end.

import { type Fleet, SECOND_US } from '../fleet/fleet.js'
import type { SlotCounter, Work } from '../fleet/slots.js'

/** The longest work of a story, in units of the time to hold. */
export const LONGEST_WORK = 6

/** No more work is in progress at once than the bound allows. */
export function checkInProgress(
  fleet: Fleet,
  { who, policy, inProgress, most }: SlotCounter,
): void {
  fleet.overSlots = Math.max(fleet.overSlots, inProgress.size - policy.limit)
  const what = `${inProgress.size} in progress for ${who} of ${policy.name}, ${most} may be`
  fleet.must(inProgress.size <= most, what)
}

/** No work is aborted whose slot Redis has counted all the time. */
export function checkNotAborted(fleet: Fleet, { member }: Work): void {
  const what = `${member.host.name} ends work whose slot has not expired`
  fleet.must(fleet.terms.isExact !== true, what)
}

/** How long a release may take while all is well. */
const SETTLED_US = 200_000

/** Redis counts the work that is in progress, and nothing else if nothing has gone wrong. */
export async function checkCountedSlots(fleet: Fleet): Promise<void> {
  const { world, slots, terms } = fleet
  if (slots === undefined || fleet.staying.length === 0) return
  for (const [key, counters] of slots.ofKey) {
    const earlier = counters.map(({ inProgress, perhaps }) => inProgress.size + perhaps.size)
    await world.runFor(SETTLED_US)
    const before = counters.map(({ inProgress }) => [...inProgress])
    const free = await leftOf(fleet, key)
    counters.forEach(({ who, policy, inProgress, resets }, i) => {
      const still = (before[i] as Work[]).filter((work) => inProgress.has(work))
      const used = policy.limit - (free[i] as number)
      const what = `${used} slots of ${who}, ${policy.name}, are taken`
      // The mark of a reset may be ahead of a clock that was set back.
      const isCounted =
        used >= Math.min(policy.limit, still.length) || (fleet.isSetBack && resets > 0)
      fleet.must(isCounted, `${what}, and ${still.length} are in progress`)
      const isExact = terms.isExact !== true || fleet.isHolding || used <= (earlier[i] as number)
      fleet.must(isExact, `${what}, and ${earlier[i]} were in progress at the most`)
    })
  }
}

/** After all work has ended, all slots are free. */
export async function checkAllFree(fleet: Fleet): Promise<void> {
  const { world, slots } = fleet
  if (slots === undefined || fleet.staying.length === 0) return
  const { slotMs } = fleet.options
  await world.runFor(LONGEST_WORK * slotMs * 1_000)
  // The slots of processes that died, or could not reach Redis, have to expire.
  if (!fleet.terms.isExact) await world.runFor((slotMs * 1_000 * 61) / 60)
  await world.runFor(SECOND_US)
  for (const [key, counters] of slots.ofKey) {
    const free = await leftOf(fleet, key)
    counters.forEach(({ who, policy, inProgress }, i) => {
      const what = `${free[i]} slots are free for ${who} of ${policy.name} when all work has ended`
      fleet.must(inProgress.size === 0 && free[i] === policy.limit, what)
    })
  }
  for (const { slots: limiter, host } of fleet.staying)
    for (const { policy, slots: counted } of limiter?.stats().policies ?? []) {
      const what = `${host.name} counts ${counted?.held} of ${policy} when all work has ended`
      fleet.must(counted?.held === 0, what)
    }
}

/** How many slots are free for a key. */
async function leftOf(fleet: Fleet, key: string): Promise<readonly number[]> {
  const [member] = fleet.staying
  let left: readonly number[] = []
  void member?.slots?.peek(key).then(({ policies }) => {
    left = policies.map(({ remaining }) => remaining)
  })
  await fleet.world.runFor(SECOND_US)
  return left
}
