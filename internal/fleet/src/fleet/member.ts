// A process of the fleet: the real store and limiter, over a simulated connection.

import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Decision } from '../../../../packages/core/src/limiter/decision.js'
import { inTime, RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import { livePoliciesIn } from '../../../../packages/core/src/live/live-policies.js'
import type { LiveChange, LivePolicies } from '../../../../packages/core/src/live/types.js'
import { type RedisStore, redisStoreIn } from '../../../../packages/core/src/redis/store.js'
import type { PolicyResult } from '../../../../packages/core/src/store.js'
import type { SimulatedConnection } from '../network/connection.js'
import type { Latency } from '../network/wire.js'
import { Host } from '../world/host.js'
import type { World } from '../world/world.js'
import { Charges, type Units } from './charges.js'
import type { StoryOptions } from './choices.js'
import type { Plan } from './plan.js'
import { LONG_MS } from './policies.js'
import type { Servers } from './servers.js'

export const DEADLINE_MS = 100
/** The bound that redisStore's option `denyCache` promises. */
const LONGEST_DENIED_US = 1_000_000

/** Units of each policy. */
interface Counted {
  readonly taken: number[]
  readonly penalty: number[]
  readonly refunded: number[]
  /** Settled below the charge; these units count unless the store was away. */
  readonly perhapsRefunded: number[]
}

/** A request that waits for its turn. */
export interface Waiter {
  /** Whether a later request has passed before it. */
  isOvertaken: boolean
}

/** Adds units of each policy to a total. */
export function count(all: number[], units: Units): void {
  units.forEach((each, i) => {
    all[i] = (all[i] as number) + each
  })
}

export interface MemberOptions {
  /** Its position among the members. */
  readonly rank: number
  readonly options: StoryOptions
  readonly plan: Plan
  /** The option `hashTags` of the stores. */
  readonly hashTags: number | undefined
  readonly latency: Latency
  /** How fast its clocks run. */
  readonly rate: number
  /** It starts while the story runs. */
  readonly isLate: boolean
  /** Called when a change of limits takes effect in the process. */
  readonly changed: (member: Member, change: LiveChange) => void
  /** Called when the process reports that Redis has lost a key. */
  readonly missed: (member: Member, key: string) => void
}

export class Member {
  readonly rank: number
  readonly host: Host
  readonly connection: SimulatedConnection
  readonly store: RedisStore
  readonly limiter: RateLimiter
  /** The limiter whose slots it holds. */
  readonly slots: RateLimiter | undefined
  /** The limiter of whose budgets it makes estimates. */
  readonly budgets: RateLimiter | undefined
  /** The policies by which it decides, unless limits change while it runs. */
  readonly policies: readonly Policy[]
  /** The limits, if they change. */
  readonly limits: LivePolicies<'plan'> | undefined
  decisions = 0
  /** Whether it has noticed that Redis is away: its breaker has opened. */
  hasNoticed = false
  /** When Redis last wrote for it, and its decisions without Redis that were asked for since. */
  wroteUs = 0
  failedInARow = 0
  /** Decisions that it has given. */
  answers = 0
  /** When it first came back since it last lost Redis: its breaker was half-open. */
  backUs: number | undefined = undefined
  /** If processes count each other: whether it and its peers have done so before they lost Redis.
   *  The members of the beginning have. */
  isCounted: boolean
  /** Whether it was stopped for a while. */
  isStopped = false
  /** When it makes its first call, at the earliest. */
  quietUntilUs = 0
  /** Since when its peers may count it: since its first call, or since it went on after a stop that
   *  was long enough for them to forget it. Undefined before its first call. */
  isThereUs: number | undefined = undefined
  /** What the statistics of its limiter should be, for each policy. */
  readonly counted: Counted
  /** For each key, when Redis last denied a request, unless units were given back since. */
  readonly deniedUs: Map<string, number> = new Map()
  /** The unanswered waits of each key, in the order in which they were asked for. */
  readonly waits: Map<string, Waiter[]> = new Map()
  /** When Redis last granted it a lease of each key. */
  readonly leasedUs: Map<string, number> = new Map()
  /** The charges that it may give back. */
  readonly charges: Charges
  /** The number of unanswered calls. */
  pending = 0
  /** It sends no more requests, since it is about to end. */
  isEnding = false
  /** Whether its store is closed. */
  hasLeft = false
  /** For each key, the units in use of each policy when it last heard of them from Redis. */
  readonly seen: Map<string, readonly number[]> = new Map()

  /** For each key whose block it has seen, how often blocks of the key had been lifted by then. */
  readonly #blocks: Map<string, number> = new Map()

  constructor(world: World, servers: Servers, given: MemberOptions) {
    const { rank, plan, latency, rate, changed } = given
    const { processes: count, denyCache, counted } = given.options
    const { policies, policyKeys, reserve, leases, maxLocalKeys, whenUnavailable } = plan
    this.rank = rank
    this.isCounted = !given.isLate
    this.policies = policies
    this.host = new Host(world, `p${rank}`, rate)
    const none = () => policies.map(() => 0)
    this.counted = { taken: none(), penalty: none(), refunded: none(), perhapsRefunded: none() }
    this.charges = new Charges()
    const { time } = this.host
    this.connection = servers.connect(this.host, latency, DEADLINE_MS)
    // A process that starts later has the rank of the one that it replaces.
    const instances = counted ? undefined : { count, rank: rank % count }
    const settings = { denyCache, leases, instances, maxLocalKeys, hashTags: given.hashTags }
    this.store = redisStoreIn(time, this.connection, { deadlineMs: DEADLINE_MS, ...settings })
    this.store.on('breaker', ({ state }) => {
      if (state === 'open') this.hasNoticed = true
      if (state === 'half-open') this.backUs ??= world.nowUs
    })
    this.store.on('data-loss', ({ key }) => given.missed(this, key))
    const uses = policies.map((each, i) => ({ policy: each, key: policyKeys[i] }))
    if (plan.live !== undefined) {
      const defaults = { plan: policies[0] as Policy }
      const onChange = (change: LiveChange) => changed(this, change)
      this.limits = livePoliciesIn(time, this.store, { name: 'fleet', defaults, onChange })
    }
    const policy = this.limits?.policy('plan') ?? uses
    const limiting = {
      name: 'fleet',
      store: this.store,
      policy,
      reserve,
      whenUnavailable,
      shared: true,
    }
    this.limiter = new RateLimiter(inTime(time, limiting))
    const { slotUses, budgetUses } = plan
    const other = { store: this.store, shared: true }
    const holding = { ...other, name: 'slots', policy: slotUses as never }
    this.slots = slotUses && new RateLimiter(inTime(time, holding))
    const spending = { ...other, name: 'budgets', policy: budgetUses as never, whenUnavailable }
    this.budgets = budgetUses && new RateLimiter(inTime(time, spending))
  }

  /**
   * Records what a decision reveals about Redis, and what it took.
   * @param keep what its class leaves to others, for each policy
   */
  heard(key: string, decision: Decision, asked: Units, taken: Units, keep?: Units): void {
    const { allowed } = decision
    this.decisions += 1
    count(this.counted.taken, taken)
    // A request for no units changes nothing, and its answer is not remembered.
    if (asked.every((each) => each === 0)) return
    // A denial of a class does not reveal how much is left to others.
    if (keep !== undefined && !allowed) return
    this.saw(
      key,
      decision,
      asked.map((units, i) => (units === 0 ? 0 : (keep?.[i] ?? 0))),
    )
  }

  /** Records what a decision reveals about Redis.
   *  @param kept what was left to others, for each policy */
  saw(key: string, { source, allowed, policies }: Decision, kept: Units = []): void {
    if (source !== 'store') return
    const used = policies.map((each, i) => usedIn(each, kept[i]))
    // A denial with more left than was seen before is not believed, since Redis may have lost the
    // counter.
    const before = this.seen.get(key)
    if (!allowed && used.some((each, i) => each < (before?.[i] ?? 0))) return
    this.seen.set(key, used)
  }

  /** Whether its deny cache may answer for a key. */
  mayRefuse(key: string): boolean {
    const { world, rate } = this.host
    const deniedUs = this.deniedUs.get(key) ?? Number.NEGATIVE_INFINITY
    return world.nowUs - deniedUs <= LONGEST_DENIED_US / Math.min(1, rate)
  }

  /** Whether it has seen a block that still stands.
   *  @param lifts how often blocks of the key were lifted */
  isBlocked(key: string, lifts: number): boolean {
    return this.#blocks.get(key) === lifts
  }

  /** Records the block that a decision reports.
   *  @param lifts how often blocks of the key had been lifted when the decision was requested */
  heardBlock(key: string, { source, policies }: Decision, lifts: number): void {
    if (source === 'store' && policies.some(({ block }) => block?.isBlocked))
      this.#blocks.set(key, lifts)
  }

  /** A charge was corrected by these units, so it may take less for used, even if more was charged:
   *  others may have given back as much. */
  gaveBack(key: string, units: Units): void {
    const before = this.seen.get(key)
    if (before === undefined) return
    const used = before.map((each, i) => Math.max(0, each - (units[i] as number)))
    this.seen.set(key, used)
  }
}

/** The units in use that a result shows, without the rest of a unit of a bucket that drains while
 *  the story goes on. */
function usedIn(
  { policy, limit, remaining, resetAfterMs }: PolicyResult,
  kept: number = 0,
): number {
  const used = limit - remaining - kept
  if (policy.kernel?.traits.drains !== true) return used
  return Math.min(used, Math.ceil((resetAfterMs - LONG_MS) / policy.unitMs))
}
