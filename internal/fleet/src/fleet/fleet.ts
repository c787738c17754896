// The members of a fleet, their world, and what is known of their keys. What members ask for is in
// traffic.ts, and what must hold is in checks.ts.

import { CALL_MODES, type CallMode } from '../../../../packages/core/src/algorithms/modes.js'
import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import { seedHashes } from '../../../../packages/core/src/base/key-hash.js'
import type { Decision } from '../../../../packages/core/src/limiter/decision.js'
import type { LiveChange } from '../../../../packages/core/src/live/types.js'
import type { KeyedRequest } from '../redis/driver-script.js'
import type { Machine } from '../redis/machine.js'
import { namesInRedis } from '../redis/names.js'
import { World } from '../world/world.js'
import { Budgets } from './budgets.js'
import { optionsOf, type StoryOptions } from './choices.js'
import { type Counter, countersOf } from './counter.js'
import { Member } from './member.js'
import { meanUnits, type Plan, planOf } from './plan.js'
import { oneServer, type Servers, severalMasters } from './servers.js'
import { HeldSlots } from './slots.js'
import type { Terms } from './terms.js'

export const SECOND_US = 1_000_000
/** How far the clock of Redis may be ahead of the true time: less than the windows of policies,
 *  whose aligned ones begin with the story. */
export const MOST_AHEAD_US: number = 3_000 * SECOND_US
/** How long a process may take to end: a call for live limits takes up to a second. */
const CLOSING_US = 1_100_000
/** A process that is away for longer is no longer counted by its peers. */
const GONE_US = 10 * SECOND_US
/** The most broken promises that a story reports. */
const REPORTED = 20

/** A limit that changes while a story runs: see live-limits.ts. */
export interface ChangingLimit {
  /** The present limit. */
  readonly limit: number
  /** A change takes effect in a process. */
  changed(member: Member, change: LiveChange): void
  /** Call when a decision is requested. Returns a check of the decision. */
  check(): (decision: Decision) => void
  /** Call at the end. Checks that each process has followed all changes. */
  checkFollowed(): void
}

export class Fleet {
  readonly world: World
  readonly terms: Terms
  readonly options: StoryOptions
  readonly plan: Plan
  /** The members that the story begins with, followed by those that start later. */
  readonly members: Member[] = []
  readonly servers: Servers
  /** Those of the decisions' policies, and budgets. */
  readonly counters: readonly Counter[]
  /** The first of these. */
  readonly planned: readonly Counter[]
  /** Called when a process starts while the story runs. */
  started: (member: Member) => void = () => {}
  /** Whether processes take slots. */
  isHolding = false
  /** The slots that processes hold. */
  readonly slots: HeldSlots | undefined
  /** Budgets in which processes hold estimates. */
  readonly budgets: Budgets | undefined
  /** The limit that changes. */
  live: ChangingLimit | undefined = undefined
  readonly broken: string[] = []
  /** The mean pause of a process between two requests. */
  readonly gapUs: number
  /** All processes have lost Redis, so those that start cannot count the others. */
  isAway = false
  /** Whether the clock of Redis was set back. */
  isSetBack = false
  /** By how much the clock of Redis was set forward, in total. */
  forwardUs = 0
  requests = 0
  /** The most that was admitted under a key beyond its limit. */
  over = 0
  /** The most that was in progress at once beyond a limit of slots. */
  overSlots = 0
  /** How often processes called each method. */
  readonly asked: Record<string, number> = {}
  readonly sources: Record<string, number> = {}
  /** Whether Redis has ever forgotten keys. */
  #isLossy = false
  readonly #countersOf: ReadonlyMap<string, readonly Counter[]>
  /** By the name of the key in Redis. */
  readonly #countersByName: ReadonlyMap<string, readonly Counter[]>

  /**
   * @param us how long requests come
   * @param given options that replace those of the seed
   */
  constructor(seed: number, terms: Terms, us: number, given: Partial<StoryOptions> = {}) {
    seedHashes([seed, seed ^ 0x5bd1e995])
    const world = new World(seed)
    const { random } = world
    this.world = world
    this.terms = terms
    const options = optionsOf(seed, terms.least, { ...terms.options, ...given })
    const { processes: count, limit, demand, masters } = options
    const plan = planOf(options, terms)
    this.options = options
    this.plan = plan
    const units = limit * plan.keys.length * demand
    this.gapUs = Math.ceil((count * us * meanUnits(options)) / units)
    this.servers = terms.isOnCluster ? severalMasters(world, masters) : oneServer(world)
    if (!terms.isOnCluster) this.machine.redis.aheadUs = random.whole(0, MOST_AHEAD_US)
    const late = terms.hasNewcomers ? Math.min(options.newcomers, count - 1) : 0
    while (this.members.length < count - late) this.#addMember(plan, false)
    this.#countersOf = countersOf(options, plan, this.members)
    const { members } = this
    const clock = () => ({ beganUs: world.nowUs, fromUs: this.machine.redis.nowUs })
    this.budgets =
      plan.budgetUses && new Budgets(plan.budgetUses, { options, plan, members }, clock)
    const budgets = this.budgets?.ofKey ?? []
    this.#countersByName = new Map(
      [...this.#countersOf, ...budgets].flatMap(([key, all]) => {
        return namesInRedis(key).map((name) => [name, all] as const)
      }),
    )
    this.slots = plan.slotUses && new HeldSlots(options, plan.keys, plan.slotUses)
    this.planned = [...new Set([...this.#countersOf.values()].flat())]
    this.counters = [...this.planned, ...(this.budgets?.counters ?? [])]
    for (const machine of this.servers.machines)
      machine.redis.decided = (...decided) => this.#decided(machine.serving, ...decided)
    this.tell(JSON.stringify(options))
  }

  /** The option `hashTags` of the stores. */
  get hashTags(): number | undefined {
    const { hashTags } = this.options
    return this.servers.cluster === undefined || hashTags < 2 ? undefined : hashTags
  }

  /** The only server, or the first one of a Cluster. */
  get machine(): Machine {
    return this.servers.machines[0] as Machine
  }

  get keys(): readonly string[] {
    return this.plan.keys
  }

  /** The counters of a request's key, in the order of the policies. */
  countersOf(key: string): readonly Counter[] {
    return this.#countersOf.get(key) as readonly Counter[]
  }

  /** Processes that are alive and have an open store. */
  get staying(): readonly Member[] {
    return this.members.filter(({ host, hasLeft }) => !host.isDead && !hasLeft)
  }

  /** A process starts.
   *  @param policies default: those of the other processes
   *  @param quietUs how long it makes no call, at the least */
  start(policies: readonly Policy[] = this.plan.policies, quietUs: number = 0): Member {
    const member = this.#addMember({ ...this.plan, policies }, true)
    member.quietUntilUs = this.world.nowUs + quietUs
    const limits = policies.map(({ limit }) => limit)
    this.tell(`${member.host.name} starts, by ${limits.join()}`)
    this.started(member)
    return member
  }

  #addMember(plan: Plan, isLate: boolean): Member {
    const { world, options, hashTags, members } = this
    const { random } = world
    const leastUs = random.whole(50, 500)
    const member = new Member(world, this.servers, {
      ...{ rank: members.length, options, plan, hashTags, isLate },
      latency: { leastUs, mostUs: leastUs + random.whole(50, 2_000) },
      rate: 1 + (random.next() - 0.5) / 5_000,
      changed: (self, change) => this.live?.changed(self, change),
      missed: ({ host: { name } }, key) => {
        this.must(
          !this.terms.losesNothing,
          `${name} reports that Redis has lost ${key}, and it has not`,
        )
      },
    })
    members.push(member)
    return member
  }

  /** Random processes, each with this probability. */
  some(probability: number): number[] {
    return this.members.map((_, i) => i).filter(() => this.world.random.chance(probability))
  }

  /** From now on these processes may decide without Redis. */
  lose(some: readonly number[]): void {
    for (const i of some) (this.members[i] as Member).backUs = undefined
    for (const counter of this.counters) counter.lose(some, this.world.nowUs)
    this.#loseSlots(some)
  }

  /** A process is stopped (SIGSTOP) for a while, and may decide without Redis when it goes on. */
  stop(member: Member, us: number): void {
    this.tell(`${member.host.name} is stopped for ${us} us`)
    for (const counter of this.counters) counter.stop(this.world.nowUs)
    member.isStopped = true
    if (us >= GONE_US) member.isThereUs = this.world.nowUs + us
    member.host.pause(us)
    this.#loseSlots([member.rank])
  }

  #loseSlots(some: readonly number[]): void {
    this.slots?.lose(some, (rank) => !(this.members[rank] as Member).isCounted)
  }

  /** Sets the clock of Redis this far ahead of the true time. */
  setClock(aheadUs: number): void {
    const { redis } = this.machine
    this.forwardUs += Math.max(0, aheadUs - redis.aheadUs)
    if (aheadUs < redis.aheadUs) {
      this.isSetBack = true
      for (const counter of this.counters) counter.stepBack()
    }
    this.slots?.forget()
    this.budgets?.stepped()
    redis.aheadUs = aheadUs
    this.budgets?.stepped()
    this.tell(`the clock of Redis is ${(aheadUs / SECOND_US).toFixed(3)} s ahead`)
  }

  /** A process dies. */
  crash(member: Member): void {
    member.host.die()
    this.slots?.die(member)
    this.budgets?.die(member)
  }

  /** Closes the store of a process, which then must soon have no timer left. */
  leave(member: Member): void {
    const { limiter, store, host, limits } = member
    this.slots?.leave(member)
    this.budgets?.leave(member)
    member.hasLeft = true
    limits?.close()
    limiter.close()
    member.slots?.close()
    member.budgets?.close()
    void store.close()
    this.world.after(CLOSING_US, () => {
      this.must(host.timers === 0, `${host.name}: ${host.timers} timers after its end`)
    })
  }

  /** Records a broken promise unless it holds. */
  must(holds: boolean, what: string): void {
    if (holds) return
    this.tell(`BROKEN ${what}`)
    this.world.history.broke()
    if (this.broken.length < REPORTED) this.broken.push(`${this.#at} ${this.#short(what)}`)
  }

  tell(what: string): void {
    this.world.history.add(`${this.#at} ${this.#short(what)}`)
  }

  /** Leaves out the filler of long keys. */
  #short(what: string): string {
    return this.options.keyLength > 0 ? what.replace(/-{9,}/g, '') : what
  }

  /** Redis has forgotten all keys. */
  forget(): void {
    this.machine.redis.forgetKeys()
    for (const counter of this.counters) this.lost(counter)
    this.slots?.forget()
  }

  /** Redis has forgotten a counter. */
  lost(counter: Counter): void {
    counter.forget(this.world.nowUs)
    this.#isLossy = true
  }

  /** Redis has decided a request. */
  #decided(by: string, mode: CallMode, request: KeyedRequest, granted: number): void {
    const { keys, costs, count = 1 } = request
    if (mode === 'reset') for (const key of keys) this.slots?.reset(key)
    const { changes, givesOnly } = CALL_MODES[mode]
    // A request that takes nothing does not reveal a loss.
    const shows = this.#isLossy && changes && !givesOnly && granted > 0
    const isLease = mode === 'lease'
    const isTold = this.#isLossy && changes
    const i = this.members.findIndex(({ host }) => host.name === by)
    const member = this.members[i]
    if (member !== undefined && changes && granted > 0) {
      member.wroteUs = this.world.nowUs
      member.failedInARow = 0
    }
    if (!isTold && !isLease && mode !== 'reset') return
    keys.forEach((key, place) => {
      const counter = this.#countersBy(key).find((each) => each.isKey(key))
      if (mode === 'reset') counter?.reset()
      if (isTold && (costs[place] as number) > 0) counter?.told(i, this.world.nowUs)
      if (shows && (costs[place] as number) > 0) counter?.ran(i)
      if (!isLease || counter === undefined) return
      if (granted > 0) member?.leasedUs.set(counter.who, this.world.nowUs)
      // No more was left, whoever asks.
      if (granted < count) member?.deniedUs.set(counter.who, this.world.nowUs)
    })
  }

  /** The counters that may be the one with this key in Redis. */
  #countersBy(key: string): readonly Counter[] {
    const [tag = '', rest = ''] = key.slice(key.indexOf('{') + 1).split('}')
    // If keys share tags, the tag does not identify the key that is limited.
    const who = this.hashTags === undefined ? tag : (rest.split(':')[3] ?? '')
    return this.#countersByName.get(who) ?? this.#countersOf.get(this.keys[0] as string) ?? []
  }

  /** The time since the world began, in seconds. */
  get #at(): string {
    return (this.world.livedUs / SECOND_US).toFixed(6)
  }
}
