// The contract of a store: where state lives, and where a decision is made atomically. Those who
// write one import it from `@weir/core/store` (database/index.ts); `storeConformance` of
// @weir/core/testing checks a store against it.

import type { BlockState } from './algorithms/block-code.js'
import type { Mode } from './algorithms/modes.js'
import type { Policy } from './algorithms/policy.js'
import type { HistogramStats } from './base/histogram.js'
import type { Settings } from './settings.js'

export type { BlockState } from './algorithms/block-code.js'
export type { Mode } from './algorithms/modes.js'
export type * from './settings.js'

/** Where counters live, and where decisions are made: see docs/recipes/write-a-store.md. */
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
  /** True: counters live in this process, so that other processes have others. Default false. */
  readonly local?: boolean
  /**
   * True: `decide` knows the modes `reconcile` and `restore`, so that `resilient` can count what
   * was admitted without the store, and give back to it what it has lost. Default false.
   */
  readonly recovers?: boolean
  /**
   * True: `decide` reserves turns of a bucket (`maxWaitMs`), and knows the mode `cancel`. Else who
   * waits asks again and again, first come first served in each process. Default false.
   */
  readonly reserves?: boolean
  /**
   * True: `decide` itself does what `whenUnavailable` says where it cannot decide, as the stores of
   * `redisStore` and `resilient` do; or it always can, as a `memoryStore`. Default false: a limiter
   * with a `whenUnavailable` is refused, as it would have no effect.
   */
  readonly resilient?: boolean
  /** Settings that its processes share, which `livePolicies` needs. Default: it has none. */
  readonly settings?: Settings | undefined
  /** What it has counted, for metrics: asks nothing of a server. Default: none. */
  stats?(): StoreStats
}

/** What a store has counted since it was made, in this process: `store.stats()`. */
export interface StoreStats {
  /** What it keeps its counters in: `redis`, `memory`, or `store` for one of a user's. */
  readonly kind: string
  /** The servers behind it; none of a memory store. */
  readonly nodes: readonly NodeStats[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys under which something was admitted locally and is yet to be counted in the store; those
   *  of each policy are counted apart. */
  readonly unreconciled: number
  /** How often each of its events has happened. */
  readonly events: Readonly<Record<string, number>>
  /** What it keeps in this process; undefined: nothing. */
  readonly memory?: MemoryStats | undefined
}

/** The calls to one server. */
export interface NodeStats {
  /** What the store calls it. */
  readonly node: string
  /** Of its circuit breaker. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** Calls that wait for its answer. */
  readonly inFlight: number
  /**
   * Calls, by how they ended. `timeout`: later than the deadline of a decision, however it ended.
   * `notSent` are requests: there was no connection, or too many calls waited.
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
  /** Keys that were forgotten before their time, as there were `maxKeys`. */
  readonly evictions: number
}

/**
 * The policies of a decision under one limiter's name: what all decisions of a limiter have in
 * common. Equal sets are one object per limiter, so a store may keep what it derives from a set in
 * a WeakMap.
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
 * - `local`: in this process, with its local quota, starting from what was last seen of the
 *   key
 * - `allow`: as if the policy were not there
 * - `deny`: refuse, with reason `store-unavailable`
 * - `throw`: a StoreError
 * - a policy: by it, in each process for itself. It starts empty, and is not divided by the number
 *   of processes: together they admit at most that number times its limit. Decisions name the
 *   policy that it stands for, and what is admitted is counted under that one in the store
 *   afterwards.
 */
export type WhenUnavailable = 'local' | 'allow' | 'deny' | 'throw' | Policy

/** Whose counters. */
export interface Target {
  /** The policies to decide by, and the name of their limiter. */
  readonly policySet: PolicySet
  /** Who is limited. From a limiter, it has 1 to 256 characters: longer ones are hashed. */
  readonly key: string
  /** Who is limited by a policy that has its own key, by the policy's place in the set. */
  readonly policyKeys?: readonly (PolicyKey | undefined)[] | undefined
}

/** The key of a policy that does not limit the decision's key. */
export interface PolicyKey {
  /** Who is limited. As long as a target's key. */
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
  | ReconcileRequest
  | RestoreRequest
  | BlockRequest
  | SlotRequest

/** Takes units where all policies allow it, or (`peek`) says what that would answer. */
export type ConsumeRequest = RequestOf<'consume' | 'peek', 'atLeast' | 'maxWaitMs' | 'keep'>

/** Takes units, past the limit if need be. */
export type PenaltyRequest = RequestOf<'penalty', never>

/** Gives units back, cancels a reservation, or settles a charge. */
export type RefundRequest = RequestOf<'refund' | 'cancel' | 'settle', 'untilUs' | 'seenUs'>

/** Takes units that were taken elsewhere, as far as they still count. */
export type ReconcileRequest = RequestOf<'reconcile', 'untilUs'>

/** Restores what was seen before the store lost it. The costs are the units seen in use. */
export type RestoreRequest = RequestOf<'restore', 'untilUs' | 'seenUs'>

/** Blocks by the lock-outs among the policies, or ends their blocks. The costs of lock-outs are, to
 *  block, ms; to unblock, any above 0. Those of other policies are 0. */
export type BlockRequest = RequestOf<'block' | 'unblock', never>

/** Gives slots back whose work has ended, or takes them on. Costs of policies that have no slots
 *  are 0. */
export type SlotRequest = RequestOf<'release' | 'renew', 'untilUs' | 'seenUs'>

/** A request that may have these fields of some modes. The others are undefined. */
type RequestOf<RequestMode extends Mode, Own extends keyof StoreRequestFields> = StoreRequestBase &
  Pick<StoreRequestFields, Own> & {
    readonly [Other in Exclude<keyof StoreRequestFields, Own>]?: undefined
  } & { readonly mode: RequestMode }

/** What all requests have. */
export interface StoreRequestBase {
  /** Whose counters. */
  readonly target: Target
  /**
   * Units for each policy of the set. Whole, and 0 or more; only to settle, those below 0 are given
   * back.
   */
  readonly costs: readonly number[]
  /**
   * How many equal requests this one stands for, each of these costs: as many are granted as fit.
   * Limiters ask for 1.
   */
  readonly count: number
  /**
   * By when it must be decided, in ms of the process's monotonic clock (`performance.now()`).
   * Undefined: the store has a deadline of its own, or none.
   */
  readonly deadlineAtMs?: number | undefined
}

/**
 * What requests of some modes have: `consume` and `peek` have `atLeast`, `maxWaitMs` and `keep`;
 * `refund`, `cancel`, `settle`, `restore`, `release` and `renew` have `untilUs` and `seenUs`;
 * `reconcile` has `untilUs`.
 */
export interface StoreRequestFields {
  /**
   * Grant nothing unless at least this many of `count` fit. Where it is given, the store itself
   * decides, not a layer that remembers its answers. With `maxWaitMs` it is always given.
   */
  readonly atLeast?: number | undefined
  /**
   * How long, in whole ms, the caller waits for its turn. Where the set is one bucket, units that
   * come within that time are granted: the turn is `untilUs`, less the bucket's `windowMs`, and
   * later by what must remain (`keep`). Other sets ignore it.
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Units that must remain, for each policy; a policy with a cost of 0 ignores it. `remaining` and
   * `retryAfterMs` of the result are those of a request that must leave those.
   */
  readonly keep?: readonly number[] | undefined
  /**
   * For each policy, until when the units count, in us of the store's clock: `untilUs` of the
   * result that charged them. Undefined: it is not known which charge it was, and to reconcile, as
   * long as they could.
   */
  readonly untilUs?: readonly number[] | undefined
  /**
   * When the units were charged, in us of the store's clock: `nowUs` of that result. To restore,
   * when they were seen.
   */
  readonly seenUs?: number | undefined
}

/** What a store says. */
export interface StoreResult {
  /**
   * How many of `count` were granted; 0 is a denial. All of them for a refund, a penalty and the
   * like; for a restoration 1 if something had been lost, else 0; for a renewal 1, or 0 where the
   * key was forgotten since the slots were taken.
   */
  readonly granted: number
  /** The store's clock when it decided, in whole us since the Unix epoch. */
  readonly nowUs: number
  /** For each policy, until when (in us of the store's clock) what was charged counts. */
  readonly untilUs: readonly number[]
  /** One for each policy of the set, in its order, after all that was granted. */
  readonly policies: readonly PolicyResult[]
  /** What decided:
   *  - `store`: the store, when it was asked. A store without layers says nothing else.
   *  - `cache`: a denial by the store less than a second ago, which still holds
   *  - `lease`: units that were taken in the store ahead of the request
   *  - `local`: this process, as the store could not be asked; such a result is `degraded` */
  readonly source: 'store' | 'cache' | 'lease' | 'local'
  /** True: the store was not asked because it could not be. */
  readonly degraded: boolean
  /** Denied not by a policy but because the store cannot decide: ms until it may help to ask
   *  again. */
  readonly unavailableMs?: number | undefined
  /** When the store was asked, in ms of that clock (`deadlineAtMs`), where that is known. */
  readonly sentAtMs?: number | undefined
}

/** What one policy of a decision says. */
export interface PolicyResult {
  /** The policy. */
  readonly policy: Policy
  /** Units that the request took, or would have taken, of this policy. */
  readonly cost: number
  /** Its limit: of a window, or the capacity of a bucket. */
  readonly limit: number
  /** Units that could still be taken at the moment of the decision. */
  readonly remaining: number
  /**
   * Where the request was denied because `remaining` is below `cost`: ms until this cost fits.
   * Else, where nothing remains, also of a policy to which it costs 0: ms until a unit does. Else
   * 0. `Infinity`: never.
   */
  readonly retryAfterMs: number
  /** Ms until the policy has forgotten all that was taken. */
  readonly resetAfterMs: number
  /** Of a lock-out: its level, and whether it blocks. Of other policies undefined. */
  readonly block?: BlockState | undefined
}
