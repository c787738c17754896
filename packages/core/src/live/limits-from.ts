// Policies by key, from any source: loaded once, kept for a while, and refreshed while in use.

import { isSameKind, type Policy } from '../algorithms/policy.js'
import { Recent } from '../base/cache.js'
import { type Duration, durationMs } from '../base/duration.js'
import { invalid, quote } from '../base/errors.js'
import { LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import { NO_KEY, textOfGiven } from '../base/key-text.js'
import type { Awaitable } from '../base/maybe-async.js'
import { type Checks, checkAll, ofType, unchecked, wholeNumber } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { notify, warnOnce } from '../base/warnings.js'
import { checkedUses, checkNames, type PolicyInput, type PolicyUse } from '../policy-input.js'
import type { PolicyOfKey } from './types.js'

export interface LimitsFromOptions {
  /**
   * Returns a key's policy or policies; undefined: the default. One that shares its name with a
   * default must have its algorithm, or limit nothing.
   */
  readonly load: (key: string) => Awaitable<PolicyInput | undefined>
  /** For keys that have no policy of their own, or whose policy cannot be loaded: one or
   *  several. */
  readonly default: PolicyInput
  /** How long a loaded policy is used before it is loaded again. Default `'1m'`. */
  readonly ttl?: Duration | undefined
  /** How many keys are remembered, from 2 to 10,000,000: at least half of this number, and about
   *  this number at most. Default 10,000. */
  readonly maxKeys?: number | undefined
  /** How long a load may take, in ms, from 1 to 60,000. Default 1,000. */
  readonly deadlineMs?: number | undefined
  /** Called when a load threw, took too long, or returned no policy. */
  readonly onFailure?: ((error: Error, key: string) => void) | undefined
}

/** What `limitsFrom` returns. */
export interface LimitsFrom {
  /** For the option `policy`: returns what holds for a key, at once if it is known, else as a
   *  promise that never rejects. */
  readonly policy: PolicyOfKey<PolicyInput | Promise<PolicyInput>>
  /** The same for one key. */
  for(key: string | number | bigint): PolicyInput | Promise<PolicyInput>
  /** Forgets a key, or all keys, in this process: the next request waits for a load. */
  forget(key?: string | number | bigint): void
  /** For a metric. */
  status(): LimitsFromStatus
}

/** The state of a source. */
export interface LimitsFromStatus {
  /** Loads in progress. */
  readonly loading: number
  /** Loads since the start. */
  readonly loads: number
  /** How many of them failed. */
  readonly failures: number
}

/** What is known of a key. */
interface Known {
  readonly policy: PolicyInput
  readonly staleAtMs: number
}

const CHECKS: Checks<LimitsFromOptions> = {
  load: ofType('function'),
  default: unchecked,
  ttl: (ttl) => durationMs(ttl as Duration, 'ttl'),
  maxKeys: wholeNumber(2, 10_000_000),
  deadlineMs: wholeNumber(1, 60_000),
  onFailure: ofType('function'),
}

/** After a failure, a key may be loaded again after this time, or sooner with a shorter `ttl`. */
const RETRY_MS = 1_000

/**
 * Policies by key from a database or any other source: see docs/live-limits.md. A key is loaded
 * once, and the first request after `ttl` starts a refresh in the background. When a load fails,
 * the key keeps what was loaded last, or the default, and is loaded again after a second (or `ttl`,
 * if that is shorter).
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION
 * @example
 * const rows = new Map([['u42', slidingWindow({ limit: 500, window: '1m' })]])
 * const limits = limitsFrom({
 *   load: async (key) => rows.get(key), // your database
 *   default: slidingWindow({ limit: 100, window: '1m' }),
 * })
 * const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy })
 */
export function limitsFrom(options: LimitsFromOptions): LimitsFrom {
  return limitsFromIn(processTime, options)
}

/** @throws {TypeError | RangeError} WEIR_INVALID_POLICY, and what `checkedUses` throws */
function checkedInput(input: PolicyInput, what: string): readonly PolicyUse[] {
  const uses = checkedUses(input, what)
  checkNames(uses, what)
  return uses
}

/**
 * Loaded and default policies alternate under one name; with two algorithms, each would count anew.
 * @throws {TypeError} WEIR_INVALID_POLICY
 */
function checkKindOf(policy: Policy, defaults: readonly PolicyUse[]): void {
  const like = defaults.find((use) => use.policy.name === policy.name)?.policy
  if (like === undefined || isSameKind(policy, like)) return
  if (policy.kernel === undefined || like.kernel === undefined) return
  const right = `a policy of the default's algorithm, ${like.algorithm}, or another name`
  throw invalid('WEIR_INVALID_POLICY', 'what load answered', policy, right)
}

/** `limitsFrom` by another clock than the process's. */
export function limitsFromIn(time: Time, options: LimitsFromOptions): LimitsFrom {
  checkAll(options, 'limitsFrom()', CHECKS)
  const { load, default: otherwise } = options
  if (typeof load !== 'function')
    throw invalid('WEIR_INVALID_OPTION', 'load', load, 'a function of a key')
  const defaults = checkedInput(otherwise, 'default')
  const { of, ...own } = loading(time, options, async (key) => {
    const input = await load(key)
    if (input === undefined) return otherwise
    for (const { policy } of checkedInput(input, 'what load answered'))
      checkKindOf(policy, defaults)
    return input
  })
  const ofKey = (key?: unknown): PolicyInput | Promise<PolicyInput> => {
    const text = textOfGiven(key)
    const isKnown = text !== undefined && text !== NO_KEY && text.length <= LONGEST_KEY
    return isKnown ? of(text) : otherwise
  }
  return { policy: Object.assign(ofKey, { takesKey: true } as const), for: ofKey, ...own }
}

interface Loading extends Pick<LimitsFrom, 'forget' | 'status'> {
  of(key: string): PolicyInput | Promise<PolicyInput>
}

/** What is known of keys, with one load at a time for each. */
function loading(
  time: Time,
  options: LimitsFromOptions,
  load: (key: string) => Promise<PolicyInput>,
): Loading {
  const { default: otherwise, maxKeys = 10_000, deadlineMs = 1_000 } = options
  const ttlMs = durationMs(options.ttl ?? '1m')
  let known = new Recent<Known>(maxKeys)
  const loads = new Map<string, Promise<PolicyInput>>()
  let count = 0
  let failures = 0

  function keep(id: string, policy: PolicyInput, forMs: number): PolicyInput {
    known.set(id, { policy, staleAtMs: time.nowMs() + forMs })
    return policy
  }

  function failed(id: string, key: string, error: unknown): PolicyInput {
    failures += 1
    const what = `limitsFrom() could not load the policy of a key: ${quote(error)}`
    warnOnce('WEIR_SOURCE_FAILED', 'limitsFrom', `${what}; its last one is used, or the default`)
    const cause = error instanceof Error ? error : new Error(quote(error))
    notify('onFailure', 'limitsFrom', () => options.onFailure?.(cause, key))
    return keep(id, known.get(id)?.policy ?? otherwise, Math.min(ttlMs, RETRY_MS))
  }

  function start(id: string, key: string): Promise<PolicyInput> {
    count += 1
    /** A key that was forgotten during its load is loaded again. */
    const settle = (make: () => PolicyInput): PolicyInput | Promise<PolicyInput> => {
      if (loads.get(id) !== answer) return of(key)
      loads.delete(id)
      return make()
    }
    // Called in a microtask, so that what `load` throws synchronously is a rejection as well.
    const loaded = inTime(time, deadlineMs, Promise.resolve(key).then(load))
    const answer: Promise<PolicyInput> = loaded.then(
      (policy) => settle(() => keep(id, policy, ttlMs)),
      (error) => settle(() => failed(id, key, error)),
    )
    loads.set(id, answer)
    return answer
  }

  function of(key: string): PolicyInput | Promise<PolicyInput> {
    const id = nameOfKey(key)
    const found = known.get(id)
    if (found !== undefined) {
      const isFree = loads.size < maxKeys
      if (found.staleAtMs <= time.nowMs() && !loads.has(id) && isFree) void start(id, key)
      // A key in use must not be forgotten, so it is set again.
      known.set(id, found)
      return found.policy
    }
    const own = loads.get(id)
    if (own !== undefined) return own
    if (loads.size < maxKeys) return start(id, key)
    // A source that hangs must not fill the memory.
    const what = `limitsFrom() is already loading ${maxKeys} keys; others get the default`
    warnOnce('WEIR_SOURCE_FAILED', 'limitsFrom is full', what)
    return otherwise
  }

  return {
    of,
    forget(key) {
      if (key === undefined) {
        known = new Recent(maxKeys)
        loads.clear()
        return
      }
      const id = nameOfKey(String(key))
      known.delete(id)
      loads.delete(id)
    },
    status: () => ({ loading: loads.size, loads: count, failures }),
  }
}

/** Rejects at the deadline; a later answer is not used. */
function inTime<Value>(time: Time, deadlineMs: number, answer: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`load took longer than ${deadlineMs} ms`))
    const cancel = time.after(deadlineMs, late, true)
    void answer.then(resolve, reject).finally(cancel)
  })
}
