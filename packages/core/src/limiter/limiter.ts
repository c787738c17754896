import type { Duration } from '../base/duration.js'
import { isPromise } from '../base/maybe-async.js'
import { checkAll, checkedOptions, ofType } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { promiseOf, resetOf } from '../layer.js'
import { checkedKey, type Key } from '../policy-input.js'
import type { ConsumeRequest, Store } from '../store.js'
import { blockKey, unblockKey } from './blocks.js'
import type { Cost } from './costs.js'
import { countersOf } from './counters.js'
import { closedError, decide, decideInTurn, decideUpTo } from './decide.js'
import type { Decision, PartialDecision, Settlement, WaitDecision } from './decision.js'
import { countersOfKey } from './limiter-request.js'
import { freeNames } from './namesakes.js'
import { observed } from './observers.js'
import { CLOSE_CHECKS } from './option-checks.js'
import type {
  AcquireOptions,
  DecideOptions,
  RateLimiterOptions,
  UpToOptions,
  WaitOptions,
} from './options.js'
import { type LimiterParts, partsOf } from './parts.js'
import { refundDecision, releaseDecision, settleDecision } from './receipts.js'
import {
  acquire,
  type Held,
  type Holding,
  type HoldResult,
  hold,
  holders,
  holdingOf,
} from './slots/held.js'
import { type LimiterStats, statsOf } from './stats.js'

/**
 * Limits how often things may happen. Most callers want `consume`.
 *
 * Methods throw, and the asynchronous ones reject with, WEIR_INVALID_KEY, WEIR_INVALID_COST,
 * WEIR_INVALID_PRIORITY or WEIR_INVALID_OPTION before the store is asked; WEIR_INVALID_POLICY or
 * WEIR_POLICY_FAILED if a policy function cannot be used; and a `StoreError` if the store cannot
 * decide.
 *
 * @example
 * const policy = slidingLog({ limit: 5, window: '15m' })
 * const limiter = new RateLimiter({ name: 'login', policy })
 * const decision = await limiter.consume('u42')
 * if (!decision.allowed) console.log(`again in ${decision.retryAfterMs} ms`)
 */
export class RateLimiter {
  /** The name that it was given, or `'default'`. */
  readonly name: string
  /** The store that it was given, or its own. */
  readonly store: Store
  readonly #parts: LimiterParts

  /** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME,
   *  WEIR_INVALID_POLICY */
  constructor(options: RateLimiterOptions) {
    const parts = partsOf(options, times.get(options) ?? processTime)
    this.#parts = parts
    this.name = parts.name
    this.store = parts.store
    countersOf.set(this, parts.counters)
    holders.set(this, holdingOf.bind(null, parts))
  }

  /** False, in an emergency: everything is allowed, nothing is counted, and all waiting calls pass.
   *  Default true. Throws WEIR_INVALID_OPTION for any other value. */
  get enabled(): boolean {
    return this.#parts.isEnabled
  }

  set enabled(enabled: boolean) {
    checkEnabled(enabled, 'enabled')
    this.#parts.isEnabled = enabled
    if (!enabled) this.#parts.waiting.release()
  }

  /** Takes `cost` units of every policy if all allow it, else nothing. */
  consume(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#promised('consume', key, options)
  }

  /**
   * Waits for a turn: allowed once the request may pass, or denied at once if that would take
   * longer than `timeout`. See docs/waiting.md. A wait may exceed `timeout` by the time of one call
   * to the store for a turn of a bucket, else of two, and of one more for each change of cost in
   * the queue ahead. Rejects with the signal's reason, and with WEIR_CLOSED once the limiter is
   * closed.
   *
   * @example const { waitedMs } = await limiter.wait('u42', { timeout: '2s' })
   */
  wait(key: Key, options?: WaitOptions): Promise<WaitDecision> {
    return decideInTurn(this.#parts, key, options)
  }

  /**
   * Takes as many units as there are, up to `n`: `granted` says how many. Denied if there are fewer
   * than `atLeast`.
   *
   * @example const { granted } = await limiter.consumeUpTo('u42', 100, { atLeast: 10 })
   */
  consumeUpTo(key: Key, n: number, options?: UpToOptions): Promise<PartialDecision> {
    return decideUpTo(this.#parts, key, n, options)
  }

  /** Resolves to what `consume` would decide, and takes nothing: `remaining` is what is left. */
  peek(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#promised('peek', key, options)
  }

  /** `consume`, without a promise where the store answers at once, as the memory store does. */
  decide(key: Key, options?: DecideOptions): Decision | Promise<Decision> {
    return observed(this.#parts, 'consume', decide(this.#parts, 'consume', key, options))
  }

  /**
   * Gives units back, as far as they still count, and never into a later window.
   *
   * Of a decision: what it charged, or `cost`, at most what it charged each policy; once. Throws
   * WEIR_INVALID_COST for a `cost` above that, and WEIR_INVALID_RECEIPT for a copy of a decision
   * (`structuredClone`, JSON) and for one of a limiter with another name or on another store.
   *
   * Of a key: `cost`, default 1, of each policy, or by the names of some.
   *
   * @example await limiter.refund(decision)
   * @example await limiter.refund(decision, { cost: 1 })
   * @example await limiter.refund('u42', { cost: 2 })
   */
  async refund(decision: Decision, options?: Pick<DecideOptions, 'cost'>): Promise<void>
  async refund(key: Key, options?: Pick<DecideOptions, 'cost' | 'policy'>): Promise<void>
  async refund(of: Decision | Key, options?: DecideOptions): Promise<void> {
    if (typeof of === 'object' && of !== null) await refundDecision(this.#parts, of, options)
    else await decide(this.#parts, 'refund', of, options)
  }

  /**
   * Corrects what a decision was charged to what it cost: for each policy without its own cost, or
   * by the names of policies (others stay). See docs/settling.md. Throws WEIR_INVALID_COST for an
   * `actual` that is no cost or names another policy, and WEIR_INVALID_RECEIPT as `refund` does.
   *
   * @example await limiter.settle(decision, 12)
   */
  settle(decision: Decision, actual: Cost): Promise<Settlement> {
    return settleDecision(this.#parts, decision, actual)
  }

  /**
   * Releases the slots that a decision took, once its work has ended; units stay charged. A second
   * release does nothing. Throws WEIR_INVALID_RECEIPT as `refund` does.
   */
  release(decision: Decision): Promise<void> {
    return releaseDecision(this.#parts, decision)
  }

  /**
   * Takes what `consume` or, with a `timeout`, `wait` takes, and renews slots, and the estimates of
   * budgets, until `release()`, or the end of the block: `await using held = await
   * limiter.acquire('u42')`. Rejects with WEIR_INVALID_POLICY if no policy has a `holdTimeout`.
   */
  acquire(key: Key, options?: AcquireOptions): Promise<Held> {
    return acquire(this.#parts, key, options)
  }

  /**
   * Holds what `acquire` does until `work`'s promise, and all that it passed to `until`, have
   * settled. Resolves to what `work` returned, or to the denial; rejects with what it threw.
   *
   * @example
   * const limiter = new RateLimiter({ policy: concurrency({ limit: 5, holdTimeout: '30s' }) })
   * const held = await limiter.hold('u42', async ({ signal }) => signal.throwIfAborted())
   */
  hold<Value>(
    key: Key,
    work: (holding: Holding) => Value | PromiseLike<Value>,
    options?: AcquireOptions,
  ): Promise<HoldResult<Value>> {
    return hold(this.#parts, key, work, options)
  }

  /** What the limiter has counted in this process since it was made. */
  stats(): LimiterStats {
    return statsOf(this.#parts)
  }

  /**
   * Closes the limiter: waiting calls reject with WEIR_CLOSED, their turns go to others, and
   * another limiter may have its name. Slots in use are renewed until they are released (`slots:
   * 'drain'`, the default), or expire (`'expire'`). You close the store yourself.
   */
  close(options: { readonly slots?: 'drain' | 'expire' | undefined } = {}): void {
    checkAll(options, 'close()', CLOSE_CHECKS)
    const parts = this.#parts
    if (options.slots === 'expire') parts.holds.expire()
    if (parts.fixed !== undefined && !parts.isClosed) freeNames(parts.fixed, parts.store)
    parts.isClosed = true
    parts.waiting.close(() => closedError(parts))
  }

  /** Takes units, past the limit if need be: a punishment, or a cost known only afterwards. */
  async penalty(key: Key, options?: Pick<DecideOptions, 'cost' | 'policy'>): Promise<Decision> {
    return decide(this.#parts, 'penalty', key, options)
  }

  /**
   * Forgets what was taken under a key: by policies without a policy key, and by those whose policy
   * key it is. `reset('u42')` leaves what a policy with the policy key `'all'` counts.
   *
   * @example await limiter.reset('u42')
   */
  async reset(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    const text = checkedKey(key)
    if (options !== undefined) checkedOptions(options, 'reset()', ['policy'])
    const { policiesFor, layer } = this.#parts
    const known = policiesFor('reset', text, options?.policy)
    // Awaits only a promise, so that the store is asked in the order of the limiter's calls.
    const target = countersOfKey(isPromise(known) ? await known : known, text)
    if (target !== undefined) await promiseOf(layer, resetOf(target))
  }

  /**
   * Blocks a key under the lock-outs among the policies without a policy key, or with this one:
   * nothing passes until the block ends, and no refund lifts it. A block that lasts longer stays.
   *
   * Rejects with WEIR_INVALID_POLICY if there is no lock-out, with WEIR_INVALID_DURATION if the
   * block would outlast what the lock-out takes to forget, and with a `StoreError` if the store is
   * away: the block then holds in this process until the store is back.
   *
   * @example
   * const guesses = lockout({ limit: 5, window: '15m', block: ['1m', '5m', '1h'], forget: '1d' })
   * const limiter = new RateLimiter({ name: 'login', policy: guesses })
   * await limiter.block('u42', '1h')
   */
  block(key: Key, duration: Duration, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    return blockKey(this.#parts, key, duration, options)
  }

  /**
   * Ends a key's blocks, begun by hand or not. Levels stay; `reset` forgets them as well. Other
   * processes learn of it within a second. Rejects as `block` does.
   */
  unblock(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    return unblockKey(this.#parts, key, options)
  }

  /** Like an async method, without a second promise where there is one already. */
  #promised(mode: ConsumeRequest['mode'], key: Key, options?: DecideOptions): Promise<Decision> {
    try {
      return Promise.resolve(observed(this.#parts, mode, decide(this.#parts, mode, key, options)))
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** The time of limiters that do not run in the process's time, by their options. */
const times: WeakMap<RateLimiterOptions, Time> = new WeakMap()

/** Options of a limiter with an injected time. */
export function inTime(time: Time, options: RateLimiterOptions): RateLimiterOptions {
  times.set(options, time)
  return options
}

const checkEnabled = ofType('boolean')
