// What must hold at the end, when all is well again and nobody sends requests any more.

import type { Counter } from '../fleet/counter.js'
import { type Fleet, SECOND_US } from '../fleet/fleet.js'
import { failedSettlements } from '../promises/bounds.js'
import { isForgotten, nameOf } from './of-decisions.js'

/** What passed is not granted again once Redis is back. */
export async function checkCounted(fleet: Fleet): Promise<void> {
  const [member] = fleet.staying
  if (member === undefined) return
  for (const key of fleet.keys.slice(0, 3)) {
    let remaining: readonly number[] = []
    void member.limiter.peek(key).then(({ policies }) => {
      remaining = policies.map((each) => each.remaining)
    })
    await fleet.world.runFor(SECOND_US)
    fleet.countersOf(key).forEach((counter, i) => {
      checkRemaining(fleet, counter, remaining[i] ?? Number.POSITIVE_INFINITY)
    })
  }
}

function checkRemaining(fleet: Fleet, counter: Counter, remaining: number): void {
  // The first request after a loss restores what a process had seen. Units that flow back may pass
  // again.
  if (counter.isLost || counter.flows || isForgotten(fleet)) return
  const { policy, passedSince, charged, inUse, refunds, resets, story } = counter
  const limit = fleet.live?.limit ?? counter.limit
  const drains = policy.kernel?.traits.drains
  // When the limit of a bucket changes, the fraction that is used stays.
  if (drains && fleet.live !== undefined) return
  const { countsAll, isExact, bound } = fleet.terms
  const all = countsAll && resets === 0 ? limit - charged : bound(story)
  const most = failedSettlements(all, story.offTwice)
  const what = `${nameOf(counter)}: ${passedSince} of ${most} passed, and ${remaining} remain`
  fleet.must(remaining <= Math.max(0, most - passedSince), what)
  // The rest of a bucket's lease is lost if something was taken after it.
  if (isExact !== true || (drains && fleet.plan.leases !== undefined)) return
  // A refund to a bucket gives back less, by what has flowed back since.
  const slack = drains ? refunds : 0
  fleet.must(remaining >= limit - inUse - slack, `${what}: more was charged`)
}

/** Each process has noticed that all is well, and has reported to Redis what it admitted without
 *  it. */
export function checkRecovered(fleet: Fleet): void {
  for (const { host, store } of fleet.staying) {
    const { state, localKeys } = store.health()
    // A process that has asked for nothing has never connected.
    const isWell = state === 'closed' || state === 'never-connected'
    fleet.must(isWell, `${host.name}: its store is ${state} at the end`)
    fleet.must(localKeys === 0, `${host.name}: ${localKeys} keys are not counted at the end`)
  }
}

/** Each process has answered all calls, and its statistics have all its decisions and charges. */
export function checkStats(fleet: Fleet): void {
  for (const { limiter, host, decisions, counted, pending } of fleet.staying) {
    fleet.must(pending === 0, `${host.name}: ${pending} calls were never answered`)
    const stats = limiter.stats()
    let answered = 0
    for (const { outcome, count } of stats.decisions) if (outcome !== 'error') answered += count
    fleet.must(answered === decisions, `${host.name}: ${decisions} decisions, ${answered} counted`)
    stats.policies.forEach(({ units }, i) => {
      const { taken, penalty, refunded, perhapsRefunded } = counted
      const least = refunded[i] as number
      const most = least + (perhapsRefunded[i] as number)
      const holds =
        units.taken === taken[i] &&
        units.penalty === penalty[i] &&
        units.refunded >= least &&
        units.refunded <= most
      const right = `${taken[i]} taken, ${penalty[i]} penalty, ${least} to ${most} refunded`
      fleet.must(holds, `${host.name}, policy ${i}: ${right}; counted ${JSON.stringify(units)}`)
    })
  }
}
