// In an outage, more users come than a process remembers. Users who ask for less than a local quota
// are not refused, and a user who has used up a limit stays refused. In between there is no bound:
// how often a process forgets a user depends on which keys it looks at when it needs room. So of
// other keys, the story checks only that they are counted. Requests are plain; for others, the
// story would have to know what is forgotten.

import { checkMemory } from '../../checks/of-decisions.js'
import { PLAIN } from '../../fleet/choices.js'
import type { Fleet } from '../../fleet/fleet.js'
import type { Member } from '../../fleet/member.js'
import { whenAllAreAway } from '../../promises/story.js'
import { ask } from '../../traffic/limiter-call.js'
import { AWAY, type Scenario } from '../course.js'
import { restart } from './steps.js'

/** The users who come to each process: more than it remembers. */
const USERS = 1_400
/** A user who has used up the limit before, and how often that user then asks each process. */
const SPENT = 'spent'
const TIMES = 20
/** The time in which the limit is used up, and in which other users come before the outage. */
const BEFORE_US = 300_000

export const CROWD_SCENARIOS = {
  /** Redis restarts, and until then users come whom nobody has seen before. Each asks a process
   *  once or twice, for less than its local quota, and none is refused. A user who had used up the
   *  limit before is refused. */
  crowd: {
    ...AWAY,
    options: { ...PLAIN, kind: 'crowded', processes: 2, keys: 2, limit: 12 },
    bound: whenAllAreAway,
    async goWrong(fleet, us) {
      const { members, world, options } = fleet
      await spend(fleet)
      // A user who has used up a local quota is not forgotten, and would leave no room for others.
      const most = Math.min(2, Math.floor(options.limit / members.length) - 1)
      for (const member of members)
        for (let i = 0; i < USERS; i += 1)
          for (let times = world.random.whole(Math.min(1, most), most); times > 0; times -= 1)
            member.host.run(world.random.whole(0, us), () => visit(fleet, member, `guest-${i}`))
      for (const member of members)
        for (let i = 0; i < TIMES; i += 1)
          member.host.run(world.random.whole(0, us), () => visit(fleet, member, SPENT, false))
      await restart(fleet, us)
    },
  },
} satisfies Readonly<Record<string, Scenario>>

/** A user uses up the limit, and all processes hear of it. Then more users ask a process than it
 *  remembers. */
async function spend(fleet: Fleet): Promise<void> {
  const { members, world, options } = fleet
  const [first] = members as [Member]
  for (let i = 0; i < options.limit; i += 1) visit(fleet, first, SPENT)
  await world.runFor(BEFORE_US)
  for (const member of members) visit(fleet, member, SPENT, false)
  await world.runFor(BEFORE_US)
  for (let i = 0; i < USERS; i += 1)
    first.host.run(world.random.whole(0, BEFORE_US), () => visit(fleet, first, `earlier-${i}`))
  await world.runFor(2 * BEFORE_US)
}

/** @param isRight whether the request should be allowed */
function visit(fleet: Fleet, member: Member, key: string, isRight: boolean = true): void {
  const costs = member.policies.map(() => 1)
  const none = costs.map(() => 0)
  ask(fleet, member, {
    call: () => member.limiter.consume(key),
    answered(decision) {
      const { allowed, source } = decision
      member.heard(key, decision, costs, allowed ? costs : none)
      fleet.sources[source] = (fleet.sources[source] ?? 0) + 1
      const { name } = member.host
      if (isRight) fleet.must(allowed, `${name} refused ${key}, who asked for less than its quota`)
      else fleet.must(!allowed, `${name} allowed ${key}, whose limit is used up`)
      checkMemory(fleet, member)
    },
  })
}
