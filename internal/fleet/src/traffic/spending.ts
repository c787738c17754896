// Processes make estimates of budgets, and settle most of them, some after they have expired.

import type { Decision, Held } from '../../../../packages/core/src/index.js'
import { checkEstimate, checkLate } from '../checks/of-budgets.js'
import type { Budget, Estimate } from '../fleet/budgets.js'
import type { Fleet } from '../fleet/fleet.js'
import { DEADLINE_MS, type Member } from '../fleet/member.js'
import { keepDoing } from './keep-doing.js'
import { ask } from './limiter-call.js'

/** Settlements come until this many times the time to hold after the estimate. */
const LATEST = 1.6
/** The units of an estimate, at the most, as a part of the limit. */
const PART = 0.2

/** Makes all processes spend, including those that start later. Returns a function that ends it. */
export function keepSpending(fleet: Fleet): () => void {
  const { budgets } = fleet
  if (budgets === undefined) return () => {}
  const { budgetMs, budgetDemand, processes } = fleet.options
  const keys = [...budgets.ofKey.keys()]
  // About as many estimates as a limit has room for are held at once.
  const gapUs = Math.ceil((PART * budgetMs * 1_000 * processes) / (2 * budgetDemand * keys.length))
  return keepDoing(fleet, gapUs, (member) => {
    const { random } = member.host
    const key = random.pick(keys)
    const chance = random.next()
    if (chance < 0.03) penalty(fleet, member, key)
    else if (chance < 0.15) peek(fleet, member, key)
    else
      for (let times = random.chance(0.2) ? random.whole(2, 4) : 1; times > 0; times -= 1)
        estimate(fleet, member, key)
  })
}

function estimate(fleet: Fleet, member: Member, key: string): void {
  const { budgets, options } = fleet
  const { host, budgets: limiter } = member
  if (budgets === undefined || limiter === undefined) return
  const { random } = host
  const counters = budgets.ofKey.get(key) as readonly Budget[]
  const most = Math.max(1, Math.floor(PART * options.budget))
  const units = random.chance(0.5) ? 1 : random.whole(1, most)
  const isStream = random.chance(0.15)
  const own = budgets.ask(key, member, units, 'asked')
  for (const counter of counters) counter.asked(units, fleet.world.nowUs)
  const asked = { cost: units }
  ask<Decision>(fleet, member, {
    call: () => (isStream ? limiter.acquire(key, asked) : limiter.consume(key, asked)),
    answered(decision) {
      const { allowed, source } = decision
      budgets.end(own.asked)
      for (const counter of counters) counter.answered(units, 0)
      if (source === 'local') budgets.decidedHere(own, allowed)
      else if (allowed) budgets.held(own)
      else budgets.denied(own)
      fleet.tell(`${host.name} ${key} estimates ${units}: ${allowed} by ${source}`)
      checkEstimate(fleet, own, counters, decision)
      member.saw(key, decision)
      if (!allowed) return
      if (isStream && own.state !== 'local') budgets.renews(own, () => (decision as Held).release())
      correctLater(fleet, member, key, own, decision)
    },
  })
}

/** Settles or refunds an estimate at some time, or leaves it. */
function correctLater(
  fleet: Fleet,
  member: Member,
  key: string,
  own: Estimate,
  decision: Decision,
): void {
  const { random } = member.host
  const isRenewed = fleet.budgets?.renewsStill(own) === true
  if (!isRenewed && random.chance(0.4)) return
  const afterUs = random.whole(0, LATEST * 1_000 * fleet.options.budgetMs)
  const most = random.chance(0.3) ? 1.5 * own.units : own.units / 4
  const actual = random.chance(0.3) ? 0 : random.whole(0, Math.ceil(most))
  member.host.run(afterUs, () => {
    if (member.hasLeft) return
    if (isRenewed && random.chance(0.3)) {
      fleet.budgets?.leaves(own)
      void (decision as Held).release()
    } else correct(fleet, member, key, own, decision, actual)
  })
}

function correct(
  fleet: Fleet,
  member: Member,
  key: string,
  own: Estimate,
  decision: Decision,
  actual: number,
): void {
  const { budgets } = fleet
  const { host, budgets: limiter } = member
  if (budgets === undefined || limiter === undefined) return
  const { random } = host
  const counters = budgets.ofKey.get(key) as readonly Budget[]
  budgets.leaves(own)
  const call = budgets.begin()
  budgets.settles(own, call, actual, true)
  const off = own.state === 'local' ? 0 : Math.abs(actual - own.units)
  const more = Math.max(0, actual - own.units)
  for (const counter of counters) {
    counter.asked(more, fleet.world.nowUs)
    counter.settles(member.rank, off)
  }
  const back = own.units - actual
  const isRefund = back > 0 && random.chance(0.4)
  fleet.tell(`${host.name} ${key} settles ${own.units} to ${actual}`)
  ask(fleet, member, {
    // A renewal that is under way comes first.
    mostMs: (own.isStream ? 2 : 1) * DEADLINE_MS,
    call: async () =>
      isRefund
        ? limiter.refund(decision, actual === 0 ? undefined : { cost: back })
        : limiter.settle(decision, actual),
    answered(settlement) {
      budgets.end(call)
      for (const counter of counters) {
        counter.answered(more, 0)
        counter.settled(off)
      }
      const mayBeOwed = budgets.hasBeenAway(member)
      budgets.settles(own, call, actual, mayBeOwed)
      member.gaveBack(
        key,
        counters.map(() => Math.abs(actual - own.units)),
      )
      if (!mayBeOwed && settlement !== undefined) checkLate(fleet, own, settlement)
    },
  })
  // Nothing can happen to it any more.
  if (random.chance(0.1)) limiter.settle(decision, own.units).catch(() => {})
  if (random.chance(0.1)) limiter.refund(decision).catch(() => {})
}

function penalty(fleet: Fleet, member: Member, key: string): void {
  const { budgets, options } = fleet
  const { host, budgets: limiter } = member
  if (budgets === undefined || limiter === undefined) return
  const units = host.random.whole(1, Math.max(1, Math.floor((PART * options.budget) / 4)))
  const counters = budgets.ofKey.get(key) as readonly Budget[]
  const own = budgets.ask(key, member, units, 'penalty')
  for (const counter of counters) counter.asked(units, fleet.world.nowUs)
  fleet.tell(`${host.name} ${key} spends a penalty of ${units}`)
  ask(fleet, member, {
    call: () => limiter.penalty(key, { cost: units }),
    answered(decision) {
      budgets.end(own.asked)
      for (const counter of counters) counter.answered(units, 0)
      member.saw(key, decision)
    },
  })
}

function peek(fleet: Fleet, member: Member, key: string): void {
  const { budgets } = fleet
  const { budgets: limiter } = member
  if (budgets === undefined || limiter === undefined) return
  const own = budgets.ask(key, member, 0, 'asked')
  ask(fleet, member, {
    call: () => limiter.peek(key),
    answered(decision) {
      budgets.end(own.asked)
      budgets.denied(own)
      checkEstimate(fleet, own, budgets.ofKey.get(key) as readonly Budget[], decision)
    },
  })
}
