// What must hold after each decision.

import type { Decision } from '../../../../packages/core/src/index.js'
import type { Units } from '../fleet/charges.js'
import type { Counter } from '../fleet/counter.js'
import type { Fleet } from '../fleet/fleet.js'
import { DEADLINE_MS, type Member } from '../fleet/member.js'
import { failedSettlements } from '../promises/bounds.js'
import type { Host } from '../world/host.js'

/** How much later than its deadline a decision may come: a turn of the event loop. */
const LATE_MS = 2

type Limits = readonly { readonly limit: number }[]

/** Call when a request is made. Returns a check that its answer comes in time. */
export function checkInTime(fleet: Fleet, host: Host, inMs: number): () => void {
  const askedMs = host.time.nowMs()
  const heldUpUs = host.heldUpUs
  return () => {
    const heldUpMs = (host.heldUpUs - heldUpUs) / 1_000
    const tookMs = host.time.nowMs() - askedMs - heldUpMs
    // After the event loop was blocked, a reply may take the deadline once more.
    const mostMs = inMs + (heldUpMs > 0 ? DEADLINE_MS : 0) + LATE_MS
    fleet.must(tookMs <= mostMs, `${host.name} took ${tookMs} ms to decide`)
  }
}

/** Call when a request of a class is made. Returns a check that its grant leaves the reserve. */
export function checkKept(
  fleet: Fleet,
  counters: readonly Counter[],
  keep: Units,
): (units: Units) => void {
  const before = counters.map(({ passedSince, refunds, resets }) => {
    return { passedSince, changes: refunds + resets }
  })
  return (units) =>
    counters.forEach((counter, i) => {
      const { passedSince, changes } = before[i] as (typeof before)[number]
      // Refunds since then may have changed what was left when Redis decided.
      if (!fleet.terms.isExact || counter.flows || changes !== counter.refunds + counter.resets)
        return
      const own = units[i] as number
      const left = counter.limit - passedSince - own
      const what = `${counter.who}: a class was granted ${own}, and left ${left} of ${keep[i]}`
      fleet.must(own === 0 || left >= (keep[i] as number), what)
    })
}

/** Call when a request is made. Returns a check that no block was seen that forbids its grant. */
export function checkBlock(
  fleet: Fleet,
  member: Member,
  counters: readonly Counter[],
  key: string,
): (decision: Decision, units: Units) => void {
  const lifts = (): number => counters.reduce((sum, { resets }) => sum + resets, 0)
  const before = lifts()
  const wasBlocked = member.isBlocked(key, before)
  return (decision, units) => {
    // A refund lifts a block only when it reaches Redis. A policy for outages knows no blocks.
    const isByOther = decision.source === 'local' && fleet.options.ownLimit > 0
    if (isByOther || lifts() !== before || counters.some(({ refunds }) => refunds > 0)) return
    const isThrough = decision.allowed && units.some((each) => each > 0)
    const what = `${member.host.name} let ${key} through, whose block it has seen`
    fleet.must(!(wasBlocked && isThrough), what)
    member.heardBlock(key, decision, before)
  }
}

/** A lease hands out no unit that was taken longer ago than `holdMs`. */
export function checkLease(fleet: Fleet, { leasedUs, host }: Member, key: string): void {
  const { holdMs = 0 } = fleet.plan.leases ?? {}
  const heldMs = (fleet.world.nowUs - (leasedUs.get(key) ?? 0)) / 1_000
  const what = `${host.name} ${key}: a lease hands out what was taken ${heldMs} ms ago`
  fleet.must(heldMs * host.rate <= holdMs, what)
}

/** How many failures in a row open a breaker, whatever is read meanwhile. */
const FAILURES = 5

/** Call when a request is made. Returns a check of a decision without Redis. While Redis refuses
 *  what writes, each of them is a failure, unless several wait for one call. One that was asked for
 *  before Redis last wrote may have failed before that. */
export function checkOpens(fleet: Fleet, member: Member): () => void {
  const { machine, options, plan, world } = fleet
  const askedUs = world.nowUs
  return () => {
    if (askedUs <= member.wroteUs) return
    member.failedInARow += 1
    if (!machine.redis.isFull || options.wait > 0 || plan.leases !== undefined) return
    const { failedInARow, hasNoticed, host } = member
    const what = `${host.name} failed ${failedInARow} times in a row, and its breaker is closed`
    fleet.must(failedInARow < FAILURES || hasNoticed, what)
  }
}

/** A process decides by its limits. */
export function checkLimits(fleet: Fleet, { host, policies, limits }: Member, by: Limits): void {
  // Live limits are checked elsewhere, since they depend on the moment.
  if (limits !== undefined) return
  if (policies.every(({ limit }, i) => by[i]?.limit === limit)) return
  const [was, right] = [by, policies].map((all) => all.map(({ limit }) => limit).join())
  fleet.must(false, `${host.name} decided by the limit ${was} instead of ${right}`)
}

/** On a Cluster, a store's health asks for the node of each slot; what a process keeps too much
 *  stays for longer than this many answers. */
const MEMORY_EVERY = 16

/** A process keeps at most `maxLocalKeys` keys that are not yet counted in Redis. */
export function checkMemory(fleet: Fleet, member: Member): void {
  const { maxLocalKeys } = fleet.plan
  const { store, host } = member
  member.answers += 1
  if (maxLocalKeys === undefined || member.answers % MEMORY_EVERY !== 0) return
  const { localKeys } = store.health()
  fleet.must(localKeys <= maxLocalKeys, `${host.name} has ${localKeys} keys of ${maxLocalKeys}`)
}

/** Whether processes may forget what they have seen, and decide without Redis. */
export function isForgotten({ plan, terms }: Fleet): boolean {
  return plan.maxLocalKeys !== undefined && terms.isAway
}

/** No more has passed since the last reset than the bound allows, less what was refunded. */
export function checkBound(fleet: Fleet, counter: Counter): void {
  if (isForgotten(fleet)) return
  const { limit, passedSince, story, backHere } = counter
  fleet.over = Math.max(fleet.over, passedSince - limit)
  const flown = counter.flown(fleet.world.nowUs + fleet.forwardUs)
  const most = failedSettlements(fleet.terms.bound(story), story.offTwice) + flown + backHere
  fleet.must(passedSince <= most, `${nameOf(counter)}: ${passedSince} passed, ${most} may`)
}

/** Leaves out the algorithm, since another one may break the same promise. */
export function nameOf({ who, place }: Counter): string {
  return `${who}, policy ${place}`
}
