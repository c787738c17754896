// More users come in an outage than a process remembers.

import { ask } from '../asked.js'
import { checkMemory } from '../checks.js'
import { PLAIN } from '../choices.js'
import type { Scenario } from '../course.js'
import type { Fleet } from '../fleet.js'
import type { Member } from '../member.js'
import { whenAllAreAway } from '../story.js'
import { restart } from './steps.js'

export type CrowdScenarioName = 'crowd'

/** Users who come to each process: more than it remembers. */
const USERS = 1_400

export const CROWD_SCENARIOS: Readonly<Record<CrowdScenarioName, Scenario>> = {
  /** Redis restarts, and until then users come whom nobody has seen before. Each asks a process
   *  once or twice, for less than its local quota, and none is refused. */
  crowd: {
    least: 2,
    options: { ...PLAIN, kind: 'crowded', processes: 2, keys: 2, limit: 12 },
    bound: whenAllAreAway,
    countsAll: true,
    isAway: true,
    async goWrong(fleet, us) {
      const { members, world, options } = fleet
      // Who has used up their local quota is not forgotten, and would leave others no place.
      const most = Math.min(2, Math.floor(options.limit / members.length) - 1)
      for (const member of members)
        for (let i = 0; i < USERS; i += 1)
          for (let times = world.random.whole(Math.min(1, most), most); times > 0; times -= 1)
            member.host.run(world.random.whole(0, us), () => visit(fleet, member, `guest-${i}`))
      await restart(fleet, us)
    },
  },
}

function visit(fleet: Fleet, member: Member, key: string): void {
  const costs = member.policies.map(() => 1)
  const none = costs.map(() => 0)
  ask(fleet, member, {
    call: () => member.limiter.consume(key),
    answered(decision) {
      const { allowed, source } = decision
      member.heard(key, decision, costs, allowed ? costs : none)
      fleet.sources[source] = (fleet.sources[source] ?? 0) + 1
      fleet.must(allowed, `${member.host.name} refused ${key}, who asked for less than its quota`)
      checkMemory(fleet, member)
    },
  })
}
