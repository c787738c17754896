// The options of a limiter and of its calls.

import type { Duration } from '../base/duration.js'
import type { Crossing } from '../crossings.js'
import type { PolicyInput } from '../policy-input.js'
import type { Store, WhenUnavailable } from '../store.js'
import type { Cost } from './costs.js'
import type { Decision } from './decision.js'

export interface RateLimiterOptions {
  /** The same name on one store: the same counters, in all processes. Default `'default'`. */
  readonly name?: string | undefined
  /** Where counters live. Default: a `memoryStore()` of its own. */
  readonly store?: Store | undefined
  /** What is allowed, or a function of the key (as text) that returns it. */
  readonly policy: PolicyInput | ((key: string) => PolicyInput | Promise<PolicyInput>)
  /**
   * What to do when the store cannot decide, for policies that do not say. Only on stores made by
   * `redisStore`, `resilient` and `memoryStore`. Default: the store's option.
   */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /**
   * What holds when the policy function fails for a key that it has never been asked about; for
   * others, its last answer holds. Default: calls throw WEIR_POLICY_FAILED.
   */
  readonly whenPolicyFails?: 'deny' | 'allow' | PolicyInput | undefined
  /**
   * Called with a copy of each decision of `consume`, `wait`, `consumeUpTo` and, as mode `'peek'`,
   * of `peek`. What it throws becomes a warning.
   */
  readonly onDecision?:
    | ((decision: Decision, key: string, mode: 'consume' | 'peek') => void)
    | undefined
  /**
   * Called once for each share of a policy's `notifyAt` that usage crosses: see docs/budgets.md.
   * What it throws becomes a warning.
   */
  readonly onCrossing?: ((crossing: Crossing) => void) | undefined
  /**
   * True: do not warn (WEIR_SHARED_NAME) that another limiter of this process has its name. Default
   * false.
   */
  readonly shared?: boolean | undefined
  /**
   * How many calls may wait in this process, from 0 to 1,000,000: `perKey` (default 1,000) of one
   * class under one key, `total` (default 10,000).
   */
  readonly maxWaiting?:
    | { readonly perKey?: number | undefined; readonly total?: number | undefined }
    | undefined
  /**
   * Classes of requests, by name, each with the fraction of every limit that it leaves to others,
   * from 0 to 1: see docs/priority.md. The class `'critical'` always exists, and leaves nothing
   * unless it is named here.
   */
  readonly reserve?: Readonly<Record<string, number>> | undefined
}

/** Options of one call of a limiter. */
export interface DecideOptions {
  /** Units of each policy, or by the names of policies: whole numbers from 0. 0 is always allowed.
   *  Default 1, also for a policy that is not named. */
  readonly cost?: Cost | undefined
  /** What is allowed, for this call only, or a function that returns it. */
  readonly policy?: PolicyInput | (() => PolicyInput | Promise<PolicyInput>) | undefined
  /**
   * The request's class, one of the limiter's `reserve` or `'critical'`, for calls that consume,
   * wait or peek. Default: no class, which leaves nothing.
   */
  readonly priority?: string | undefined
}

export interface WaitOptions extends DecideOptions {
  /** The longest wait; 0: be allowed at once, or denied. Default: as long as it takes or, for a
   *  turn of a bucket, its `maxWait`, which also cuts a longer timeout. */
  readonly timeout?: Duration | undefined
  /** Ends the wait: the promise then rejects with its reason, and the turn goes to others. */
  readonly signal?: AbortSignal | undefined
}

export interface UpToOptions extends Pick<DecideOptions, 'policy' | 'priority'> {
  /** Take nothing if fewer units than this are left. Whole, from 1 to `n`. Default 1. */
  readonly atLeast?: number | undefined
}

export interface AcquireOptions extends WaitOptions {
  /** The longest wait for a slot; 0: be allowed at once, or denied. Default 0. */
  readonly timeout?: Duration | undefined
  /** What happens if a slot expires because it could not be renewed in time:
   *  - `renew`: it is taken anew when the store is back, past the limit if need be
   *  - `abort`: the `signal` of what is held aborts, and the slot is no longer renewed
   *
   *  Default `'renew'`. */
  readonly onExpiry?: 'renew' | 'abort' | undefined
  /** How long the work may take. After that, `signal` aborts and the slot is no longer renewed.
   *  Default: as long as it takes. */
  readonly maxHold?: Duration | undefined
}
