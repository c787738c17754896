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

/** Where counters live, and where decisions are made: see docs/write-a-store.md. */
export interface Store {
  /**
   * Decides a request atomically: all its policies allow it and all are charged, or none is.
   * Answers at once where it can.
   * @throws {StoreError} (or rejects) if it cannot decide
   */
  decide(request: StoreRequest): StoreResult | Promise<StoreResult>
  /** Forgets what was taken. */
  reset(target: Target): void | Promise<void>
  /** Ends timers and whatever else it holds open. Default: there is nothing to end. */
  close?(): void | Promise<void>
  /** True: counters live in this process, so other processes have other counters. Default false. */
  readonly local?: boolean
  /**
   * True: `decide` knows the modes `reconcile` and `restore`, so that `resilient` can count what
   * was admitted without the store, and restore what the store has lost. Default false.
   */
  readonly recovers?: boolean
  /**
   * True: `decide` reserves turns of a bucket (`maxWaitMs`), and knows the mode `cancel`. Otherwise
   * a waiting request asks again and again. Default false.
   */
  readonly reserves?: boolean
  /**
   * True: `decide` itself does what `whenUnavailable` says where it cannot decide, or always can
   * decide. Default false: a limiter with a `whenUnavailable` is refused.
   */
  readonly resilient?: boolean
  /** Settings that its processes share, which `livePolicies` needs. Default: it has none. */
  readonly settings?: Settings | undefined
  /** What the store has counted, for metrics; sends nothing to a server. Default: none. */
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
 * store may keep what it derives from a set in a WeakMap.
 */
export interface PolicySet {
  /** Name of the limiter: same name on one store, same counters. */
  readonly name: string
  /** At least one; names are unique; none is unlimited. */
  readonly policies: readonly Policy[]
  /** For each policy, what to do when the store cannot decide; undefined: the store's default. */
  readonly whenUnavailable?: readonly (WhenUnavailable | undefined)[] | undefined
}

/**
 * When the store cannot decide:
 * - `local`: decide in this process, with its local quota, starting from what was last seen of the
 *   key
 * - `allow`: decide as if the policy were not there
 * - `deny`: refuse, with reason `store-unavailable`
 * - `throw`: throw a StoreError
 * - a policy: decide by that policy, in each process for itself, starting with nothing taken: see
 *   docs/resilience.md
 */
export type WhenUnavailable = 'local' | 'allow' | 'deny' | 'throw' | Policy

/** Whose counters a request is about. */
export interface Target {
  /** The policies to decide by, and the name of their limiter. */
  readonly policySet: PolicySet
  /** Who is limited. A key from a limiter has 1 to 256 characters, as longer ones are hashed. */
  readonly key: string
  /** Who is limited by each policy that has a policy key, by the policy's place in the set. */
  readonly policyKeys?: readonly (PolicyKey | undefined)[] | undefined
}

/** The key of a policy that does not limit the decision's key. */
export interface PolicyKey {
  /** Who is limited. It has 1 to 256 characters, like a target's key. */
  readonly key: string
  /** Keys with equal tags lie on one node of a Redis Cluster and can be decided together. */
  readonly tag: string
}

/**
 * What a store is asked to decide at once. Each mode has its own fields. Later versions may have
 * more modes: throw for one that you do not know.
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
  /** Whose counters a request is about. */
  readonly target: Target
  /**
   * Units for each policy of the set. Whole numbers, 0 or more. In a `settle` they may be below 0:
   * these units are given back.
   */
  readonly costs: readonly number[]
  /**
   * How many equal requests, each with these costs, this one stands for: as many are granted as
   * fit. More than 1 for `consumeUpTo`, and for requests that wait together.
   */
  readonly count: number
  /**
   * By when the request must be decided, in ms of `performance.now()`. Undefined: the store has a
   * deadline of its own, or none.
   */
  readonly deadlineAtMs?: number | undefined
}

/**
 * Fields that requests of some modes have: `consume` and `peek` have `atLeast`, `maxWaitMs` and
 * `keep`; `refund`, `cancel`, `settle`, `restore`, `release` and `renew` have `untilUs` and
 * `seenUs`, `restore` also has `lossUs`, `settle` also has `charged`; `reconcile` has `untilUs`.
 */
export interface StoreRequestFields {
  /**
   * Grant nothing unless at least this many of `count` fit. With `maxWaitMs` it is always given.
   */
  readonly atLeast?: number | undefined
  /**
   * How long, in whole ms, the caller waits for its turn. Where the set is one bucket, units that
   * come within that time are granted. The turn is at `untilUs` minus the bucket's `windowMs`, plus
   * the time in which the units that must remain (`keep`) come back. Other sets ignore this field.
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Units that must remain, for each policy; a policy with a cost of 0 ignores them. The result's
   * `remaining` and `retryAfterMs` are those of a request that must leave these units.
   */
  readonly keep?: readonly number[] | undefined
  /** To settle: for each policy, what was charged. Undefined: only the difference is known. */
  readonly charged?: readonly number[] | undefined
  /**
   * For each policy, until when the units count, in us of the store's clock: `untilUs` of the
   * result that charged them. Undefined: it is not known which charge it was; reconciled units then
   * count for as long as they can.
   */
  readonly untilUs?: readonly number[] | undefined
  /**
   * When the units were charged, in us of the store's clock: `nowUs` of that result. To restore,
   * when they were seen.
   */
  readonly seenUs?: number | undefined
  /**
   * To restore: since when something may be lost, in us of the store's clock. Units that others
   * have restored since then are not restored again. Undefined: nobody has.
   */
  readonly lossUs?: number | undefined
}

/** A store's answer. */
export interface StoreResult {
  /**
   * How many of `count` were granted; 0 is a denial. For a refund, a penalty and the like, all of
   * them; for a restoration 1 if something had been lost, otherwise 0; for a renewal 1, or 0 where
   * the key was forgotten since the slots were taken.
   */
  readonly granted: number
  /** The store's clock when it decided, in whole us since the Unix epoch. */
  readonly nowUs: number
  /** For each policy, until when (in us of the store's clock) the charge counts. */
  readonly untilUs: readonly number[]
  /** One result for each policy of the set, in the set's order, as it is after all grants. */
  readonly policies: readonly PolicyResult[]
  /** What decided:
   *  - `store`: the store, when it was asked. A store without layers always says this.
   *  - `cache`: a denial by the store less than a second ago, which still holds
   *  - `lease`: units that were taken in the store ahead of the request
   *  - `local`: this process, as the store could not be asked; such a result is `degraded` */
  readonly source: 'store' | 'cache' | 'lease' | 'local'
  /** True: the store was not asked because it could not be. */
  readonly degraded: boolean
  /** If the request was denied because the store cannot decide: ms until it may help to ask
   *  again. */
  readonly unavailableMs?: number | undefined
  /** When the store was asked, in ms of the clock of `deadlineAtMs`, where that is known. */
  readonly sentAtMs?: number | undefined
}

/** What one policy of a decision says. */
export interface PolicyResult {
  /** The policy. */
  readonly policy: Policy
  /** Units that the request took, or would have taken, from this policy. */
  readonly cost: number
  /** The policy's limit: a window's limit, or a bucket's capacity. */
  readonly limit: number
  /** Units that could still be taken at the moment of the decision. */
  readonly remaining: number
  /**
   * Where the request was denied because `remaining` is below `cost`: ms until this cost fits
   * (`Infinity`: never). Otherwise, where nothing remains: ms until a unit is available. Otherwise
   * 0.
   */
  readonly retryAfterMs: number
  /** Ms until the policy has forgotten all units taken. */
  readonly resetAfterMs: number
  /** For a lock-out, its level and whether it blocks. Undefined for other policies. */
  readonly block?: BlockState | undefined
  /** The shares of the policy's `notifyAt` that this request has carried usage over, the least one
   *  first. Undefined: none. */
  readonly crossed?: readonly number[] | undefined
}
