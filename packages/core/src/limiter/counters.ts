// What a limiter counts: plain numbers in arrays that are made once, so that counting a decision
// allocates nothing and looks nothing up. counting.ts counts; stats.ts reads.

import type { Policy } from '../algorithms/policy.js'
import { waitChannel } from '../base/channels.js'
import { Histogram } from '../base/histogram.js'

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

/** The rows of what no store decides. */
const ALLOWED_LOCALLY = 2
const DENIED_LOCALLY = 5
export const UNLIMITED = 6
export const SWITCHED_OFF = 7
export const FAILED = 8

/** Why a decision was denied. */
type DenialReason = 'limit' | 'cost-exceeds-limit' | 'store-unavailable' | 'policy-failed'

/** What is counted of a policy: units, and decisions that it binds. */
export const TAKEN = 0
export const REFUNDED = 1
export const PENALTY = 2
export const DENIED_UNITS = 3
export const NEAR_LIMIT = 4
/** From here on denials, by reason. */
export const DENIALS = 5
export const REASONS: readonly DenialReason[] = Object.freeze([
  'limit',
  'cost-exceeds-limit',
  'store-unavailable',
  'policy-failed',
])
const CELLS: number = DENIALS + REASONS.length

/** What is counted of a class. */
export const CLASS_ALLOWED = 0
export const CLASS_DENIED = 1
export const CLASS_FAILED = 2
export const CLASS_OUTCOMES: readonly Row['outcome'][] = Object.freeze([
  'allowed',
  'denied',
  'error',
])

/** Where the decisions of a policy set are counted. */
export interface SetCounters {
  readonly decisions: Float64Array
  /** Of each policy of the set, in its order. */
  readonly policies: readonly Float64Array[]
  /** Of each class, by its name. None where there is no `reserve`. */
  readonly classes: ReadonlyMap<string, Float64Array>
}

/** What is counted of one policy of a limiter. */
export interface PolicyCounters {
  /** Of several that have the name, such as tiers, the one that was asked for last. */
  policy: Policy
  readonly cells: Float64Array
}

/** How a policy is that follows the load. */
export interface AdaptiveState {
  readonly policy: Policy
  readonly factor: number
}

/** Requests that a limiter of HTTP requests let pass, or refused, without a decision. */
export interface UndecidedCounters {
  skip: number
  allowList: number
  denyList: number
  preflight: number
  noKey: number
}

/** Policies that are told apart. Names may be made by functions, so there could be any number. */
const MAX_POLICIES = 200
/** What the others are counted under. */
export const OTHERS = '_other'

/** In seconds. */
const WAITS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** How long a `wait` took, as channel `weir:wait` says it. */
export interface Wait {
  /** Name of the limiter. */
  readonly limiter: string
  /** In whole ms. */
  readonly waitedMs: number
}

const countersOf: WeakMap<object, LimiterCounters> = new WeakMap()

/** For others in this package who count for a limiter. */
export function noteCounters(limiter: object, counters: LimiterCounters): void {
  countersOf.set(limiter, counters)
}

export function countersOfLimiter(limiter: object): LimiterCounters {
  return countersOf.get(limiter) as LimiterCounters
}

/** All that one limiter counts. */
export class LimiterCounters {
  /** By the rows above. */
  readonly decisions: Float64Array = new Float64Array(ROWS.length)
  readonly policies: Map<string, PolicyCounters> = new Map()
  readonly classes: Map<string, Float64Array> = new Map()
  readonly waits: Histogram = new Histogram(WAITS)
  readonly undecided: UndecidedCounters = {
    skip: 0,
    allowList: 0,
    denyList: 0,
    preflight: 0,
    noKey: 0,
  }
  /** Says how its policy is now, where that follows the load. */
  adaptive: (() => AdaptiveState) | undefined
  /** Its denials are not enforced. */
  isShadow = false

  /** From now on decisions of these classes are counted apart, too. */
  addClasses(names: Iterable<string>): void {
    for (const name of names) this.classes.set(name, new Float64Array(CLASS_OUTCOMES.length))
  }

  /** The counters of a policy set, for which they are asked once. */
  ofSet(policies: readonly Policy[]): SetCounters {
    const cells = policies.map((policy) => this.#ofPolicy(policy))
    return { decisions: this.decisions, policies: cells, classes: this.classes }
  }

  /** No store was asked. */
  count(row: number): void {
    this.decisions[row] = (this.decisions[row] as number) + 1
  }

  /** Nothing said what limits. */
  countUnknown(policy: Policy, isAllowed: boolean): void {
    this.count(isAllowed ? ALLOWED_LOCALLY : DENIED_LOCALLY)
    if (isAllowed) return
    const cells = this.#ofPolicy(policy)
    const place = DENIALS + REASONS.indexOf('policy-failed')
    cells[place] = (cells[place] as number) + 1
  }

  waited(limiter: string, waitedMs: number): void {
    this.waits.record(waitedMs)
    if (!waitChannel.hasSubscribers) return
    const wait: Wait = { limiter, waitedMs }
    waitChannel.publish(Object.freeze(wait))
  }

  /** These hold now: of several policies of one name, each that is asked for in its turn. */
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
      counters = { policy, cells: new Float64Array(CELLS) }
      this.policies.set(name, counters)
    }
    return counters.cells
  }
}
