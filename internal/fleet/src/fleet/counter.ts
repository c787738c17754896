// What is known of a counter, which is a policy for a key, while a story runs: the units that were
// taken and given back, and how many of them each process had not seen when it lost Redis, or when
// Redis lost the counter.

import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Story } from '../promises/story.js'
import { isNameOf } from '../redis/names.js'
import type { StoryOptions } from './choices.js'
import type { Member } from './member.js'
import type { Plan } from './plan.js'
import { LONG_MS } from './policies.js'

/** How much faster or slower a clock may run. */
const DRIFT = 1e-3
/** Processes are back together if each is, and has told Redis what it knows, within this time of
 *  the first one: a process that is back for 5 s has no ceiling any more, and one that has just
 *  come back begins to count within half a second. */
const TOGETHER_US = 4_400_000

export interface CounterOptions {
  /** The key that it limits. */
  readonly who: string
  readonly policy: Policy
  /** The position of its policy among those of a decision. */
  readonly place: number
  /** The keys of the requests that it counts: several if its policy has a policy key. */
  readonly keys: readonly string[]
  readonly members: readonly Member[]
  readonly options: StoryOptions
  /** The units that processes may hold in leases. */
  readonly leased: number
  readonly plan: Plan
}

export class Counter {
  readonly who: string
  /** Whether Redis uses this name for the counter or its mark. */
  readonly isKey: (name: string) => boolean
  readonly policy: Policy
  /** The largest limit that it has had. */
  limit: number
  readonly place: number
  readonly keys: readonly string[]
  /** Units of allowed requests, less what was given back. */
  passed = 0
  /** Units that were charged whatever was left: penalties, and costs above an estimate. */
  charged = 0
  /** Units from before a reset that processes may have given back in their own quotas alone. */
  backHere = 0
  /** How often units were given back. */
  refunds = 0
  /** How often it was reset. */
  resets = 0
  /** What had passed, and was charged, at the last reset. */
  #passedBefore = 0
  #chargedBefore = 0
  /** The part of what passed since then that Redis may have counted before. */
  #perhapsBefore = 0
  #inFlight = 0
  #mostInFlight = 0
  #inFlightWhenAway = 0
  #inFlightSinceLoss = 0
  #behind = 0
  /** Units of waiting requests that may have had a turn when processes lost Redis, or when its
   *  clock stepped back. */
  #turnsBefore = 0
  /** By how much the estimates were off of settlements that are on their way, and of those that may
   *  have been made twice, as they were repeated. */
  #offInFlight = 0
  #offTwice = 0
  #isBeside = false
  readonly #members: readonly Member[]
  readonly #options: StoryOptions
  readonly #leased: number
  readonly #plan: Plan
  /** When it was first asked for. */
  #bornUs: number | undefined
  /** When processes or Redis first lost it. */
  #lostUs: number | undefined
  /** See `Story`. */
  readonly #unseen: (number | undefined)[]
  readonly #left: (number | undefined)[]
  readonly #losses: number[] = []
  /** Since Redis has forgotten the counter: when each process first told Redis of it, by rank. */
  readonly #toldUs: Map<number, number> = new Map()
  /** The ranks of the processes that had seen it by then. */
  #knewIt: readonly number[] = []
  /** Nobody may notice that Redis has lost it. */
  #mayBeUnnoticed = false
  #isStopped = false
  /** After Redis has forgotten the counter, until a process asks for it: what each had not seen. */
  #lost: readonly number[] | undefined = undefined

  constructor({ who, policy, place, keys, members, options, ...more }: CounterOptions) {
    this.who = who
    this.isKey = isNameOf(who, policy.name)
    this.policy = policy
    this.limit = policy.limit
    this.place = place
    this.keys = keys
    this.#members = members
    this.#options = options
    this.#leased = more.leased
    this.#plan = more.plan
    this.#unseen = members.map(() => undefined)
    this.#left = members.map(() => undefined)
  }

  /** Whether units flow back while a story runs. */
  get flows(): boolean {
    return this.policy.windowMs < LONG_MS
  }

  /**
   * The most units that have come back since the counter was first asked for: the refill of a
   * bucket; the same once more in processes that have lost Redis; the units of waiting requests
   * that had a turn when Redis was lost; and for each refund beneath a lease, the refill during a
   * lease.
   */
  flown(nowUs: number): number {
    if (!this.flows || this.#bornUs === undefined) return 0
    const units = (us: number): number => (us / 1_000 / this.policy.unitMs) * (1 + DRIFT)
    const turns = this.#turnsBefore + this.#losses.length * this.#mostInFlight
    const lostUs = this.#lostUs ?? nowUs
    const heldMs = Math.min(this.#plan.leases?.holdMs ?? 0, this.policy.windowMs / 50)
    const beneath = this.refunds * units(1_000 * heldMs)
    return Math.ceil(units(nowUs - this.#bornUs) + units(nowUs - lostUs) + beneath) + turns
  }

  /** The clock of Redis is set back, so it knows less of the requests that have a turn. */
  stepBack(): void {
    this.#turnsBefore += this.#inFlight
  }

  /** A replica or a snapshot takes over, which has not heard of these units.
   *  @param isRecent some processes may have told no beat since */
  fallBehind(units: number, isRecent: boolean = true): void {
    this.#behind += units
    if (isRecent) this.#mayBeUnnoticed = true
  }

  /** Whether the process may decide without Redis, since it has lost it. */
  mayBeLocal(i: number): boolean {
    return this.#unseen[i] !== undefined || this.#members[i]?.isStopped === true
  }

  asked(units: number, nowUs: number): void {
    this.#bornUs ??= nowUs
    this.#inFlight += units
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight)
    this.#inFlightSinceLoss = Math.max(this.#inFlightSinceLoss, this.#inFlight)
  }

  /** A request for these units was answered. */
  answered(units: number, allowed: number): void {
    this.#inFlight -= units
    this.passed += allowed
  }

  /** Units are being given back, and may be taken by others from now on. */
  giveBack(units: number): void {
    if (units === 0) return
    this.passed -= units
    this.refunds += 1
  }

  /** A process gives back units from before a reset: without Redis it may not know of that. */
  giveBackHere(i: number, units: number): void {
    if (this.mayBeLocal(i)) this.backHere += units
  }

  /** A process settles an estimate that was off by these units. */
  settles(i: number, units: number): void {
    this.#offInFlight += units
    if (this.mayBeLocal(i)) this.#offTwice += units
  }

  settled(units: number): void {
    this.#offInFlight -= units
  }

  /** Redis has reset it. */
  reset(): void {
    this.resets += 1
    this.#passedBefore = this.passed
    this.#chargedBefore = this.charged
    this.#perhapsBefore = this.#inFlight + this.#leased
  }

  /** The units that have certainly passed since the last reset. */
  get passedSince(): number {
    return this.passed - this.#passedBefore - this.#perhapsBefore
  }

  /** The most that it counts while all is well: what passed or was charged since the last reset. */
  get inUse(): number {
    return this.passed + this.charged - this.#passedBefore - this.#chargedBefore
  }

  /** These processes lose Redis. */
  lose(some: readonly number[], nowUs: number): void {
    this.#lostUs ??= nowUs
    this.#turnsBefore += this.#inFlight
    this.#offTwice += this.#offInFlight
    this.#inFlightWhenAway = Math.max(this.#inFlightWhenAway, this.#inFlight)
    for (const i of some) {
      this.#unseen[i] = Math.max(this.#unseen[i] ?? 0, this.#unseenBy(i))
      this.#left[i] = Math.max(this.#left[i] ?? 0, this.limit - this.#seenBy(i))
    }
  }

  /** A process is stopped, and may decide without Redis when it goes on. */
  stop(nowUs: number): void {
    this.#lostUs ??= nowUs
    this.#turnsBefore += this.#inFlight
    this.#offTwice += this.#offInFlight
    this.#isStopped = true
  }

  /** These processes lose keys on another node that are decided together with this one. */
  loseBeside(some: readonly number[], nowUs: number): void {
    this.lose(some, nowUs)
    this.#isBeside = true
  }

  /** Redis forgets it. */
  forget(nowUs: number): void {
    this.#lostUs ??= nowUs
    this.#lost = this.#members.map((_, i) => this.#unseenBy(i))
    this.#toldUs.clear()
    this.#inFlightSinceLoss = this.#inFlight
    this.#knewIt = this.#members.flatMap(({ rank }) => (this.#seenBy(rank) > 0 ? rank : []))
    // The first process that asks restores what it has seen, which is unknown until then.
    this.#losses.push(0)
  }

  /** Whether Redis has forgotten it, and no process has asked since. */
  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /** Redis has run a call of this process for this counter. */
  ran(i: number): void {
    if (this.#lost === undefined) return
    // A process that has started since has seen nothing.
    this.#losses[this.#losses.length - 1] = this.#lost[i] ?? this.limit
    this.#lost = undefined
  }

  /** Redis hears of it from a process, which tells before what it took and saw. */
  told(i: number, nowUs: number): void {
    if (!this.#toldUs.has(i)) this.#toldUs.set(i, nowUs)
  }

  get story(): Story {
    const members = this.#members
    // Those who share the limit: all that are told so, or that have counted each other.
    const isOne = (_: unknown, i: number): boolean =>
      this.#options.counted ? members[i]?.isCounted === true : i < this.#options.processes
    const all = Array.from(
      { length: Math.max(members.length, this.#options.processes) },
      (_, i) => i,
    )
    const ranks = all.filter(isOne)
    const isLost = (i: number): boolean => this.#unseen[i] !== undefined
    return {
      limit: this.limit,
      unseen: ranks.map((i) => this.#unseen[i]),
      left: ranks.map((i) => this.#left[i]),
      started: all.filter((i) => !ranks.includes(i) && isLost(i)).length,
      stopped: ranks.map((i) => members[i]?.isStopped === true),
      isApart: this.#isApart,
      areTold: this.#areTold,
      mayBeUnnoticed: this.#mayBeUnnoticed || this.#isStopped,
      isBeside: this.#isBeside,
      inFlight: this.#inFlightWhenAway,
      mostInFlight: this.#mostInFlight,
      inFlightSinceLoss: this.#inFlightSinceLoss,
      losses: this.#losses,
      behind: this.#behind,
      noticed: ranks.map((i) => members[i]?.hasNoticed === true || !isLost(i)),
      areRanked: !this.#options.counted,
      mayNotRestore:
        this.refunds + this.resets + this.#leased > 0 ||
        this.#plan.isAcrossSlots ||
        this.#options.kind === 'crowded',
      showsLoss: this.policy.kernel?.traits.isHeld !== true,
      offTwice: this.policy.kernel?.traits.isHeld === true ? this.#offTwice : 0,
      isChanged: this.#plan.live !== undefined,
      isShared: this.keys.length > 1,
      ownLimit: this.#options.ownLimit,
    }
  }

  /** When the first of the processes that lost Redis was back. */
  get #firstBackUs(): number {
    return Math.min(...this.#members.map(({ backUs = Number.POSITIVE_INFINITY }) => backUs))
  }

  /** Whether a process was back for so long before another one that it had no ceiling. */
  get #isApart(): boolean {
    const lastUs = this.#firstBackUs + TOGETHER_US
    return this.#members.some(({ hasNoticed, backUs, host: { world, isDead } }, i) => {
      const isAway = this.#unseen[i] !== undefined && hasNoticed && !isDead
      return isAway && (backUs ?? world.nowUs) > lastUs
    })
  }

  /** Whether each process that had seen the counter before Redis lost it told Redis of it while all
   *  processes had a ceiling. */
  get #areTold(): boolean {
    const lastUs = this.#firstBackUs + TOGETHER_US
    return this.#knewIt.every((i) => {
      const { world } = (this.#members[i] as Member).host
      return (this.#toldUs.get(i) ?? world.nowUs) <= lastUs
    })
  }

  /** The units in use that a process has not seen: all of them if it has never seen the counter. */
  #unseenBy(i: number): number {
    // What was seen before a reset does not matter; nor, much, what was seen of a bucket that
    // refills.
    if (this.resets > 0 || this.flows) return this.limit
    // A process that overestimates what is used still grants no more than its part of the limit.
    const taken = this.passed + this.charged + this.#inFlight + this.#leased
    const used = Math.min(this.limit, taken)
    return Math.max(0, used - this.#seenBy(i))
  }

  /** Units in use that a process has seen. */
  #seenBy(i: number): number {
    if (this.resets > 0 || this.flows) return 0
    // What was seen under an earlier limit is not taken into account.
    if (this.#plan.live !== undefined) return 0
    const { seen } = this.#members[i] as Member
    return Math.min(...this.keys.map((key) => seen.get(key)?.[this.place] ?? 0))
  }
}

/** The counters of each key, in the order of the policies. */
export function countersOf(
  options: StoryOptions,
  plan: Plan,
  members: readonly Member[],
): ReadonlyMap<string, readonly Counter[]> {
  const { keys, policies, policyKeys, leases } = plan
  // See docs/scaling.md: at most a tenth of the smallest limit is leased, and as much again before
  // that is spent.
  const tenth = Math.floor(Math.min(...policies.map(({ limit }) => limit)) / 10)
  const leased = leases === undefined ? 0 : 2 * members.length * Math.min(leases.units, tenth)
  const made = (place: number, who: string, of: readonly string[]): Counter => {
    const policy = policies[place] as Policy
    return new Counter({ who, policy, place, keys: of, members, options, plan, leased })
  }
  const ofAll = policyKeys.map((who, place) => (who === undefined ? who : made(place, who, keys)))
  return new Map(keys.map((key) => [key, policies.map((_, i) => ofAll[i] ?? made(i, key, [key]))]))
}
