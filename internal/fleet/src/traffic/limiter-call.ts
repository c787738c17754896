// One call of a limiter by a process, which must be answered in time.

import type { Decision } from '../../../../packages/core/src/index.js'
import {
  checkBlock,
  checkBound,
  checkInTime,
  checkKept,
  checkLease,
  checkLimits,
  checkMemory,
  checkOpens,
} from '../checks/of-decisions.js'
import type { Units } from '../fleet/charges.js'
import type { Counter } from '../fleet/counter.js'
import type { Fleet } from '../fleet/fleet.js'
import { DEADLINE_MS, type Member } from '../fleet/member.js'

interface LimiterCall<Answer> {
  readonly call: () => Promise<Answer>
  /** Called with the answer, unless the process is dead by then. */
  readonly answered: (answer: Answer) => void
  /** Called if the call rejects. By default it must not. */
  readonly failed?: ((error: unknown) => void) | undefined
  /** How long the answer may take. By default, the deadline. */
  readonly mostMs?: number | undefined
}

/** Makes the call, and waits for the answer. */
export function ask<Answer>(
  fleet: Fleet,
  member: Member,
  { call, answered, failed, mostMs = DEADLINE_MS }: LimiterCall<Answer>,
): void {
  const { host } = member
  fleet.requests += 1
  member.pending += 1
  member.isThereUs ??= fleet.world.nowUs
  const isInTime = checkInTime(fleet, host, mostMs)
  const ended = (): void => {
    member.pending -= 1
    isInTime()
  }
  call().then(
    (answer) => {
      if (host.isDead) return
      ended()
      answered(answer)
    },
    (error) => {
      if (host.isDead) return
      ended()
      if (failed === undefined) fleet.must(false, `${host.name} rejected: ${error}`)
      else failed(error)
    },
  )
}

interface UnitsCall<Of extends Decision> extends Omit<LimiterCall<Of>, 'answered'> {
  readonly key: string
  readonly costs: Units
  /** The units that its class leaves to others. */
  readonly keep?: Units | undefined
  /** The units that a decision grants. */
  readonly granted: (decision: Of) => Units
}

/** Requests units. */
export function askFor<Of extends Decision>(
  fleet: Fleet,
  member: Member,
  { key, costs, keep, call, granted, failed, mostMs }: UnitsCall<Of>,
): void {
  const counters = fleet.countersOf(key)
  const taken = (units: Units): void =>
    counters.forEach((counter, i) => {
      counter.answered(costs[i] as number, units[i] as number)
    })
  counters.forEach((counter, i) => {
    counter.asked(costs[i] as number, fleet.world.nowUs)
  })
  const isKept = keep === undefined ? undefined : checkKept(fleet, counters, keep)
  const isUnblocked = checkBlock(fleet, member, counters, key)
  const isByLimit = fleet.live?.check()
  const hasOpened = checkOpens(fleet, member)
  // A deny cache answers at once.
  const mayBeCached = member.mayRefuse(key)
  ask(fleet, member, {
    call,
    mostMs,
    answered(decision) {
      const { allowed, source } = decision
      if (source === 'cache') fleet.must(mayBeCached, `${key} denied by what no longer holds`)
      if (source === 'store' && !allowed) member.deniedUs.set(key, fleet.world.nowUs)
      isByLimit?.(decision)
      checkLimits(fleet, member, decision.policies)
      if (source === 'local') hasOpened()
      if (source === 'lease') checkLease(fleet, member, key)
      const isExpected = source !== 'local' || counters.some((each) => each.mayBeLocal(member.rank))
      fleet.must(isExpected, `${member.host.name} decided ${key} without Redis, which is well`)
      const units = granted(decision)
      isUnblocked(decision, units)
      taken(units)
      member.heard(key, decision, costs, units, keep)
      if (allowed) member.charges.add({ key, decision, units, resets: resetsOf(counters) })
      fleet.sources[source] = (fleet.sources[source] ?? 0) + 1
      const { name } = member.host
      fleet.tell(`${name} ${key} ${allowed ? 'allowed' : 'denied'} ${units.join()} by ${source}`)
      checkMemory(fleet, member)
      if (allowed) isKept?.(units)
      if (allowed) for (const counter of counters) checkBound(fleet, counter)
    },
    failed:
      failed &&
      ((error) => {
        taken(costs.map(() => 0))
        failed(error)
      }),
  })
}

/** How often each counter was reset. */
function resetsOf(counters: readonly Counter[]): readonly number[] {
  return counters.map(({ resets }) => resets)
}
