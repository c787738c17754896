// The options of a limiter and of its calls.

import type { Duration } from '../base/duration.js'
import type { PolicyInput } from '../policy-input.js'
import type { Store, WhenUnavailable } from '../store.js'
import type { Cost } from './costs.js'
import type { Decision } from './decision.js'

export interface RateLimiterOptions {
  /** The limiter's identity across processes: same name on one store, same counters. Default
   *  `'default'`, and then the limits of policies without a name are in their names, so that two
   *  such limiters on one store stay apart. */
  readonly name?: string | undefined
  /** Where counters live. Default: a `memoryStore()` of its own, which other processes do not
   *  see. */
  readonly store?: Store | undefined
  /** What is allowed, or a function of the key (as text) that returns it. */
  readonly policy: PolicyInput | ((key: string) => PolicyInput | Promise<PolicyInput>)
  /** What to do when the store cannot decide, for policies that say nothing of it. A policy here
   *  decides in their place, in each process for itself: for limits below the number of processes.
   *  Only on the stores of `redisStore`, `resilient` and `memoryStore`, which always decides.
   *  Default: as the store's own option says, which is `'local'` for a Redis store. */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /** When the policy function fails for a key that it has never been asked about: `'deny'`,
   *  `'allow'`, or what limits instead. `consume`, `consumeUpTo`, `wait` and `peek` then answer,
   *  with a warning. Default: they throw WEIR_POLICY_FAILED, as other methods do in any case. For
   *  a key that it was asked about, what it said last holds. */
  readonly whenPolicyFails?: 'deny' | 'allow' | PolicyInput | undefined
  /** Called after each decision, with a copy of it: of `consume`, `wait` and `consumeUpTo` as
   *  `'consume'`, and of `peek`. What it throws, or its promise rejects with, becomes a warning,
   *  never a failed decision. */
  readonly onDecision?:
    | ((decision: Decision, key: string, mode: 'consume' | 'peek') => void)
    | undefined
  /** True: another limiter of this name in this process is meant to share its counters, on this
   *  store or another one that counts in the same Redis, so do not warn of it (WEIR_SHARED_NAME).
   *  Default false. */
  readonly shared?: boolean | undefined
  /** How many may wait in this process: of a class under a key, and in all. More are denied at
   *  once. Default 1,000 and 10,000. */
  readonly maxWaiting?: MaxWaiting | undefined
  /** Classes of requests, by name, each with the fraction of every limit that it leaves to others:
   *  from 0 to 1, in units rounded up. `{ normal: 0.2, batch: 0.5 }`: of 100, `normal` takes no
   *  more when 80 are used, and `batch` when 50 are. The class `'critical'` always exists, and
   *  leaves nothing unless it is named here. Default: no other classes. */
  readonly reserve?: Readonly<Record<string, number>> | undefined
}

export interface MaxWaiting {
  readonly perKey?: number | undefined
  readonly total?: number | undefined
}

/** Options of one call of a limiter. */
export interface DecideOptions {
  /** Units that the request takes, of each policy, or by the names of policies. Whole, >= 0; 0 is
   *  always allowed. Default 1, also for a policy that is not named. */
  readonly cost?: Cost | undefined
  /** What is allowed, for this call only, or a function that returns it. */
  readonly policy?: PolicyInput | (() => PolicyInput | Promise<PolicyInput>) | undefined
  /** To consume, wait or peek: the class of the request, one of the limiter's `reserve` or
   *  `'critical'`. What the class leaves to others is not granted, and not said to be left; a cost
   *  of 0 is granted all the same. Default: none, which leaves nothing. */
  readonly priority?: string | undefined
}

export interface WaitOptions extends DecideOptions {
  /** How long to wait at the most; 0: be allowed at once, or denied. Default: as long as it takes;
   *  for a turn of a bucket, its `maxWait`, which also cuts what is longer. */
  readonly timeout?: Duration | undefined
  /** Ends the wait: the promise then rejects with its reason, and the turn goes to others. */
  readonly signal?: AbortSignal | undefined
}

export interface UpToOptions extends Pick<DecideOptions, 'policy' | 'priority'> {
  /** Take nothing if there are fewer units than these. Whole, from 1 to what is asked for. Default
   *  1. */
  readonly atLeast?: number | undefined
}

export interface AcquireOptions extends WaitOptions {
  /** How long to wait for a slot at the most; 0: be allowed at once, or denied. Default 0. */
  readonly timeout?: Duration | undefined
  /** What happens where a slot expires, as it could not be renewed in time:
   *  - `renew`: it is taken anew when the store is back, past the limit if need be
   *  - `abort`: `signal` of what is held aborts, and it is not renewed any more
   *
   *  Default `'renew'`. */
  readonly onExpiry?: 'renew' | 'abort' | undefined
  /** How long the work may take: then `signal` aborts, and the slot is not renewed any more.
   *  Default: as long as it takes. */
  readonly maxHold?: Duration | undefined
}

export interface CloseOptions {
  /** What becomes of slots whose work is in progress: `'drain'` renews them until they are
   *  released, `'expire'` leaves them to expire. Default `'drain'`. */
  readonly slots?: 'drain' | 'expire' | undefined
}
