// What a limiter counts: plain numbers in arrays that are made once, so that counting a decision
// allocates nothing and looks up only its class, if it has one. stats.ts reads them.

import { traitsOf } from '../algorithms/modes.js'
import type { Policy } from '../algorithms/policy.js'
import { crossingChannel, waitChannel } from '../base/channels.js'
import { Histogram } from '../base/histogram.js'
import { notify } from '../base/warnings.js'
import type { Crossing } from '../crossings.js'
import type { PolicyResult, PolicySet, StoreRequest, StoreResult } from '../store.js'

/** What decisions of one row have in common. */
export interface Row {
  readonly outcome: 'allowed' | 'denied' | 'error'
  readonly source: 'store' | 'cache' | 'lease' | 'local' | 'none'
  readonly degraded: boolean
}

/** The rows in which decisions are counted. */
export const ROWS: readonly Row[] = Object.freeze([
  { outcome: 'allowed', source: 'store', degraded: false },
  { outcome: 'allowed', source: 'lease', degraded: false },
  { outcome: 'allowed', source: 'local', degraded: true },
  { outcome: 'denied', source: 'store', degraded: false },
  { outcome: 'denied', source: 'cache', degraded: false },
  { outcome: 'denied', source: 'local', degraded: true },
  { outcome: 'allowed', source: 'none', degraded: false },
  { outcome: 'allowed', source: 'none', degraded: true },
  { outcome: 'error', source: 'none', degraded: true },
])

/** The rows of decisions that no store makes. */
const ALLOWED_LOCALLY = 2
const DENIED_LOCALLY = 5
export const UNLIMITED = 6
export const SWITCHED_OFF = 7
export const FAILED = 8

/** What is counted of a policy: units, and decisions that it binds. */
export const TAKEN = 0
export const REFUNDED = 1
export const PENALTY = 2
export const DENIED_UNITS = 3
export const NEAR_LIMIT = 4
/** The first cell for denials, one for each reason. */
export const DENIALS = 5
export const REASONS = [
  'limit',
  'cost-exceeds-limit',
  'store-unavailable',
  'policy-failed',
  'blocked',
] as const
type DenialReason = (typeof REASONS)[number]
/** A number, so that bundlers see that what adds to it has no side effects. */
const REASON_COUNT: (typeof REASONS)['length'] = 5
/** The first cell for blocks begun, one for each level; the last one counts its level and all
 *  above. */
export const BLOCKS: number = DENIALS + REASON_COUNT
export const LEVELS = 8
/** Slots that are held here now, and those that expired before they were released or renewed. */
export const SLOTS_HELD: number = BLOCKS + LEVELS
export const SLOTS_EXPIRED: number = SLOTS_HELD + 1
const CELLS: number = SLOTS_EXPIRED + 1

/** What is counted of a class. */
const CLASS_ALLOWED = 0
const CLASS_DENIED = 1
const CLASS_FAILED = 2
export const CLASS_OUTCOMES = ['allowed', 'denied', 'error'] as const

/** Where the decisions of a policy set are counted. */
interface SetCounters extends Pick<LimiterCounters, 'decisions' | 'classes'> {
  /** The cells of each policy, in the set's order. */
  readonly policies: readonly Float64Array[]
  /** One of them may begin a block. */
  readonly hasBlocks: boolean
}

/** What is counted of one policy of a limiter. */
export interface PolicyCounters {
  /** Of several policies with this name, such as tiers, the one that was asked for last. */
  policy: Policy
  readonly cells: Float64Array
  /** How often each share of `notifyAt` was crossed. */
  readonly crossings: Map<number, number>
}

/** The current state of a policy that follows the load. */
export interface AdaptiveState {
  readonly policy: Policy
  readonly factor: number
}

/** Requests that a limiter of HTTP requests let pass, or refused, without a decision. */
export type UndecidedCounters = LimiterCounters['undecided']

/** How many policies are told apart. Functions may make names, so there could be any number. */
const MAX_POLICIES = 200
/** How many shares of a policy's name are told apart. */
const MAX_SHARES = 20
/** The name under which all further policies are counted. */
export const OTHERS = '_other'

/** In seconds. */
const WAITS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** How long a `wait` took, as the channel `weir:wait` reports it. */
export interface Wait {
  /** Name of the limiter. */
  readonly limiter: string
  /** In whole ms. */
  readonly waitedMs: number
}

/** By limiter, for other parts of this package that count for it. */
export const countersOf: WeakMap<object, LimiterCounters> = new WeakMap()

export function countersOfLimiter(limiter: object): LimiterCounters {
  return countersOf.get(limiter) as LimiterCounters
}

/** All that one limiter counts. */
export class LimiterCounters {
  /** By the rows above. */
  readonly decisions: Float64Array = new Float64Array(ROWS.length)
  readonly policies: Map<string, PolicyCounters> = new Map()
  /** For each class, by name. Empty without `reserve`. */
  readonly classes: Map<string, Float64Array> = new Map()
  readonly waits: Histogram = new Histogram(WAITS)
  readonly undecided = { skip: 0, allowList: 0, denyList: 0, preflight: 0, noKey: 0 }
  /** Returns the current state of its policy, if that follows the load. */
  adaptive: (() => AdaptiveState) | undefined
  /** Its denials are not enforced. */
  isShadow = false
  /** The limiter's listener. */
  onCrossing: ((crossing: Crossing) => void) | undefined

  /** From now on, decisions of these classes are also counted by class. */
  addClasses(names: Iterable<string>): void {
    for (const name of names) this.classes.set(name, new Float64Array(CLASS_OUTCOMES.length))
  }

  /** The counters of a policy set. Called once for each set. */
  ofSet(policies: readonly Policy[]): SetCounters {
    const cells = policies.map((policy) => this.#ofPolicy(policy))
    const hasBlocks = policies.some(({ kernel }) => kernel?.traits.blocks)
    return { decisions: this.decisions, policies: cells, classes: this.classes, hasBlocks }
  }

  /** Counts a decision that no store was asked for. */
  count(row: number): void {
    add(this.decisions, row, 1)
  }

  /** Counts a decision for which the policies are not known. */
  countUnknown(policy: Policy, isAllowed: boolean): void {
    this.count(isAllowed ? ALLOWED_LOCALLY : DENIED_LOCALLY)
    if (!isAllowed) add(this.#ofPolicy(policy), DENIALS + REASONS.indexOf('policy-failed'), 1)
  }

  waited(limiter: string, waitedMs: number): void {
    this.waits.record(waitedMs)
    if (waitChannel.hasSubscribers) waitChannel.publish(Object.freeze<Wait>({ limiter, waitedMs }))
  }

  /** Counts a crossing, and reports it. A field, so that it can be passed on. */
  readonly crossed = (crossing: Crossing): void => {
    const { limiter, policy, share } = crossing
    const { crossings } = (this.policies.get(policy.name) ??
      this.policies.get(OTHERS)) as PolicyCounters
    if (crossings.has(share) || crossings.size < MAX_SHARES)
      crossings.set(share, (crossings.get(share) ?? 0) + 1)
    const { onCrossing } = this
    if (onCrossing !== undefined) notify('onCrossing', limiter, () => onCrossing(crossing))
    if (crossingChannel.hasSubscribers) crossingChannel.publish(crossing)
  }

  /** Notes the policies that hold now: of several with one name, the one that was asked for
   *  last. */
  inForce(policies: readonly Policy[]): void {
    for (const policy of policies) {
      const counters = this.policies.get(policy.name)
      if (counters !== undefined) counters.policy = policy
    }
  }

  #ofPolicy(policy: Policy): Float64Array {
    const isKnown = this.policies.has(policy.name)
    const name = isKnown || this.policies.size < MAX_POLICIES ? policy.name : OTHERS
    let counters = this.policies.get(name)
    if (counters === undefined) {
      counters = { policy, cells: new Float64Array(CELLS), crossings: new Map() }
      this.policies.set(name, counters)
    }
    return counters.cells
  }
}

/** A policy set of a limiter; other sets have no counters. */
type CountedSet = PolicySet & { readonly counters?: SetCounters | undefined }

type CountedRequest = StoreRequest & { readonly priority?: string | undefined }

/** @param place of the binding policy */
export function countDecision(
  request: CountedRequest,
  result: StoreResult,
  binding: PolicyResult,
  place: number,
  reason: DenialReason | undefined,
): void {
  const { mode, target, costs, priority } = request
  const { counters } = target.policySet as CountedSet
  if (counters === undefined) return
  if (counters.hasBlocks && mode !== 'peek') countBlocks(counters, result)
  if (mode !== 'consume') {
    const { takes, gives } = traitsOf(mode)
    if (takes) addAll(counters.policies, PENALTY, costs)
    else if (gives) addAll(counters.policies, REFUNDED, costs)
    return
  }
  const row = rowOf(result)
  const cells = counters.policies[place] as Float64Array
  const isAllowed = reason === undefined
  if (isAllowed) {
    add(counters.decisions, row, 1)
    addAll(counters.policies, TAKEN, costs)
    if (binding.remaining <= binding.limit * NEAR) add(cells, NEAR_LIMIT, 1)
  } else {
    add(counters.decisions, row + 3, 1)
    add(cells, DENIED_UNITS, binding.cost)
    // A search takes a thirtieth of a denial in memory, so the most common reason needs none.
    add(cells, DENIALS + (reason === 'limit' ? 0 : REASONS.indexOf(reason)), 1)
  }
  if (priority !== undefined)
    countOfClass(counters, priority, isAllowed ? CLASS_ALLOWED : CLASS_DENIED)
}

/** Counts the blocks that a request has begun. */
function countBlocks({ policies }: SetCounters, result: StoreResult): void {
  result.policies.forEach(({ block }, i) => {
    if (!block?.hasBegun) return
    add(policies[i] as Float64Array, BLOCKS + Math.min(block.level, LEVELS) - 1, 1)
  })
}

/** The place in ROWS of what a store allows; a denial is counted three places further. */
function rowOf({ source, degraded }: StoreResult): number {
  if (degraded || source === 'local') return 2
  return source === 'cache' || source === 'lease' ? 1 : 0
}

function addAll(all: readonly Float64Array[], place: number, units: readonly number[]): void {
  for (let i = 0; i < units.length; i += 1) add(all[i] as Float64Array, place, units[i] as number)
}

/** A policy is near its limit with at most this share of it left. */
const NEAR = 0.2

function add(counters: Float64Array, place: number, units: number): void {
  counters[place] = (counters[place] as number) + units
}

function countOfClass({ classes }: SetCounters, priority: string, place: number): void {
  const cells = classes.get(priority)
  if (cells !== undefined) add(cells, place, 1)
}

/** Counts a failure: the store could not decide, and nothing decided instead. */
export function countFailure({ target, priority }: CountedRequest): void {
  const { counters } = target.policySet as CountedSet
  if (counters === undefined) return
  add(counters.decisions, FAILED, 1)
  if (priority !== undefined) countOfClass(counters, priority, CLASS_FAILED)
}

/** Adds the number of a request's slots, times `times`, to the cell at `place`. */
export function countSlots(
  { target, costs }: Pick<StoreRequest, 'target' | 'costs'>,
  place: typeof SLOTS_HELD | typeof SLOTS_EXPIRED,
  times: number,
): void {
  const { counters } = target.policySet as CountedSet
  target.policySet.policies.forEach(({ kernel }, i) => {
    const cells = counters?.policies[i]
    if (kernel?.traits.isHeld && cells !== undefined)
      add(cells, place, times * (costs[i] as number))
  })
}

/** Counts the units by which a decision's charge grew or, below 0, shrank. */
export function countCorrection(
  { target }: StoreRequest,
  costs: readonly number[],
  result: StoreResult,
): void {
  const { counters } = target.policySet as CountedSet
  if (counters?.hasBlocks) countBlocks(counters, result)
  counters?.policies.forEach((cells, i) => {
    const units = costs[i] as number
    add(cells, units > 0 ? TAKEN : REFUNDED, Math.abs(units))
  })
}
