// The course of a story: all is well, something goes wrong, all is well again, and in the end
// nobody sends requests any more.

import { checkCounted, checkRecovered, checkStats } from '../checks/at-the-end.js'
import { checkSpent } from '../checks/of-budgets.js'
import { checkAllFree, checkCountedSlots } from '../checks/of-slots.js'
import { type Fleet, SECOND_US } from '../fleet/fleet.js'
import type { Terms } from '../fleet/terms.js'
import { whenWell } from '../promises/story.js'
import { keepHolding } from '../traffic/holding.js'
import { keepChanging } from '../traffic/live-limits.js'
import { keepSpending } from '../traffic/spending.js'
import { introduce, keepAsking } from '../traffic/traffic.js'

/** The time before the fault, and the time after its repair. */
const BEFORE_US = 3 * SECOND_US
const AFTER_US = 9 * SECOND_US
/** About how long requests come. */
export const TOLD_US: number = BEFORE_US + 2 * SECOND_US + AFTER_US

/** What goes wrong in a story, and what holds then. */
export interface Scenario extends Terms {
  /** Causes the fault for about `us`, and repairs it. */
  readonly goWrong: (fleet: Fleet, us: number) => Promise<void>
}

/** All is well. */
export const WELL = { least: 1, bound: whenWell, countsAll: true, isAway: false } as const
/** Redis is away, at least for some processes. */
export const AWAY = { least: 2, countsAll: true, isAway: true } as const

/** Runs the whole story. */
export async function tellStory(fleet: Fleet, goWrong: Scenario['goWrong']): Promise<void> {
  const { world } = fleet
  // The first decisions of a process wait for its connection.
  await world.runFor(SECOND_US)
  introduce(fleet)
  const stopAsking = keepAsking(fleet)
  const stopHolding = keepHolding(fleet)
  const stopSpending = keepSpending(fleet)
  const stopChanging = keepChanging(fleet)
  await world.runFor(BEFORE_US)
  fleet.tell('something goes wrong')
  await goWrong(fleet, fleet.options.faultMs * 1_000)
  fleet.tell('all is well')
  fleet.budgets?.calm()
  // Slots that Redis has forgotten are renewed after a third of their time.
  if (fleet.slots !== undefined) await world.runFor(500 * fleet.options.slotMs)
  if (!fleet.terms.isAway) await checkCountedSlots(fleet)
  await world.runFor(AFTER_US - 2 * SECOND_US)
  // A limit takes effect 1.5 s after it is set.
  stopChanging()
  await world.runFor(2 * SECOND_US)
  stopAsking()
  stopHolding()
  stopSpending()
  await world.runFor(SECOND_US)
  checkRecovered(fleet)
  await checkCounted(fleet)
  await checkCountedSlots(fleet)
  await checkAllFree(fleet)
  await checkSpent(fleet)
  checkStats(fleet)
  fleet.live?.checkFollowed()
  for (const member of fleet.staying) fleet.leave(member)
  await world.runFor(2 * SECOND_US)
}
