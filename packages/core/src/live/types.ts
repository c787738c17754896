// The public types of live policies.

import type { Policy } from '../algorithms/policy.js'
import type { Override } from './overrides.js'

export interface LivePoliciesOptions<Name extends string = string> {
  /** Their name in the store: same name on one store, same policies. */
  readonly name: string
  /** The policies that hold until others are set, by the names that `policy` and `set` take. Each
   *  needs an explicit `name`, which names its counter; several may share one. */
  readonly defaults: Readonly<Record<Name, Policy>>
  /** Called when a change takes effect in this process. */
  readonly onChange?: ((change: LiveChange) => void) | undefined
  /** Called once until it is over: the store cannot be read, has lost the policies, or holds one
   *  that is refused. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

/** A change of a policy or an override. */
export interface PolicyChange {
  /** Grows by 1 with each change. */
  readonly version: number
  /** `'policy'`: a named policy; `'key'`, `'prefix'`: an override. */
  readonly kind: 'policy' | 'key' | 'prefix'
  /** The name of the named policy; for an override, the name of the policy itself. */
  readonly name: string
  /** An override's key or prefix; the hash of a long key, and of every key where the store hashes
   *  keys. */
  readonly key?: string | undefined
  /** The policy that holds from then on. Undefined: it was removed, or cannot be read. */
  readonly policy: Policy | undefined
  /** The policy that was set before. Undefined: none was. */
  readonly was: Policy | undefined
  /** When it was made, in ms since the Unix epoch, by the store's clock. */
  readonly madeAtMs: number
  /** When it takes effect, by the same clock. */
  readonly activeAtMs: number
  /** True: its time scale differs from that of the policy before, so units used before do not
   *  count. */
  readonly isNewCounter: boolean
}

/** A change that has taken effect here. */
export interface LiveChange extends PolicyChange {
  /** How long after `activeAtMs` it took effect, in ms. More than a few ms mean that this process
   *  heard of the change too late. */
  readonly lateMs: number
}

/** What `set`, `unset`, `override`, `remove` and `rollback` answer. */
export interface PolicyAnswer extends PolicyChange {
  /** False: that was set already, so nothing was changed. */
  readonly isChanged: boolean
}

/** One key (`'u42'`), or all keys with a prefix (`{ prefix: 'org-7:' }`). A long key may also be
 *  given as `overrides()` shows it. */
export type OverrideKey = string | { readonly prefix: string }

/** A function of the limiter's key, for the option `policy` of limiters and middlewares. It ignores
 *  an argument that is not a key. */
export interface PolicyOfKey<Answer = Policy> {
  (key?: unknown): Answer
  /** Middlewares call it with the key, not with the request. */
  readonly takesKey: true
}

/** The state of live policies. */
export interface LiveStatus {
  /** The settings' name in the store. */
  readonly name: string
  /** The version that holds now: how many changes there have been. 0: the defaults hold. */
  readonly version: number
  /** Known changes that do not hold yet. */
  readonly pending: number
  /** How many keys and prefixes have a policy of their own. */
  readonly overrides: number
  /** Stored values that were refused; the ones before them hold. */
  readonly refused: number
  /** How long ago the store last answered, in ms. Undefined: never, so the defaults hold. */
  readonly heardMsAgo: number | undefined
  /** False: the store has not answered for 1.5 s, or not all that it has could be read, so other
   *  policies may hold elsewhere. */
  readonly isCurrent: boolean
}

/** A policy that is set, by its name or for a key. */
export interface LiveSetting {
  /** `'policy'`: a named policy; `'key'`, `'prefix'`: an override. */
  readonly kind: 'policy' | 'key' | 'prefix'
  /** The name of the named policy; for an override, the name of the policy itself. */
  readonly name: string
  /** An override's key or prefix; its hash where the store hashes keys. */
  readonly key?: string | undefined
  /** Undefined: what is stored cannot be read. */
  readonly policy: Policy | undefined
}

/** A stored policy that a process refuses, so that the one before it holds there. */
export interface LiveRefusal extends Omit<LiveSetting, 'policy'> {
  /** Why, in at most 200 characters. */
  readonly why: string
}

/** A process with live policies of this name, as it has reported in the last 15 s. */
export interface LiveProcess extends Pick<LiveStatus, 'version' | 'pending' | 'isCurrent'> {
  /** Its host, its process id, and a random mark. */
  readonly process: string
  /** Its defaults, by name. */
  readonly defaults: Readonly<Record<string, Policy>>
  /** False: it has more defaults than it reports; a report holds about 16,000 characters of
   *  them. */
  readonly isWhole: boolean
  /** What it refuses, at most ten. */
  readonly refused: readonly LiveRefusal[]
}

/** What is set, and what holds where. */
export interface LiveList {
  /** The version of the settings in the store. */
  readonly version: number
  /** What is set, also by other versions of the application. */
  readonly settings: readonly LiveSetting[]
  /** The processes that have reported, at most 1,000. */
  readonly processes: readonly LiveProcess[]
}

/**
 * What `livePolicies` returns. Methods that change something reject with WEIR_INVALID_POLICY,
 * WEIR_INVALID_NAME, WEIR_INVALID_KEY, WEIR_INVALID_OPTION or WEIR_TOO_MANY_OVERRIDES, and with a
 * `StoreError` if the store does not answer.
 */
export interface LivePolicies<Name extends string = string> {
  /** For the option `policy`: a function that returns what holds for a key, overrides included. The
   *  same for each call. */
  policy(name: Name): PolicyOfKey
  /** What holds for a key, or without overrides: the same frozen object as long as nothing
   *  changes. */
  for(name: Name, key?: string | number | bigint): Policy
  /** Sets a policy, with the name and the algorithm of the default, for all processes. */
  set(name: Name, policy: Policy): Promise<PolicyAnswer>
  /** Sets a policy back to its default. */
  unset(name: Name): Promise<PolicyAnswer>
  /**
   * Gives a key (`'u42'`), or all with a prefix (`{ prefix: 'org-7:' }`), a policy in place of
   * those with its name. A key goes before a prefix, a longer prefix before a shorter one.
   */
  override(key: OverrideKey, policy: Policy): Promise<PolicyAnswer>
  /** Ends an override of the policies with this name, which is needed where the defaults have
   *  several. */
  remove(key: OverrideKey, name?: string): Promise<PolicyAnswer>
  /** Sets everything back to one of the last 100 versions, by new changes. */
  rollback(version: number): Promise<readonly PolicyAnswer[]>
  /** What is set, and what holds in each process. */
  list(): Promise<LiveList>
  /** The overrides that hold. */
  overrides(): readonly Override[]
  /** The last 100 changes, latest first, also those that do not hold yet. */
  history(): Promise<readonly PolicyChange[]>
  /** Reads the store now, besides twice a second. False: it could not be read. */
  refresh(): Promise<boolean>
  /** For a health check or a metric. */
  status(): LiveStatus
  /** Ends the timers. The policies that hold stay in use. */
  close(): void
}
