// The contract of a store: where state lives, and where a decision is made atomically. Authors of
// stores import it from `@weir/core/store` (entries/store.ts); `storeConformance` of
// @weir/core/testing checks a store against it.

import type { BlockState } from './algorithms/block-code.js'
import type { Mode } from './algorithms/modes.js'
import type { Policy } from './algorithms/policy.js'
import type { HistogramStats } from './base/histogram.js'
import type { Settings } from './settings.js'

export type { BlockState } from './algorithms/block-code.js'
export type { Mode } from './algorithms/modes.js'
export type * from './settings.js'

/** Where counters live and decisions are made: see docs/write-a-store.md. */
export interface Store {
  /**
   * Decides a request atomically: all its policies allow it and all are charged, or none is.
   *
   * @throws {StoreError} (or rejects) if it cannot decide
   */
  decide(request: StoreRequest): StoreResult | Promise<StoreResult>
  /** Forgets what was taken. */
  reset(target: Target): void | Promise<void>
  /** Ends timers and whatever else it holds open. */
  close?(): void | Promise<void>
  /** True: counters live in this process alone. Default false. */
  readonly local?: boolean
  /**
   * True: `decide` knows the modes `reconcile` and `restore`, which `resilient` needs to count what
   * was admitted without the store, and to restore what was lost. Default false.
   */
  readonly recovers?: boolean
  /**
   * True: `decide` reserves turns of a bucket (`maxWaitMs`), and knows the mode `cancel`. Default
   * false: a waiting request asks again and again.
   */
  readonly reserves?: boolean
  /**
   * True: `decide` does what `whenUnavailable` says, or can always decide. Default false: a limiter
   * with a `whenUnavailable` is refused.
   */
  readonly resilient?: boolean
  /** Settings that its processes share, for `livePolicies`. */
  readonly settings?: Settings | undefined
  /** What the store has counted, for metrics; sends nothing to a server. */
  stats?(): StoreStats
}

/** What a store has counted since it was made, in this process: `store.stats()`. */
export interface StoreStats {
  /** Where the store keeps its counters: `redis`, `memory`, or `store` for a user's own store. */
  readonly kind: string
  /** The servers behind the store; a memory store has none. */
  readonly nodes: readonly NodeStats[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys under which units were admitted locally that are yet to be counted in the store; each
   *  policy's keys are counted separately. */
  readonly unreconciled: number
  /** What the store does when it cannot decide, unless a limiter or a policy says otherwise;
   *  `policy`: it decides by a policy of its own. Undefined: it fails. */
  readonly whenUnavailable?: 'local' | 'allow' | 'deny' | 'throw' | 'policy' | undefined
  /** How often each of the store's events has happened. */
  readonly events: Readonly<Record<string, number>>
  /** What the store keeps in this process; undefined: nothing. */
  readonly memory?: MemoryStats | undefined
}

/** The calls to one server. */
export interface NodeStats {
  /** What the store calls it. */
  readonly node: string
  /** The state of the server's circuit breaker. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** Since when that has not been `closed`, in ms since the Unix epoch. Undefined: it is. */
  readonly awaySinceMs?: number | undefined
  /** Calls that wait for the server's answer. */
  readonly inFlight: number
  /**
   * Calls, by how they ended. `timeout`: later than a decision's deadline, however the call ended.
   * `notSent` counts requests: there was no connection, or too many calls waited.
   */
  readonly calls: {
    readonly ok: number
    readonly timeout: number
    readonly error: number
    readonly notSent: number
  }
  /** How long calls took. */
  readonly durations: HistogramStats
}

/** What a store keeps in this process. */
export interface MemoryStats {
  /** Keys that are kept. */
  readonly keys: number
  /** Bytes of the tables that hold them, without the texts of keys. */
  readonly bytes: number
  /** Keys that were forgotten before their time, because there were `maxKeys`. */
  readonly evictions: number
}

/**
 * The policies of a decision under one limiter's name. Equal sets are one object per limiter, so a
 * WeakMap may keep what a store derives from one.
 */
export interface PolicySet {
  /** The limiter's name: same name on one store, same counters. */
  readonly name: string
  /** At least one; names are unique; none is unlimited. */
  readonly policies: readonly Policy[]
  /** For each policy, what to do when the store cannot decide; undefined: the store's default. */
  readonly whenUnavailable?: readonly (WhenUnavailable | undefined)[] | undefined
}

/**
 * What to do when the store cannot decide: `'local'`, decide in this process, with its local quota,
 * from what was last seen of the key; `'allow'`, as if the policy were not there; `'deny'`, with
 * reason `store-unavailable`; `'throw'`, a StoreError; or a policy, which each process decides by
 * for itself, from nothing. See docs/resilience.md.
 */
export type WhenUnavailable = 'local' | 'allow' | 'deny' | 'throw' | Policy

/** Whose counters a request is about. */
export interface Target {
  /** The policies to decide by. */
  readonly policySet: PolicySet
  /** Who is limited, in 1 to 256 characters: longer keys are hashed. */
  readonly key: string
  /** Who is limited by each policy that has a policy key, by its place in the set. */
  readonly policyKeys?: readonly (PolicyKey | undefined)[] | undefined
}

/** The key of a policy that does not limit the decision's key. */
export interface PolicyKey {
  /** Who is limited, in 1 to 256 characters. */
  readonly key: string
  /** Keys with equal tags lie on one node of a Redis Cluster and can be decided together. */
  readonly tag: string
}

/**
 * What a store is asked to decide: its `target` says for whom and by which policies, `costs` what
 * it takes of each. The types explain these, the fields of each mode, and those of a `StoreResult`.
 * Later versions may have more modes: throw for one that you do not know.
 */
export type StoreRequest =
  | ConsumeRequest
  | PenaltyRequest
  | RefundRequest
  | SettleRequest
  | ReconcileRequest
  | RestoreRequest
  | BlockRequest
  | SlotRequest

/** Takes units where all policies allow it, or (`peek`) says what that would answer. */
export type ConsumeRequest = RequestOf<'consume' | 'peek', 'atLeast' | 'maxWaitMs' | 'keep'>

/** Takes units, past the limit if need be. */
export type PenaltyRequest = RequestOf<'penalty', never>

/** Gives units back, or cancels a reservation. */
export type RefundRequest = RequestOf<'refund' | 'cancel', 'untilUs' | 'seenUs'>

/** Settles a charge. The costs are what was used less what was charged. */
export type SettleRequest = RequestOf<'settle', 'charged' | 'untilUs' | 'seenUs'>

/** Takes units that were taken elsewhere, as far as they still count. */
export type ReconcileRequest = RequestOf<'reconcile', 'untilUs'>

/** Restores what was seen before the store lost it. The costs are the units seen in use. */
export type RestoreRequest = RequestOf<'restore', 'untilUs' | 'seenUs' | 'lossUs'>

/** Begins or ends blocks of the lock-outs among the policies. To block, a lock-out's cost is the
 *  block's length in ms; to unblock, it is any number above 0. The costs of other policies are
 *  0. */
export type BlockRequest = RequestOf<'block' | 'unblock', never>

/** Gives back slots whose work has ended, or renews slots. Costs of policies without slots are
 *  0. */
export type SlotRequest = RequestOf<'release' | 'renew', 'untilUs' | 'seenUs'>

/** A request that may have these fields; those of other modes are undefined. */
type RequestOf<RequestMode extends Mode, Own extends keyof StoreRequestFields> = StoreRequestBase &
  Pick<StoreRequestFields, Own> & {
    readonly [Other in Exclude<keyof StoreRequestFields, Own>]?: undefined
  } & { readonly mode: RequestMode }

/** What all requests have. */
export interface StoreRequestBase {
  /** Whose counters it is about. */
  readonly target: Target
  /**
   * Units for each policy of the set: whole numbers, below 0 only in a `settle`, which gives these
   * units back.
   */
  readonly costs: readonly number[]
  /**
   * How many equal requests this one stands for, each with these costs: as many are granted as fit.
   * More than 1 for `consumeUpTo`, and for requests that wait together.
   */
  readonly count: number
  /**
   * By when it must be decided, in ms of `performance.now()`. Undefined: the store has a deadline
   * of its own, or none.
   */
  readonly deadlineAtMs?: number | undefined
}

/**
 * Fields of some modes: `consume` and `peek` have `atLeast`, `maxWaitMs` and `keep`; `refund`,
 * `cancel`, `settle`, `restore`, `release` and `renew` have `untilUs` and `seenUs`, `restore` also
 * `lossUs`, `settle` also `charged`; `reconcile` has `untilUs`. Times are in us of the store's
 * clock.
 */
export interface StoreRequestFields {
  /** Grant nothing unless at least this many of `count` fit. Always given with `maxWaitMs`. */
  readonly atLeast?: number | undefined
  /**
   * How long, in whole ms, the caller waits for its turn. Where the set is one bucket, units that
   * come within that time are granted; other sets ignore it. The turn is at `untilUs` minus the
   * bucket's `windowMs`, plus the time in which `keep` comes back.
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Units that must remain, for each policy; a policy with a cost of 0 ignores them. The result's
   * `remaining` and `retryAfterMs` leave them out.
   */
  readonly keep?: readonly number[] | undefined
  /** What was charged for each policy. Undefined: only the difference is known. */
  readonly charged?: readonly number[] | undefined
  /**
   * Until when the units of each policy count: `untilUs` of the result that charged them.
   * Undefined: it is not known which charge it was; reconciled units then count for as long as they
   * can.
   */
  readonly untilUs?: readonly number[] | undefined
  /** When the units were charged: `nowUs` of that result. To restore: when they were seen. */
  readonly seenUs?: number | undefined
  /**
   * Since when something may be lost. Units that others have restored since then are not restored
   * again. Undefined: nobody has.
   */
  readonly lossUs?: number | undefined
}

/** A store's answer. */
export interface StoreResult {
  /**
   * How many of `count` were granted; 0 is a denial. For a refund, a penalty and the like, all; for
   * a restoration 1 if something had been lost; for a renewal 1, or 0 where the key was forgotten
   * since.
   */
  readonly granted: number
  /** The store's clock when it decided, in whole us since the Unix epoch. */
  readonly nowUs: number
  /** Until when the charge of each policy counts, in us of the store's clock. `Infinity`: an
   *  estimate that is not held, but spent; 0: nothing is counted. */
  readonly untilUs: readonly number[]
  /** The result of each policy of the set, in its order, after all grants. */
  readonly policies: readonly PolicyResult[]
  /** What decided, as in a decision. A store without layers always says `store`. */
  readonly source: 'store' | 'cache' | 'lease' | 'local'
  /** True: the store was not asked because it could not be. */
  readonly degraded: boolean
  /** Where the store cannot decide: ms until it may help to ask again. */
  readonly unavailableMs?: number | undefined
  /** When the store was asked, in ms of the clock of `deadlineAtMs`, if known. */
  readonly sentAtMs?: number | undefined
}

/** What one policy of a decision says. */
export interface PolicyResult {
  /** The policy. */
  readonly policy: Policy
  /** Units that the request took, or would have taken. */
  readonly cost: number
  /** A window's limit, or a bucket's capacity. */
  readonly limit: number
  /** Units that could still be taken. */
  readonly remaining: number
  /**
   * Where `remaining` is below `cost`: ms until this cost fits (`Infinity`: never). Where nothing
   * remains: ms until a unit is available. Otherwise 0.
   */
  readonly retryAfterMs: number
  /** Ms until the policy has forgotten all units taken. */
  readonly resetAfterMs: number
  /** A lock-out's level, and whether it blocks. */
  readonly block?: BlockState | undefined
  /** The shares of its `notifyAt` that this request has carried usage over, the least one first.
   *  Undefined: none. */
  readonly crossed?: readonly number[] | undefined
}
