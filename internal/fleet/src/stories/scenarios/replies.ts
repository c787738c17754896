// Redis runs calls, and its replies are lost, or others come in their place. Where replies are
// lost, requests only consume, refund and settle: the close bound follows from what each process
// has seen, which a reset, a live change and a bucket that drains would invalidate.

import type { Random } from '@weir/testkit/virtual-time'
import { PLAIN } from '../../fleet/choices.js'
import { type Fleet, SECOND_US } from '../../fleet/fleet.js'
import type { Member } from '../../fleet/member.js'
import { whenAllAreAway, whenRepliesAreLost } from '../../promises/story.js'
import { refund, settle } from '../../traffic/corrections.js'
import { consume } from '../../traffic/traffic.js'
import { AWAY, type Scenario } from '../course.js'
import { nowAndThen, restart } from './steps.js'

/** The longest time without a reply, before all processes ask for what was given back, and how long
 *  they ask. */
const SILENCE_US = 500_000
const RUSH_US = 300_000
/** The most requests of each process for each key in that time. */
const MOST_ASKED = 4
/** A process gives back units of at most this many decisions at the beginning. */
const MOST_BACK = 8
/** Longer than a process takes to believe that there are fewer processes. */
const RUBBISH_US = 14 * SECOND_US

export const REPLY_SCENARIOS = {
  /** Redis runs the refunds of some processes, which hear nothing of it, since their connections
   *  break afterwards. Demand is so high that the limits are reached before. */
  'lost replies': {
    ...AWAY,
    options: { ...PLAIN, demand: 8, weighted: 60, refund: 10, settle: 10 },
    bound: whenRepliesAreLost,
    goWrong: (fleet) => nowAndThen(fleet, () => loseReplies(fleet)),
  },

  /** A proxy answers the heartbeats for a while, and then Redis restarts. */
  rubbish: {
    ...AWAY,
    options: { counted: true },
    bound: whenAllAreAway,
    async goWrong(fleet, us) {
      const { machine, members, world } = fleet
      const counts = members.map(countedBy)
      machine.redis.beatReply = () => rubbish(world.random)
      await world.runFor(RUBBISH_US)
      members.forEach((member, i) => {
        const what = `${member.host.name} counts ${countedBy(member)} processes of ${counts[i]}`
        fleet.must(countedBy(member) === counts[i], what)
      })
      await restart(fleet, us)
      machine.redis.beatReply = undefined
    },
  },
} satisfies Readonly<Record<string, Scenario>>

/** Some processes get no replies to their refunds, nor to anything else. */
async function loseReplies(fleet: Fleet): Promise<void> {
  const { members, world } = fleet
  const some = fleet.some(0.4)
  fleet.lose(some)
  for (const i of some) {
    const member = members[i] as Member
    member.connection.back.cut()
    for (let times = world.random.whole(1, MOST_BACK); times > 0; times -= 1) {
      const giveBack = world.random.chance(0.5) ? refund : settle
      giveBack(fleet, member)
    }
  }
  await world.runFor(world.random.whole(10_000, SILENCE_US))
  for (const member of members)
    for (const key of fleet.keys)
      for (let times = world.random.whole(0, MOST_ASKED); times > 0; times -= 1)
        member.host.run(world.random.whole(0, RUSH_US), () => consume(fleet, member, key))
  await world.runFor(RUSH_US)
  for (const i of some) {
    const { connection } = members[i] as Member
    connection.reset()
    connection.back.heal()
  }
}

function countedBy({ store }: Member): number {
  return store.health().instances
}

/** A reply that is not a count of processes with a lower rank. */
function rubbish(random: Random): unknown {
  const single = ['OK', '', 0, -1, 7, null, 'Infinity']
  const pairs = [[], [3], [0, 0], [-1, 0], [2.5, 1], [2, 2], [3, -1], ['Infinity', 0], ['OK', 0]]
  return random.pick([...single, ...pairs])
}
