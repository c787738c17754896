// What processes ask for, and when.

import type { PartialDecision } from '../../../../packages/core/src/entries/store.js'
import type { Decision } from '../../../../packages/core/src/index.js'
import type { Units } from '../fleet/charges.js'
import type { StoryOptions } from '../fleet/choices.js'
import type { Fleet } from '../fleet/fleet.js'
import type { Member } from '../fleet/member.js'
import { penalty, refund, reset, settle } from './corrections.js'
import { keepDoing } from './keep-doing.js'
import { ask, askFor } from './limiter-call.js'
import { wait } from './waiting.js'

/** How often a process sends several requests in one turn of its event loop. */
const BURST_CHANCE = 0.15

type Operation = (fleet: Fleet, member: Member, key: string) => void

/** Processes are counted from their first requests on, so each makes one. */
export function introduce(fleet: Fleet): void {
  if (!fleet.options.counted) return
  for (const member of fleet.members) peek(fleet, member, fleet.keys[0] as string)
}

/** Makes all processes send requests, including those that start later. Returns a function that
 *  ends it. */
export function keepAsking(fleet: Fleet): () => void {
  return keepDoing(fleet, fleet.gapUs, (member) => {
    const { random } = member.host
    const key = random.pick(fleet.keys)
    const times = random.chance(BURST_CHANCE) ? random.whole(1, fleet.options.mostAtOnce) : 1
    const isMixed = times > 1 && fleet.keys.length > 1 && random.chance(0.5)
    for (let i = 0; i < times; i += 1)
      something(fleet, member, isMixed ? random.pick(fleet.keys) : key)
  })
}

/** The methods that are called besides `consume`. */
const OTHERS = {
  upTo,
  peek,
  penalty,
  refund,
  settle,
  reset,
  wait,
} satisfies Partial<Record<keyof StoryOptions, Operation>>
const OTHER_NAMES = Object.keys(OTHERS) as (keyof typeof OTHERS)[]

function something(fleet: Fleet, member: Member, key: string): void {
  const { options } = fleet
  let left = 100 * member.host.random.next()
  const other = OTHER_NAMES.find((name) => {
    left -= options[name]
    return left < 0
  })
  const operation: Operation = other === undefined ? consume : OTHERS[other]
  fleet.asked[other ?? 'consume'] = (fleet.asked[other ?? 'consume'] ?? 0) + 1
  operation(fleet, member, key)
}

export function consume(fleet: Fleet, member: Member, key: string): void {
  const { policies, reserve } = fleet.plan
  const { random } = member.host
  if (random.chance(fleet.options.weighted / 100) || reserve !== undefined) {
    consumeWeighted(fleet, member, key)
    return
  }
  const costs = policies.map(() => 1)
  const none = policies.map(() => 0)
  const call = () => member.limiter.consume(key)
  const granted = ({ allowed }: Decision) => (allowed ? costs : none)
  askFor(fleet, member, { key, costs, call, granted })
}

/** Consumes several units, the same or different ones of each policy, and perhaps for a class. */
function consumeWeighted(fleet: Fleet, member: Member, key: string): void {
  const { policies } = member
  const { random } = member.host
  const isNamed = random.chance(0.3)
  const units = random.whole(0, fleet.options.mostUnits)
  const costs = policies.map(() => (isNamed ? random.whole(0, fleet.options.mostUnits) : units))
  const byName = Object.fromEntries(policies.map(({ name }, i) => [name, costs[i] as number]))
  const cost = isNamed ? byName : units
  const { priority, keep } = classOf(fleet, member)
  const none = policies.map(() => 0)
  const call = () => member.limiter.consume(key, { cost, priority })
  const granted = ({ allowed }: Decision) => (allowed ? costs : none)
  askFor(fleet, member, { key, costs, keep, call, granted })
}

/** A random class, and what it leaves to others. */
function classOf(
  { plan: { reserve } }: Fleet,
  { host: { random }, policies }: Member,
): { priority?: string; keep?: Units } {
  if (reserve === undefined || random.chance(0.4)) return {}
  const priority = random.pick(Object.keys(reserve))
  const part = reserve[priority] as number
  return { priority, keep: policies.map(({ limit }) => Math.ceil(part * limit)) }
}

function upTo(fleet: Fleet, member: Member, key: string): void {
  const { random } = member.host
  const n = random.whole(1, fleet.options.mostUnits)
  const atLeast = random.whole(1, n)
  const each = (units: number) => fleet.plan.policies.map(() => units)
  askFor<PartialDecision>(fleet, member, {
    key,
    costs: each(n),
    call: () => member.limiter.consumeUpTo(key, n, { atLeast }),
    granted({ allowed, granted }) {
      const isRight = allowed ? granted >= atLeast && granted <= n : granted === 0
      fleet.must(isRight, `${granted} of ${n} granted, where ${atLeast} were the least`)
      return each(granted)
    },
  })
}

function peek(fleet: Fleet, member: Member, key: string): void {
  ask(fleet, member, { call: () => member.limiter.peek(key), answered() {} })
}
