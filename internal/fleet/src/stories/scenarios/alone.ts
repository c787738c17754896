// Processes that are the only ones, or that ignore the others.

import type { Member } from '../../fleet/member.js'
import { whenEachIsAlone, whenOneBlips, whenOneIsAway } from '../../promises/story.js'
import { AWAY, type Scenario } from '../course.js'
import { forWays, nowAndThen, restart } from './steps.js'

const ONE = { processes: 1 }

export const ALONE_SCENARIOS = {
  /** The connection of the only process breaks while nothing is in flight. Keys are not shared,
   *  since a process ignores what it saw of a policy key under another user. */
  blips: {
    ...AWAY,
    least: 1,
    options: { ...ONE, shared: false },
    bound: whenOneBlips,
    goWrong: (fleet) =>
      nowAndThen(fleet, () => {
        fleet.lose([0])
        for (const { connection } of fleet.members) connection.reset()
      }),
  },

  /** The only process, its network or Redis stops for a while. */
  alone: {
    ...AWAY,
    least: 1,
    options: ONE,
    bound: whenOneIsAway,
    goWrong: (fleet) =>
      nowAndThen(fleet, () => {
        const { members, machine, world } = fleet
        fleet.lose([0])
        const forUs = world.random.whole(1_000, 400_000)
        const what = world.random.whole(0, 2)
        if (what === 0) (members[0] as Member).host.pause(forUs)
        else if (what === 1) machine.freeze(forUs)
        else {
          forWays(fleet, 0, (way) => way.cut())
          world.after(forUs, () => forWays(fleet, 0, (way) => way.heal()))
        }
      }),
  },

  /** Redis restarts, and until then each process decides by the policy for outages. */
  'own policy': {
    ...AWAY,
    least: 1,
    options: { ownLimit: 5 },
    bound: whenEachIsAlone,
    goWrong: (fleet, us) => restart(fleet, us),
  },
} satisfies Readonly<Record<string, Scenario>>
