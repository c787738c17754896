// A limit that changes while a story runs: processes set it, and all follow, each change at its
// instant.

import type { Policy } from '../../../packages/core/src/algorithms/policy.js'
import type { Decision } from '../../../packages/core/src/index.js'
import type { LiveChange } from '../../../packages/core/src/live/types.js'
import type { ChangingLimit, Fleet } from './fleet.js'
import type { Member } from './member.js'

/** Lets processes change the limit, where it changes. Returns what ends that. */
export function keepChanging(fleet: Fleet): () => void {
  const { live } = fleet.plan
  if (live === undefined) return () => {}
  const limit = new LiveLimit(fleet, live)
  fleet.live = limit
  return limit.keepChanging()
}

interface Change {
  /** From when it holds, by the clock of Redis. */
  readonly activeUs: number
  readonly limit: number
}

/** How far apart processes may change over, beside a round trip: timers and drift. */
const APART_US = 2_000

class LiveLimit implements ChangingLimit {
  readonly #fleet: Fleet
  readonly #make: (limit: number) => Policy
  /** In the order of their instants. */
  readonly #changes: Change[]

  /** @param make the policy, of another limit */
  constructor(fleet: Fleet, make: (limit: number) => Policy) {
    const [{ limit }] = fleet.plan.policies as [Policy]
    this.#fleet = fleet
    this.#make = make
    this.#changes = [{ activeUs: 0, limit }]
  }

  get version(): number {
    return this.#changes.length - 1
  }

  get limit(): number {
    return this.#limitIn(0)
  }

  /** A process sets another limit now and then. Returns what ends that. */
  keepChanging(): () => void {
    const { world, staying } = this.#fleet
    const { random } = world
    let isOver = false
    const next = (): void => {
      if (isOver) return
      const [{ limit: first }] = this.#changes as [Change]
      const limit = random.whole(Math.ceil(first / 2), 2 * first)
      this.#set(random.pick(staying), limit)
      world.after(random.whole(500_000, 4_000_000), next)
    }
    world.after(random.whole(0, 2_000_000), next)
    return () => {
      isOver = true
    }
  }

  #set(member: Member, limit: number): void {
    const fleet = this.#fleet
    fleet.tell(`${member.host.name} sets the limit to ${limit}`)
    // What passed by a lower limit before counts as well.
    for (const counter of fleet.counters) counter.limit = Math.max(counter.limit, limit)
    member.limits?.set('plan', this.#make(limit)).then(
      ({ isChanged, activeAtMs }) => {
        if (isChanged) this.#changes.push({ activeUs: activeAtMs * 1_000, limit })
      },
      (error) => fleet.must(false, `${member.host.name} could not set a limit: ${error}`),
    )
  }

  changed(member: Member, { activeAtMs }: LiveChange): void {
    const apartUs = this.#fleet.machine.redis.nowUs - activeAtMs * 1_000
    const mostUs = APART_US + 2 * mostUsOf(member)
    const { host } = member
    this.#fleet.tell(`${host.name} changes over`)
    this.#fleet.must(Math.abs(apartUs) <= mostUs, `${host.name} changed ${apartUs} us too late`)
  }

  /** It must be by a limit that holds. */
  check(): (decision: Decision) => void {
    const mostUs = 2 * Math.max(...this.#fleet.members.map((each) => mostUsOf(each))) + APART_US
    const limits = [this.#limitIn(-mostUs), this.#limitIn(mostUs)]
    return ({ limit }) =>
      this.#fleet.must(limits.includes(limit), `decided by ${limit}, where ${limits} may hold`)
  }

  /** The limit that holds `us` from now. */
  #limitIn(us: number): number {
    const atUs = this.#fleet.machine.redis.nowUs + us
    return (this.#changes.findLast(({ activeUs }) => activeUs <= atUs) as Change).limit
  }
}

function mostUsOf({ connection }: Member): number {
  return connection.there.latency.mostUs
}
