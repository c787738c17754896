// A limit that changes while a story runs: processes set it, and all follow, each change at its
// instant. If something goes wrong, a process that does not hear of a change keeps its limit and
// changes over later, never sooner; a change may be lost with all other keys; and in the end all
// have the same limit.
import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Decision } from '../../../../packages/core/src/index.js'
import type { LiveChange } from '../../../../packages/core/src/live/types.js'
import type { ChangingLimit, Fleet } from '../fleet/fleet.js'
import type { Member } from '../fleet/member.js'

/** Makes processes change the limit, if it is live. Returns a function that ends it. */
export function keepChanging(fleet: Fleet): () => void {
  const { live } = fleet.plan
  if (live === undefined) return () => {}
  const limit = new LiveLimit(fleet, live)
  fleet.live = limit
  return limit.keepChanging()
}

interface Change {
  /** When it takes effect, by the clock of Redis. */
  readonly activeUs: number
  readonly limit: number
}

/** How far apart processes may change over, in addition to a round trip: timers and drift. */
const APART_US = 2_000

class LiveLimit implements ChangingLimit {
  readonly #fleet: Fleet
  readonly #make: (limit: number) => Policy
  /** In the order of their instants. */
  readonly #changes: Change[]
  /** All limits that were ever set. */
  readonly #asked: Set<number>
  /** Whether all processes hear of each change in time. */
  readonly #isExact: boolean

  /** @param make makes the policy with another limit */
  constructor(fleet: Fleet, make: (limit: number) => Policy) {
    const [{ limit }] = fleet.plan.policies as [Policy]
    this.#fleet = fleet
    this.#make = make
    this.#changes = [{ activeUs: 0, limit }]
    this.#asked = new Set([limit])
    this.#isExact = fleet.terms.isExact === true
  }

  get limit(): number {
    const [first] = this.#fleet.staying
    return this.#isExact || first === undefined ? this.#limitIn(0) : limitOf(first)
  }

  checkFollowed(): void {
    const { staying } = this.#fleet
    const right = this.#isExact ? this.#changes.length - 1 : versionOf(staying[0])
    for (const member of staying) {
      const { name } = member.host
      const version = versionOf(member)
      const what = `${name} is at version ${version} of ${right} of the limit`
      this.#fleet.must(version === right, what)
      const limit = limitOf(member)
      const isRight = limit === this.limit && this.#asked.has(limit)
      this.#fleet.must(isRight, `${name} has the limit ${limit} in place of ${this.limit}`)
    }
  }

  /** Makes a process set another limit now and then. Returns a function that ends it. */
  keepChanging(): () => void {
    const { world, staying, members } = this.#fleet
    const { random } = world
    let isOver = false
    const next = (): void => {
      if (isOver) return
      const [{ limit: first }] = this.#changes as [Change]
      // A process with a quota of 0 has another bound.
      const least = Math.max(Math.ceil(first / 2), members.length)
      this.#set(random.pick(staying), random.whole(least, Math.max(least, 2 * first)))
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
    this.#asked.add(limit)
    // What passed under a lower limit before counts as well.
    for (const counter of fleet.planned) counter.limit = Math.max(counter.limit, limit)
    member.limits?.set('plan', this.#make(limit)).then(
      ({ isChanged, activeAtMs }) => {
        if (isChanged) this.#changes.push({ activeUs: activeAtMs * 1_000, limit })
      },
      (error) => {
        const what = `${member.host.name} could not set a limit: ${error}`
        fleet.must(fleet.terms.isAway || member.hasLeft, what)
      },
    )
  }

  changed(member: Member, { activeAtMs }: LiveChange): void {
    const apartUs = this.#fleet.machine.redis.nowUs - activeAtMs * 1_000
    const mostUs = APART_US + 2 * mostUsOf(member)
    const { host } = member
    this.#fleet.tell(`${host.name} changes over`)
    const isInTime = apartUs >= -mostUs && (apartUs <= mostUs || !this.#isExact)
    this.#fleet.must(isInTime, `${host.name} changed ${apartUs} us too late`)
  }

  /** Returns a check that a decision is made by a limit in effect. */
  check(): (decision: Decision) => void {
    if (!this.#isExact)
      return ({ limit }) =>
        this.#fleet.must(this.#asked.has(limit), `decided by ${limit}, which nobody has set`)
    const mostUs = 2 * Math.max(...this.#fleet.members.map((each) => mostUsOf(each))) + APART_US
    const limits = [this.#limitIn(-mostUs), this.#limitIn(mostUs)]
    return ({ limit }) =>
      this.#fleet.must(limits.includes(limit), `decided by ${limit}, where ${limits} may hold`)
  }

  /** The limit in effect `us` from now. */
  #limitIn(us: number): number {
    const atUs = this.#fleet.machine.redis.nowUs + us
    return (this.#changes.findLast(({ activeUs }) => activeUs <= atUs) as Change).limit
  }
}

function limitOf({ limits, policies }: Member): number {
  return limits?.for('plan').limit ?? (policies[0] as Policy).limit
}

function versionOf(member: Member | undefined): number | undefined {
  return member?.limits?.status().version
}

function mostUsOf({ connection }: Member): number {
  return connection.there.latency.mostUs
}
