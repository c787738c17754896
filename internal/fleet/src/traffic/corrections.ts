// Calls of processes that are not judged: penalties, resets, and corrections of charges.

import type { Charge, Units } from '../fleet/charges.js'
import type { Fleet } from '../fleet/fleet.js'
import { count, type Member } from '../fleet/member.js'
import { ask } from './limiter-call.js'

/** Takes units, whatever is left. */
export function penalty(fleet: Fleet, member: Member, key: string): void {
  const units = member.host.random.whole(1, fleet.options.mostUnits)
  const costs = fleet.plan.policies.map(() => units)
  const call = () => member.limiter.penalty(key, { cost: units })
  fleet.tell(`${member.host.name} ${key} penalty of ${units}`)
  charge(fleet, member, key, costs, call, (decision) => {
    count(member.counted.penalty, costs)
    member.saw(key, decision)
  })
}

/** Refunds the charge of a decision, or a part of it; at times twice, where the second refund must
 *  do nothing. */
export function refund(fleet: Fleet, member: Member): void {
  const { host, limiter } = member
  const charged = member.charges.pick(host.random)
  if (charged === undefined) return
  const most = Math.max(...charged.units)
  const cost = host.random.chance(0.5) ? undefined : host.random.whole(0, most)
  const back = charged.units.map((each) => Math.min(each, cost ?? most))
  const isFirst = spend(fleet, member, charged, back)
  const settled = isFirst ? settling(fleet, member, charged, back) : undefined
  fleet.tell(`${host.name} ${charged.key} refunds ${back.join()}${isFirst ? '' : ' once more'}`)
  ask(fleet, member, {
    call: () => limiter.refund(charged.decision, cost === undefined ? undefined : { cost }),
    answered() {
      settled?.()
      if (!isFirst) return
      count(member.counted.refunded, back)
      member.gaveBack(charged.key, back)
      if (back.some((each) => each > 0)) member.deniedUs.delete(charged.key)
    },
  })
}

/** Corrects the charge of a decision to what the request cost. */
export function settle(fleet: Fleet, member: Member): void {
  const { host, limiter, counted } = member
  const charged = member.charges.pick(host.random)
  if (charged === undefined) return
  const { key, units } = charged
  const actual = host.random.whole(0, fleet.options.mostUnits)
  const back = units.map((each) => Math.max(0, each - actual))
  const more = units.map((each) => Math.max(0, actual - each))
  const isFirst = spend(fleet, member, charged, back)
  const off = back.map((each, i) => each + (more[i] as number))
  const settled = isFirst ? settling(fleet, member, charged, off) : undefined
  fleet.tell(`${host.name} ${key} settles ${units.join()} to ${actual}${isFirst ? '' : ' again'}`)
  const call = () => limiter.settle(charged.decision, actual)
  charge(fleet, member, key, isFirst ? more : units.map(() => 0), call, () => {
    settled?.()
    if (!isFirst) return
    count(counted.taken, more)
    count(counted.perhapsRefunded, back)
    member.gaveBack(key, off)
  })
}

/** Resets a key, unless Redis is away. */
export function reset(fleet: Fleet, member: Member, key: string): void {
  const { host, limiter, deniedUs } = member
  fleet.tell(`${host.name} ${key} resets`)
  ask(fleet, member, {
    call: () => limiter.reset(key),
    answered: () => deniedUs.delete(key),
    failed(error) {
      deniedUs.delete(key)
      fleet.must(fleet.terms.isAway, `${host.name} rejected a reset: ${error}`)
    },
  })
}

/** Gives back units of a charge, unless it is spent. Returns whether it was not. */
function spend(fleet: Fleet, member: Member, charged: Charge, back: Units): boolean {
  if (charged.isSpent) return false
  charged.isSpent = true
  fleet.countersOf(charged.key).forEach((counter, i) => {
    // A charge from before a reset is not given back, unless the clock says that it came after.
    const isThere = counter.resets === charged.resets[i] || fleet.isSetBack
    if (isThere) counter.giveBack(back[i] as number)
    else counter.giveBackHere(member.rank, back[i] as number)
  })
  return true
}

/** Notes that an estimate is being settled which was off by these units. Returns a function to call
 *  once it was. */
function settling(fleet: Fleet, member: Member, { key }: Charge, off: Units): () => void {
  const counters = fleet.countersOf(key)
  counters.forEach((counter, i) => {
    counter.settles(member.rank, off[i] as number)
  })
  return () => {
    counters.forEach((counter, i) => {
      counter.settled(off[i] as number)
    })
  }
}

/** Charges units that nobody judges. */
function charge<Answer>(
  fleet: Fleet,
  member: Member,
  key: string,
  costs: Units,
  call: () => Promise<Answer>,
  answered: (answer: Answer) => void,
): void {
  const counters = fleet.countersOf(key)
  counters.forEach((counter, i) => {
    counter.asked(costs[i] as number, fleet.world.nowUs)
  })
  ask(fleet, member, {
    call,
    answered(answer) {
      counters.forEach((counter, i) => {
        counter.answered(costs[i] as number, 0)
        counter.charged += costs[i] as number
      })
      answered(answer)
    },
  })
}
