// What users see of policies that change.

import type { Policy } from '../algorithms/policy.js'
import type { Override } from './overrides.js'

export interface LivePoliciesOptions<Name extends string = string> {
  /** What the settings are called in the store: same name on one store, same policies. */
  readonly name: string
  /** The policies by the names that `policy` and `set` know, as they are until they are set. Each
   *  needs a `name` of its own, which is its counter's; policies may share one. */
  readonly defaults: Readonly<Record<Name, Policy>>
  /** Called when a change takes effect in this process. */
  readonly onChange?: ((change: LiveChange) => void) | undefined
  /** Called when the store cannot be read, has lost the policies, or holds one that is refused. Not
   *  again until that is over. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

/** A change of a policy or an override. */
export interface PolicyChange {
  /** Grows by 1 with each change. */
  readonly version: number
  /** `'policy'`: a named policy; `'key'`, `'prefix'`: an override. */
  readonly kind: 'policy' | 'key' | 'prefix'
  /** Of the named policy; of an override, that of the policy itself. */
  readonly name: string
  /** The key or prefix of an override; the hash of a long key, and where the store hashes keys. */
  readonly key?: string | undefined
  /** What holds from then on. Undefined: it was removed, or cannot be read. */
  readonly policy: Policy | undefined
  /** What was set before. Undefined: nothing was. */
  readonly was: Policy | undefined
  /** When it was made, in ms since the Unix epoch, by the store's clock. */
  readonly madeAtMs: number
  /** From when it holds, by the same clock. */
  readonly activeAtMs: number
  /** True: of another time scale than what held before, so what was used does not count. */
  readonly isNewCounter: boolean
}

/** A change that has taken effect here. */
export interface LiveChange extends PolicyChange {
  /** How long after `activeAtMs`; more than some ms: this process heard of it too late. */
  readonly lateMs: number
}

/** What `set`, `unset`, `override`, `remove` and `rollback` answer. */
export interface PolicyAnswer extends PolicyChange {
  /** False: it was so already, and nothing was changed. */
  readonly isChanged: boolean
}

/** Of one key (`'u42'`), or of all that begin so (`{ prefix: 'org-7:' }`). A long key may also be
 *  given as `overrides()` shows it. */
export type OverrideKey = string | { readonly prefix: string }

/** A function for the option `policy` of limiters and middlewares: of the limiter's key. Of what is
 *  no key it takes no notice. */
export interface PolicyOfKey<Answer = Policy> {
  (key?: unknown): Answer
  /** Middlewares ask it with the key, and not with the request. */
  readonly takesKey: true
}

/** How live policies are. */
export interface LiveStatus {
  /** What the settings are called in the store. */
  readonly name: string
  /** Of what holds now: how many changes there have been. 0: the defaults. */
  readonly version: number
  /** Changes that are known and do not hold yet. */
  readonly pending: number
  /** How many keys and prefixes have a policy of their own. */
  readonly overrides: number
  /** Stored values that were refused; what was before them holds. */
  readonly refused: number
  /** How long ago the store was heard. Undefined: never; the defaults hold. */
  readonly heardMsAgo: number | undefined
  /** False: the store was not heard for so long, or not all of what it has could be read, so that
   *  other policies may hold elsewhere. */
  readonly isCurrent: boolean
}

/** A policy that is set, or one that is refused: of which name, or for which key. */
export interface LiveSetting {
  /** `'policy'`: a named policy; `'key'`, `'prefix'`: an override. */
  readonly kind: 'policy' | 'key' | 'prefix'
  /** Of the named policy; of an override, that of the policy itself. */
  readonly name: string
  /** The key or prefix of an override; where the store hashes keys, the hash. */
  readonly key?: string | undefined
  /** Undefined: what is stored cannot be read. */
  readonly policy: Policy | undefined
}

/** What a process refuses, so that what was before it holds there. */
export interface LiveRefusal extends Omit<LiveSetting, 'policy'> {
  /** Why, in at most 200 characters. */
  readonly why: string
}

/** A process with live policies of this name, as it has reported in the last 15 s. */
export interface LiveProcess extends Pick<LiveStatus, 'version' | 'pending' | 'isCurrent'> {
  /** Its host, its process id, and a mark. */
  readonly process: string
  /** Its defaults, by name. */
  readonly defaults: Readonly<Record<string, Policy>>
  /** False: it has more defaults than it reports, which are some 16,000 characters of them. */
  readonly isWhole: boolean
  /** What it refuses; ten at the most. */
  readonly refused: readonly LiveRefusal[]
}

/** What is set, and what holds where. */
export interface LiveList {
  /** Of the settings in the store. */
  readonly version: number
  /** What is set, also by other versions of the application. */
  readonly settings: readonly LiveSetting[]
  /** Of 1,000 processes at the most. */
  readonly processes: readonly LiveProcess[]
}

/**
 * What `livePolicies` makes. What changes something rejects with WEIR_INVALID_POLICY,
 * WEIR_INVALID_NAME, WEIR_INVALID_KEY, WEIR_INVALID_OPTION or WEIR_TOO_MANY_OVERRIDES, as TypeError
 * or RangeError, and with a `StoreError` if the store does not answer.
 */
export interface LivePolicies<Name extends string = string> {
  /** For the option `policy`: what holds for a key at the moment, overrides included. The same
   *  function each time. */
  policy(name: Name): PolicyOfKey
  /** What holds at the moment, for a key or without an override. The same frozen object as long as
   *  nothing changes. */
  for(name: Name, key?: string | number | bigint): Policy
  /** Sets a policy for all processes. It must have the name and the algorithm of the default. */
  set(name: Name, policy: Policy): Promise<PolicyAnswer>
  /** Back to the default. */
  unset(name: Name): Promise<PolicyAnswer>
  /** Gives a key, or all keys with a prefix, a policy in place of those of its name. The key's own
   *  goes before that of a prefix, a longer prefix before a shorter one. At most 10,000. */
  override(key: OverrideKey, policy: Policy): Promise<PolicyAnswer>
  /** Ends an override. `name`: that of the policies that it replaced, where the defaults have
   *  several names. */
  remove(key: OverrideKey, name?: string): Promise<PolicyAnswer>
  /**
   * Sets all back to what it was in a version, by changes of their own, which hold as all others do
   * and can be rolled back in turn. The store remembers the last 100 changes.
   */
  rollback(version: number): Promise<readonly PolicyAnswer[]>
  /** What is set, and what each process makes of it. On a store without reports (`memoryStore`)
   *  only this process is listed. */
  list(): Promise<LiveList>
  /** The overrides that hold. */
  overrides(): readonly Override[]
  /** The last 100 changes, the latest first, also those that do not hold yet. */
  history(): Promise<readonly PolicyChange[]>
  /** Reads the store now, as is done twice a second. False: it could not be read. */
  refresh(): Promise<boolean>
  /** How it is: for a health check, or a metric. */
  status(): LiveStatus
  /** Ends the timers. What holds stays. */
  close(): void
}
