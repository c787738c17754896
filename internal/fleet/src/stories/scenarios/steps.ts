// Steps that several scenarios share.

import { type Fleet, SECOND_US } from '../../fleet/fleet.js'
import type { Member } from '../../fleet/member.js'
import { refund } from '../../traffic/corrections.js'
import { consume } from '../../traffic/traffic.js'

export function everyoneIn({ members }: Fleet): number[] {
  return members.map((_, i) => i)
}

/** Does something at random moments, as often as the options say. */
export async function nowAndThen(
  { world, options }: Fleet,
  act: () => Promise<void> | void,
): Promise<void> {
  for (let times = options.faults; times > 0; times -= 1) {
    await act()
    await world.runFor(world.random.whole(10_000, SECOND_US))
  }
}

/** Redis goes down, with all connections, for `us`. */
export async function restart(
  fleet: Fleet,
  us: number,
  act: () => Promise<void> | void = () => {},
): Promise<void> {
  const { machine, members, world } = fleet
  fleet.lose(everyoneIn(fleet))
  machine.isDown = true
  for (const { connection } of members) connection.reset()
  machine.redis.forgetScripts()
  await act()
  await world.runFor(us)
  machine.isDown = false
}

export function forWays(
  { members }: Fleet,
  i: number,
  act: (way: Member['connection']['there']) => void,
): void {
  const { there, back } = (members[i] as Member).connection
  act(there)
  act(back)
}

/**
 * Some processes cannot reach Redis.
 * @param end ends one of them shortly before the partition does, if another process is left
 */
export async function partition(
  fleet: Fleet,
  us: number,
  end?: (member: Member) => void,
): Promise<void> {
  const { members, world } = fleet
  const some = fleet.some(0.4)
  fleet.lose(some)
  for (const i of some) forWays(fleet, i, (way) => way.cut())
  await world.runFor(us)
  const first = members[some[0] ?? members.length]
  if (first !== undefined && some.length < members.length) end?.(first)
  await world.runFor(SECOND_US)
  for (const i of some) forWays(fleet, i, (way) => way.heal())
}

/** Connections of some processes break. */
export function resets(fleet: Fleet): Promise<void> {
  return nowAndThen(fleet, () => {
    const some = fleet.some(0.3)
    fleet.lose(some)
    for (const i of some) (fleet.members[i] as Member).connection.reset()
  })
}

/**
 * Processes ask much of one key or of all, some more than others, so that they have seen and taken
 * different amounts.
 * @param least how often each asks, at the least
 * @param part the part of a limit that they ask for together, on average
 */
export function rush(fleet: Fleet, us: number, least: number, part: number): void {
  const { members, world, options } = fleet
  const { random } = world
  for (const member of members) {
    if (member.quietUntilUs > world.nowUs) continue
    const keys = random.chance(0.5) ? fleet.keys : [random.pick(fleet.keys)]
    const most = random.chance(0.5) ? (4 * part * options.limit) / members.length : 0
    for (let times = random.whole(least, Math.max(least, Math.ceil(most))); times > 0; times -= 1)
      member.host.run(random.whole(0, us), () => consume(fleet, member, random.pick(keys)))
  }
}

const SMALL_STEP_US = 100_000

/** A process takes some of a limit, and gives something back soon afterwards. In between, the clock
 *  of Redis steps back. All processes take a unit before and afterwards. */
export async function stepAroundRefunds(fleet: Fleet): Promise<void> {
  const { world, options, members, machine } = fleet
  const { random } = world
  const member = random.pick(members)
  const key = random.pick(fleet.keys)
  const soonUs = (): number => random.whole(0, SMALL_STEP_US / 4)
  const { aheadUs } = machine.redis
  for (let times = random.whole(1, Math.ceil(options.limit / 2)); times > 0; times -= 1)
    consume(fleet, member, key)
  for (const each of members) consume(fleet, each, key)
  await world.runFor(soonUs())
  fleet.setClock(Math.max(0, aheadUs - random.whole(1_000, SMALL_STEP_US)))
  for (let times = random.whole(1, 3); times > 0; times -= 1) refund(fleet, member)
  await world.runFor(soonUs())
  fleet.setClock(aheadUs)
  for (const each of members) consume(fleet, each, key)
}
