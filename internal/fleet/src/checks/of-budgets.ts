// What must hold for budgets that hold estimates: nothing counts less than was granted, unless it
// has expired or was settled, and nothing counts longer, or more than once.

import type { Decision } from '../../../../packages/core/src/index.js'
import type { Settlement } from '../../../../packages/core/src/limiter/decision.js'
import type { Budget, Estimate } from '../fleet/budgets.js'
import { type Fleet, SECOND_US } from '../fleet/fleet.js'
import { failedSettlements } from '../promises/bounds.js'

/** A decision is granted if and only if it fits, as far as one can know; without Redis, and after
 *  it, within the bounds. */
export function checkEstimate(
  fleet: Fleet,
  own: Estimate,
  counters: readonly Budget[],
  { allowed, source, policies }: Decision,
): void {
  const { member, asked, units } = own
  const isExpected = source !== 'local' || counters.some((each) => each.mayBeLocal(member.rank))
  fleet.must(isExpected, `${member.host.name} decided a budget without Redis, which is well`)
  if (source === 'store') {
    if (member.store.health().localKeys === 0) fleet.budgets?.heardAll(member)
    const counted = counters.map((counter) => counter.countedIn(asked))
    counters.forEach((counter, i) => {
      const { least, most } = counted[i] as (typeof counted)[number]
      const taken = allowed ? units : 0
      const what = `${nameOf(counter)}: from ${least} to ${most} count`
      const { remaining = 0 } = policies[i] ?? {}
      if (counter.isSure) {
        const left = counter.limit - least - taken
        fleet.must(left >= 0 || taken === 0, `${what}, and ${taken} were granted`)
        fleet.must(remaining <= Math.max(0, left), `${what} before ${taken}, ${remaining} remain`)
      }
      // A local quota may be a ceiling, which knows of no expiry.
      if (counter.hasLost || own.wasAway || member.store.health().state !== 'closed') return
      const left = counter.limit - most - taken
      fleet.must(remaining >= left, `${what} before ${taken}, and only ${remaining} remain`)
    })
    const fits = counters.every((counter, i) => {
      return !counter.hasLost && (counted[i]?.most ?? 0) + units <= counter.limit
    })
    fleet.must(allowed || !fits || units === 0, `${units} were denied, though they fit`)
  }
  if (!allowed || source === 'cache') return
  for (const counter of counters) {
    counter.update()
    const { passed, limit, story } = counter
    fleet.over = Math.max(fleet.over, passed - limit)
    const most = failedSettlements(fleet.terms.bound(story), story.offTwice)
    fleet.must(passed <= most, `${nameOf(counter)}: ${passed} in use, ${most} may`)
  }
}

/** A settlement is late if and only if its estimate had expired. */
export function checkLate(
  fleet: Fleet,
  { units, state, soonestUs, latestUs, settled }: Estimate,
  { late }: Settlement,
): void {
  if (settled === undefined || state !== 'held' || units === 0) return
  const { fromUs, toUs } = settled.call
  fleet.must(!late || toUs >= soonestUs, 'a settlement in time is late')
  fleet.must(late || fromUs < latestUs || fleet.terms.isAway, 'a late settlement is in time')
}

/** In the end nothing is held, and what was spent counts, once. */
export async function checkSpent(fleet: Fleet): Promise<void> {
  const { budgets, world, terms, staying, options } = fleet
  const [member] = staying
  if (budgets === undefined || member?.budgets === undefined) return
  await world.runFor(1_000 * Math.ceil(3 * options.budgetMs) + SECOND_US)
  for (const each of staying) if (each.store.health().localKeys === 0) budgets.heardAll(each)
  for (const [key, counters] of budgets.ofKey) {
    let left: readonly number[] = []
    void member.budgets.peek(key).then(({ policies }) => {
      left = policies.map(({ remaining }) => remaining)
    })
    const call = budgets.begin()
    await world.runFor(SECOND_US)
    budgets.end(call)
    counters.forEach((counter, i) => {
      const { least, most, judged } = counter.countedIn(call)
      const { limit, story, isLost } = counter
      const remaining = left[i] ?? Number.POSITIVE_INFINITY
      const what = `${nameOf(counter)}: ${least} to ${most} were spent, and ${remaining} remain`
      const bound = terms.countsAll ? limit : terms.bound(story)
      const mostLeft = Math.min(bound - judged, counter.hasLost ? limit : limit - least)
      if (!isLost) fleet.must(remaining <= Math.max(0, mostLeft + story.offTwice), what)
      if (!counter.hasLost) fleet.must(remaining >= limit - most, `${what} in the end`)
    })
  }
}

function nameOf({ who, place }: Budget): string {
  return `budget ${who}, policy ${place}`
}
