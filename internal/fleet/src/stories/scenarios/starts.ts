// Processes start while others run: while Redis is away, or to replace those that end. A deploy
// brings other limits, so its stories have no live ones. If it brings another algorithm, two
// counters replace one, and the story knows only what passes both together. So there is one policy,
// and nothing is charged beyond a limit (by penalties and settlements), which would leave less of
// one counter than of the other.

import {
  counterOf,
  type Policy,
  withName,
} from '../../../../../packages/core/src/algorithms/policy.js'
import { type Fleet, SECOND_US } from '../../fleet/fleet.js'
import { makersIn } from '../../fleet/plan.js'
import { ALGORITHMS, makersOf } from '../../fleet/policies.js'
import { whenProcessesStart } from '../../promises/story.js'
import { AWAY, type Scenario, WELL } from '../course.js'
import { nowAndThen, restart } from './steps.js'

/** Each process has one limit for as long as it runs. */
const ONE_LIMIT = { kind: 'plain', live: false } as const
/** A process that ends sends no more requests, and answers those that it has received. */
const DRAIN_US = 500_000

export const START_SCENARIOS = {
  /** Redis goes down; processes start, which know of no others; Redis comes back. */
  starts: {
    ...AWAY,
    least: 1,
    options: { kind: 'plain', counted: true },
    bound: whenProcessesStart,
    // A bucket does not count what passed beyond its limit, so refunded units pass again.
    countsAll: false,
    goWrong: (fleet, us) =>
      restart(fleet, us, () => nowAndThen(fleet, () => fleet.lose([fleet.start().rank]))),
  },

  /** All is well. Processes with other limits replace all others, one by one, and share their
   *  counters. */
  deploy: {
    ...WELL,
    options: ONE_LIMIT,
    losesNothing: true,
    goWrong(fleet) {
      const { options } = fleet
      const policies = otherPolicies(fleet, makersIn(options, options.policies))
      for (const counter of fleet.planned)
        counter.limit = Math.max(counter.limit, limitOf(policies, counter.place))
      return replaceAll(fleet, policies)
    },
  },

  /** The same, with a policy of another algorithm under the same name, which starts a new count:
   *  what passes by both adds up. */
  'deploy, another algorithm': {
    ...WELL,
    options: { ...ONE_LIMIT, policies: 1, penalty: 0, settle: 0 },
    losesNothing: true,
    goWrong(fleet) {
      const [policy] = fleet.plan.policies as [Policy]
      const makers = ALGORITHMS.flatMap((algorithm) => makersOf(algorithm, 1)).filter(
        (make) => counterOf(make(policy.limit)) !== counterOf(policy),
      )
      const other = fleet.world.random.pick(makers)
      const policies = otherPolicies(fleet, [(limit) => withName(other(limit), policy.name)])
      for (const counter of fleet.planned) counter.limit += limitOf(policies, counter.place)
      return replaceAll(fleet, policies)
    },
  },
} satisfies Readonly<Record<string, Scenario>>

/** Policies with another limit, or by chance the same one. */
function otherPolicies(
  { options: { limit }, world }: Fleet,
  makers: readonly ((limit: number) => Policy)[],
): readonly Policy[] {
  const other = world.random.whole(Math.ceil(limit / 2), 2 * limit)
  return makers.map((make) => make(other))
}

function limitOf(policies: readonly Policy[], place: number): number {
  return policies[place]?.limit as number
}

/** Starts another process for each one, before that ends or afterwards. */
async function replaceAll(fleet: Fleet, policies: readonly Policy[]): Promise<void> {
  const { members, world } = fleet
  for (const member of [...members]) {
    const isFirst = world.random.chance(0.5)
    if (isFirst) fleet.start(policies)
    await world.runFor(world.random.whole(0, SECOND_US))
    member.isEnding = true
    await world.runFor(DRAIN_US)
    fleet.leave(member)
    if (!isFirst) fleet.start(policies)
  }
}
