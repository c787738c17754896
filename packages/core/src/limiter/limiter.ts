import { MAX_UNITS } from '../algorithms/algorithm.js'
import { traitsOf } from '../algorithms/modes.js'
import { unlimited } from '../algorithms/unlimited.js'
import { Recent } from '../base/cache.js'
import { durationMs } from '../base/duration.js'
import { quote, typeError } from '../base/errors.js'
import { nameOfKey } from '../base/key-name.js'
import { isPromise, whenKnown } from '../base/maybe-async.js'
import { checkAll, checkedOptions, ofType } from '../base/options.js'
import { processTime } from '../base/time.js'
import { notify, warnOnce } from '../base/warnings.js'
import { type Layer, layerOf, promiseOf, resetOf } from '../layer.js'
import { memoryStore } from '../memory/store.js'
import { checkedKey, type Key, LongKeyError, type PolicyInput } from '../policy-input.js'
import { correctionOf, MadeTarget, partOfTarget } from '../request.js'
import type { ConsumeRequest, Mode, PolicySet, Store, StoreRequest } from '../store.js'
import { RetryQueue } from './retry-queue.js'
import {
  type Cost,
  checkedCosts,
  checkUnits,
  costsOf,
  type LimiterRequest,
  MadeRequest,
  refundedCosts,
  settledCosts,
} from './costs.js'
import { FAILED, LimiterCounters, noteCounters, SWITCHED_OFF, UNLIMITED } from './counters.js'
import {
  type Allowed,
  copyOf,
  countCorrection,
  countFailure,
  type Decision,
  decisionBy,
  decisionOf,
  type PartialDecision,
  published,
  Receipt,
  unlimitedDecision,
  type WaitDecision,
  withoutPolicy,
} from './decision.js'
import {
  checkSignal,
  type DecideOptions,
  OPTION_CHECKS,
  type RateLimiterOptions,
  type UpToOptions,
  type WaitOptions,
} from './options.js'
import {
  adaptiveOf,
  checkHasEffect,
  freeNames,
  type Resolved,
  resolver,
  storeOf,
  warnOfNamesake,
} from './policy-set.js'
import { Priorities } from './priority.js'
import { type LimiterStats, statsOf } from './stats.js'
import { TurnQueue } from './turn-queue.js'
import { Waiting } from './waiting.js'

type Watched = 'consume' | 'peek'
type Method = Mode | 'reset' | 'wait' | 'consumeUpTo'

/** Methods that answer where a policy function fails, if `whenPolicyFails` says how. */
const DECIDING: readonly Method[] = ['consume', 'peek', 'wait', 'consumeUpTo']

/**
 * Limits how often things may happen. Most callers want `consume`.
 *
 * A key is a text of 1 to 8,192 characters, a whole number or a bigint; a number is the same key as
 * its text.
 *
 * Methods throw, and the asynchronous ones reject with:
 * - WEIR_INVALID_KEY, WEIR_INVALID_COST, WEIR_INVALID_PRIORITY or WEIR_INVALID_OPTION, as TypeError
 *   or RangeError, before the store is asked
 * - WEIR_POLICY_FAILED if a policy function fails for a key that it has never been asked about, and
 *   `whenPolicyFails` does not say what holds then
 * - WEIR_INVALID_POLICY if the policy is a function of the request, as that of a middleware may be,
 *   and a call without `{ policy }` gives only a key; `refund(decision)` needs none
 * - a `StoreError` if the store cannot decide
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
  readonly #layer: Layer
  readonly #policy: RateLimiterOptions['policy']
  readonly #onDecision: RateLimiterOptions['onDecision']
  readonly #resolve: (input: PolicyInput) => Resolved
  readonly #fixed: Resolved | undefined
  /** In place of what a policy function should have said. */
  readonly #otherwise: Resolved | undefined
  /** What a policy function said of the keys seen lately. */
  readonly #chosen: Recent<Resolved> = new Recent(MAX_CHOSEN)
  readonly #waiting: Waiting
  readonly #priorities: Priorities
  readonly #counters: LimiterCounters = new LimiterCounters()
  #isClosed = false
  #isEnabled = true

  /** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME,
   *  WEIR_INVALID_POLICY */
  constructor(options: RateLimiterOptions) {
    checkAll(options, 'RateLimiter', OPTION_CHECKS)
    const { name, store = memoryStore(), policy, whenPolicyFails, whenUnavailable } = options
    const { onDecision, shared } = options
    const { perKey = 1_000, total = 10_000 } = options.maxWaiting ?? {}
    this.name = name ?? 'default'
    this.store = store
    this.#layer = layerOf(store)
    this.#policy = policy
    this.#onDecision = onDecision
    this.#priorities = new Priorities(options.reserve)
    const layer = this.#layer
    const time = processTime
    this.#waiting = new Waiting({
      layer,
      time,
      maxWaiting: { perKey, total },
      queueFor: (request, ended) =>
        this.#reserves(request)
          ? new TurnQueue(layer, time, request.target, ended)
          : new RetryQueue(layer, time, ended),
    })
    const isNamed = name !== undefined
    const counters = this.#counters
    if (options.reserve !== undefined) counters.addClasses(this.#priorities.names)
    noteCounters(this, counters)
    checkHasEffect(whenUnavailable, { limiter: this.name, store })
    this.#resolve = resolver({ limiter: this.name, isNamed, store, whenUnavailable, counters })
    if (whenPolicyFails === 'deny' || whenPolicyFails === 'allow')
      this.#otherwise = whenPolicyFails === 'deny' ? DENIED : ALLOWED
    else if (whenPolicyFails !== undefined) this.#otherwise = this.#resolve(whenPolicyFails)
    if (typeof policy === 'function') {
      counters.adaptive = adaptiveOf(policy, { limiter: this.name, isNamed })
      return
    }
    this.#fixed = this.#resolve(policy)
    if (!shared) warnOfNamesake(this.#fixed, store)
  }

  /** False: switched off, so that everything is allowed and nothing counted, and all who wait pass.
   *  For an emergency; the default is true. Throws WEIR_INVALID_OPTION for what is neither. */
  get enabled(): boolean {
    return this.#isEnabled
  }

  set enabled(enabled: boolean) {
    checkEnabled(enabled, 'enabled')
    this.#isEnabled = enabled
    if (!enabled) this.#waiting.release()
  }

  /** Takes `cost` units of every policy if all allow it; if not, takes nothing. */
  consume(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#promised('consume', key, options)
  }

  /**
   * Waits for its turn instead of being refused: allowed once it may pass, or denied at once if
   * that would take longer than `timeout`. Where one bucket decides alone, the turn is reserved in
   * the store: in order across processes, and `consume` sees what is reserved as used. Elsewhere
   * those who wait in this process pass in order, and ask again after the wait that the store
   * names. May end later than `timeout` by the time that calls of the store take: one for a turn of
   * a bucket, elsewhere two, and one more for each time that the cost changes in the line before
   * it.
   *
   * Rejects with the signal's reason, and with WEIR_CLOSED once the limiter is closed.
   * @example const { waitedMs } = await limiter.wait('u42', { timeout: '2s' })
   */
  async wait(of: Key, options?: WaitOptions): Promise<WaitDecision> {
    if (options !== undefined)
      checkedOptions(options, 'wait()', ['cost', 'policy', 'timeout', 'signal', 'priority'])
    const { cost: given, timeout, signal, priority } = options ?? {}
    const key = checkedKey(of)
    const cost = given === undefined ? 1 : checkedCosts(given)
    let timeoutMs = timeout === 0 ? 0 : Number.POSITIVE_INFINITY
    if (timeout !== undefined && timeout !== 0) timeoutMs = durationMs(timeout, 'timeout')
    if (signal !== undefined) checkSignal(signal)
    if (priority !== undefined) this.#priorities.check(priority)
    signal?.throwIfAborted()
    if (this.#isClosed) throw this.#closed()
    if (!this.#isEnabled) return { ...this.#taken(this.#switchedOff(key)), waitedMs: 0 }
    const known = this.#resolveFor('wait', key, options)
    // In the same turn where that is possible: first come, first served.
    const resolved = isPromise(known) ? await known : known
    const costs = costsOf(resolved, cost)
    // A policy function may have taken its time.
    signal?.throwIfAborted()
    if (this.#isClosed) throw this.#closed()
    if (!this.#isEnabled) return { ...this.#taken(this.#switchedOff(key)), waitedMs: 0 }
    if (resolved.policySet === undefined)
      return { ...this.#taken(this.#withoutStore(resolved, key)), waitedMs: 0 }
    const request = this.#priorities.request(
      consumption(key, costs, resolved, resolved.policySet),
      priority,
    )
    const limited = { ...request, atLeast: 1 }
    const waited = this.#waiting.wait({ request: limited, timeoutMs, signal })
    const { result, waitedMs } = await waited.catch((error) => {
      // Who leaves, or is turned away by `close`, got no decision, and the store is well.
      if (!signal?.aborted && !this.#isClosed) countFailure(request)
      throw error
    })
    if (result === undefined) return { ...this.#taken(this.#switchedOff(key)), waitedMs }
    this.#counters.waited(this.name, waitedMs)
    return { ...this.#taken(decisionOf(request, result)), waitedMs }
  }

  /**
   * Takes as many units as there are, up to `n`, at once: `granted` says how many. Denied if there
   * are fewer than `atLeast`.
   * @example const { granted } = await limiter.consumeUpTo('u42', 100, { atLeast: 10 })
   */
  async consumeUpTo(of: Key, n: number, options?: UpToOptions): Promise<PartialDecision> {
    if (options !== undefined)
      checkedOptions(options, 'consumeUpTo()', ['atLeast', 'policy', 'priority'])
    const { atLeast = 1, priority } = options ?? {}
    const key = checkedKey(of)
    checkUnits('n', n, MAX_UNITS)
    checkUnits('atLeast', atLeast, n)
    if (priority !== undefined) this.#priorities.check(priority)
    if (!this.#isEnabled) return { ...this.#taken(this.#switchedOff(key)), granted: n }
    const known = this.#resolveFor('consumeUpTo', key, options)
    const resolved = isPromise(known) ? await known : known
    const { policySet, costsOfOne } = resolved
    if (policySet === undefined) {
      const decision = this.#taken(this.#withoutStore(resolved, key))
      return { ...decision, granted: decision.allowed ? n : 0 }
    }
    const plain = consumption(key, costsOfOne, resolved, policySet)
    const one = this.#priorities.request(plain, priority)
    const asked = promiseOf(this.#layer, { ...one, count: n, atLeast })
    const result = await asked.catch((error) => {
      countFailure(one)
      throw error
    })
    const { granted } = result
    // What it cost, or would have.
    const units = granted > 0 ? granted : atLeast
    const policies = result.policies.map((each) => ({ ...each, cost: units * each.cost }))
    const request = { ...one, costs: one.costs.map((cost) => units * cost) }
    const decision = decisionOf(request, { ...result, granted: Math.min(granted, 1), policies })
    return { ...this.#taken(decision), granted }
  }

  /** What `consume` would answer now. Takes nothing. */
  peek(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#promised('peek', key, options)
  }

  /**
   * `consume` without a promise where the store answers at once, as the memory store does: for
   * adapters that want to go on in the same turn of the event loop. Throws, or rejects, what
   * `consume` rejects.
   */
  decide(key: Key, options?: DecideOptions): Decision | Promise<Decision> {
    return this.#decide('consume', key, options)
  }

  /**
   * Gives units back, as far as they still count and never into a later window.
   *
   * Of a decision: what it charged; or `cost`, of each policy at most what the decision charged it.
   * A decision is good for one refund, of all or of a part. The rest stays charged, and another
   * refund does nothing. A denied decision, and that of a `peek`, has nothing to give back.
   *
   * Throws WEIR_INVALID_COST for a `cost` above what was charged. Throws WEIR_INVALID_RECEIPT for a
   * copy of a decision (`structuredClone`, JSON), and for the decision of another limiter: one of
   * another name or on another store.
   *
   * Of a key: `cost`, default 1, of each policy, or by the names of some, as far as there is
   * anything to give back.
   * @example await limiter.refund(decision)
   * @example await limiter.refund(decision, { cost: 1 })
   * @example await limiter.refund('u42', { cost: 2 })
   */
  async refund(decision: Decision, options?: Pick<DecideOptions, 'cost'>): Promise<void>
  async refund(key: Key, options?: Pick<DecideOptions, 'cost' | 'policy'>): Promise<void>
  async refund(of: Decision | Key, options?: DecideOptions): Promise<void> {
    if (typeof of === 'object' && of !== null) return this.#refundDecision(of, options)
    await this.#ask('refund', of, options)
  }

  /**
   * Corrects what a decision was charged to what it cost: of each policy without a cost of its own,
   * or by the names of policies (one that is not named stays). Less is given back as by a refund;
   * more is charged now, past the limit if need be.
   *
   * Each decision can be settled or refunded once. A failed call is not repeated: the decision
   * stands as it was charged or, if only the reply was lost, as it was settled. A denied decision,
   * and that of a `peek`, has nothing to settle. While the store is away, extra charges count in
   * this process and reach the store later; nothing is given back. Nothing is given back later,
   * either, of a decision that was made while it was away.
   *
   * Throws WEIR_INVALID_COST for an `actual` that is no cost or names another policy, and
   * WEIR_INVALID_RECEIPT as `refund` does.
   * @example await limiter.settle(decision, 12)
   */
  async settle(decision: Decision, actual: Cost): Promise<void> {
    const cost = checkedCosts(actual)
    const receipt = this.#receiptOf(decision, 'settle')
    const { request, result } = receipt ?? {}
    if (receipt === undefined || request === undefined || result === undefined) return
    const all = settledCosts(request, cost)
    if (receipt.spent) return
    const costs = result.degraded ? all.map((each) => Math.max(0, each)) : all
    receipt.spent = true
    if (costs.every((each) => each === 0)) return
    const correction = correctionOf('settle', request.target, costs, result)
    const settled = await promiseOf(this.#layer, correction)
    // While the store is away nothing is given back.
    const counted = settled.degraded ? costs.map((each) => Math.max(0, each)) : costs
    countCorrection(request, counted)
  }

  /** What it has counted since it was made, in this process. Asks nothing of the store. */
  stats(): LimiterStats {
    const { name, enabled } = this
    return statsOf({ name, enabled, waiting: this.#waiting.size }, this.#counters)
  }

  /** Ends the waiting: all `wait` rejects with WEIR_CLOSED, and turns go to others. Its name is
   *  free for another limiter. The store stays yours to close. */
  close(): void {
    if (this.#fixed !== undefined && !this.#isClosed) freeNames(this.#fixed, this.store)
    this.#isClosed = true
    this.#waiting.close(() => this.#closed())
  }

  /** Takes units unconditionally, past the limit if need be: a punishment, or a cost known only
   *  afterwards. */
  async penalty(key: Key, options?: Pick<DecideOptions, 'cost' | 'policy'>): Promise<Decision> {
    return this.#ask('penalty', key, options)
  }

  /**
   * Forgets what was taken under a key, as if it had never been seen. These are the counters of the
   * policies that have no policy key, and of those whose policy key it is, under whatever tag.
   * Counters of other keys stay as they are: `reset('u42')` leaves alone what a policy with the key
   * `'all'` counts. `reset('all')` forgets it.
   * @example await limiter.reset('u42')
   */
  async reset(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    const text = checkedKey(key)
    if (options !== undefined) checkedOptions(options, 'reset()', ['policy'])
    const { policySet, policyKeys } = await this.#resolveFor('reset', text, options)
    if (policySet === undefined) return
    // Counters of other keys stay.
    const places = [...policySet.policies.keys()]
    const name = nameOfKey(text)
    const ofKey = places.filter((i) => (policyKeys?.[i]?.key ?? name) === name)
    if (ofKey.length === 0) return
    await promiseOf(this.#layer, resetOf(partOfTarget({ policySet, key: name, policyKeys }, ofKey)))
  }

  async #refundDecision(decision: Decision, options: DecideOptions | undefined): Promise<void> {
    if (options !== undefined) checkedOptions(options, 'refund() of a decision', ['cost'])
    const cost = options?.cost === undefined ? undefined : checkedCosts(options.cost)
    const receipt = this.#receiptOf(decision, 'refund')
    const { request, result } = receipt ?? {}
    if (receipt === undefined || request === undefined || result === undefined) return
    if (receipt.spent) return
    const costs = cost === undefined ? request.costs : refundedCosts(request, cost)
    receipt.spent = true
    await promiseOf(this.#layer, correctionOf('refund', request.target, costs, result))
    countCorrection(
      request,
      costs.map((each) => -each),
    )
  }

  /** What a decision of this limiter was charged; undefined: nothing. */
  #receiptOf(decision: Decision, method: 'refund' | 'settle'): Receipt | undefined {
    const wrong = (given: string): TypeError => {
      const what = `${method}() of limiter "${this.name}" was given ${given}`
      return typeError('WEIR_INVALID_RECEIPT', what)
    }
    if (decision?.allowed === false) return undefined
    const { receipt } = decision ?? {}
    if (!(receipt instanceof Receipt)) {
      const copy = 'an object without a receipt, such as a copy by structuredClone or JSON'
      const orKey = method === 'refund' ? ', or a key' : ''
      throw wrong(`${copy}; give the decision itself${orKey}`)
    }
    const { request } = receipt
    if (request === undefined || request.mode === 'peek') return undefined
    const { policySet } = request.target
    const theirs = `${method} it there`
    if (policySet.name !== this.name)
      throw wrong(`a decision of a limiter of the name "${policySet.name}"; ${theirs}`)
    if (storeOf(policySet) !== this.store)
      throw wrong(`a decision of a limiter of that name on another store; ${theirs}`)
    return receipt
  }

  /** Whether the store reserves turns for such requests: where a bucket decides alone, and nothing
   *  is to be left to others. What is reserved is charged at once, whatever is left then. */
  #reserves({ target, keep }: StoreRequest): boolean {
    const { policies } = target.policySet
    const isLone = policies.length === 1 && policies[0]?.kernel?.within !== undefined
    return isLone && this.store.reserves === true && (keep ?? NOTHING).every((kept) => kept === 0)
  }

  #closed(): Error {
    const what = `limiter "${this.name}" is closed, so nobody waits for it; make a new one`
    return Object.assign(new Error(what), { code: 'WEIR_CLOSED' })
  }

  /** What an async method would do, without a promise beside the one that there is. */
  #promised(mode: Watched, key: Key, options?: DecideOptions): Promise<Decision> {
    try {
      return Promise.resolve(this.#decide(mode, key, options))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #decide(mode: Watched, key: Key, options?: DecideOptions): Decision | Promise<Decision> {
    return this.#watched(mode, this.#ask(mode, key, options))
  }

  /** A decision of a method that takes something, and is known. */
  #taken(decision: Decision): Decision {
    return this.#watched('consume', decision) as Decision
  }

  #watched(mode: Watched, decision: Decision | Promise<Decision>): Decision | Promise<Decision> {
    return this.#onDecision === undefined ? decision : this.#watch(mode, decision)
  }

  #watch(mode: Watched, decision: Decision | Promise<Decision>): Decision | Promise<Decision> {
    if (isPromise(decision)) return decision.then((known) => this.#observed(mode, known))
    return this.#observed(mode, decision)
  }

  #observed(mode: Watched, decision: Decision): Decision {
    const copy = Object.freeze(copyOf(decision))
    notify('onDecision', this.name, () => this.#onDecision?.(copy, copy.key, mode))
    return decision
  }

  #ask(mode: Mode, of: Key, options?: DecideOptions): Decision | Promise<Decision> {
    if (options !== undefined) checkNames(options, mode)
    const key = checkedKey(of)
    const { cost = 1, priority } = options ?? NO_OPTIONS
    if (cost !== 1) checkedCosts(cost)
    if (priority !== undefined) this.#priorities.check(priority)
    if (!this.#isEnabled) return this.#switchedOff(key, mode)
    const resolved = this.#resolveFor(mode, key, options)
    if (isPromise(resolved))
      return resolved.then((settled) => this.#askStore(settled, key, cost, mode, priority))
    return this.#askStore(resolved, key, cost, mode, priority)
  }

  #askStore(
    resolved: Resolved,
    key: string,
    cost: Cost,
    mode: Mode,
    priority: string | undefined,
  ): Decision | Promise<Decision> {
    const costs = cost === 1 ? resolved.costsOfOne : costsOf(resolved, cost, mode)
    const { policySet } = resolved
    if (policySet === undefined) return this.#withoutStore(resolved, key, mode)
    const plain = requestOf(mode, key, costs, resolved, policySet)
    if (priority === undefined) return decisionBy(this.#layer, plain)
    // Only what is judged has a class: see `checkNames`.
    const judged = plain as LimiterRequest<ConsumeRequest>
    return decisionBy(this.#layer, this.#priorities.request(judged, priority))
  }

  /** Where nothing is counted: there is no limit, or nothing says which. */
  #withoutStore(resolved: Resolved, key: string, mode: Mode = 'consume'): Decision {
    const { first } = resolved
    const isUnknown = resolved === DENIED || resolved === ALLOWED
    if (isUnknown && mode === 'consume') this.#counters.countUnknown(first, resolved === ALLOWED)
    if (resolved === DENIED) return published(withoutPolicy(this.name, key, first), mode)
    if (!isUnknown && mode === 'consume') this.#counters.count(UNLIMITED)
    const source = isUnknown ? 'local' : 'none'
    return published(unlimitedDecision(this.name, key, first, source, isUnknown), mode)
  }

  #switchedOff(key: string, mode: Mode = 'consume'): Allowed {
    if (mode === 'consume') this.#counters.count(SWITCHED_OFF)
    return published(unlimitedDecision(this.name, key, DISABLED, 'none', true), mode)
  }

  #resolveFor(
    method: Method,
    key: string,
    options?: Pick<DecideOptions, 'policy'>,
  ): Resolved | Promise<Resolved> {
    const own = options?.policy
    const fixed = this.#fixed
    return own === undefined && fixed !== undefined ? fixed : this.#chooseFor(method, key, own)
  }

  #chooseFor(
    method: Method,
    key: string,
    own: DecideOptions['policy'],
  ): Resolved | Promise<Resolved> {
    if (own !== undefined && typeof own !== 'function') return this.#resolve(own)
    const choose = own ?? (this.#policy as (key: string) => PolicyInput | Promise<PolicyInput>)
    if (choose === policyOfRequests) policyOfRequests(key, this.name, method)
    try {
      const resolved = whenKnown(choose(key), (input) => this.#remembered(key, input))
      return isPromise(resolved)
        ? resolved.catch((error) => this.#lastGood(method, key, error))
        : resolved
    } catch (error) {
      return this.#lastGood(method, key, error)
    }
  }

  #remembered(key: string, input: PolicyInput): Resolved {
    const resolved = this.#resolve(input)
    this.#chosen.set(nameOfKey(key), resolved)
    return resolved
  }

  /** The policy function threw or returned no policy: its last policy for this key is used, never
   *  "unlimited". */
  #lastGood(method: Method, key: string, cause: unknown): Resolved {
    if (cause instanceof LongKeyError) throw cause
    const problem = `the policy function of limiter "${this.name}" failed: ${quote(cause)}`
    const resolved = this.#chosen.get(nameOfKey(key))
    if (resolved !== undefined) {
      warnOnce('WEIR_POLICY_FAILED', this.name, `${problem}; its last policy for a key is used`)
      return resolved
    }
    if (this.#otherwise === undefined || !DECIDING.includes(method)) {
      if (DECIDING.includes(method) && method !== 'peek') this.#counters.count(FAILED)
      const right = 'fix it, or say with whenPolicyFails what holds meanwhile'
      const message = `${problem}, and never chose a policy for this key; ${right}`
      throw Object.assign(new Error(message, { cause }), { code: 'WEIR_POLICY_FAILED' })
    }
    warnOnce('WEIR_POLICY_FAILED', this.name, `${problem}; whenPolicyFails says what holds`)
    return this.#otherwise
  }
}

/** A request that costs so many units of each policy. */
function requestOf(
  mode: Mode,
  key: string,
  costs: readonly number[],
  { uses, policyKeys }: Resolved,
  policySet: PolicySet,
): LimiterRequest {
  const target = new MadeTarget(policySet, nameOfKey(key), policyKeys)
  return new MadeRequest(mode, target, costs, uses, key) as LimiterRequest
}

function consumption(
  key: string,
  costs: readonly number[],
  resolved: Resolved,
  policySet: PolicySet,
): LimiterRequest<ConsumeRequest> {
  return requestOf('consume', key, costs, resolved, policySet) as LimiterRequest<ConsumeRequest>
}

const checkEnabled = ofType('boolean')
const MAX_CHOSEN = 10_000
const NO_OPTIONS: DecideOptions = {}
const NOTHING: readonly number[] = []
const DISABLED = unlimited({ name: 'disabled' })
const UNKNOWN = unlimited({ name: 'policy-failed' })
const ALLOWED: Resolved = { policySet: undefined, first: UNKNOWN, uses: [], costsOfOne: [] }
const DENIED: Resolved = { policySet: undefined, first: UNKNOWN, uses: [], costsOfOne: [] }

/** In place of a policy: each call brings one, as it is a function of the request. */
export function policyOfRequests(_key: string, limiter = '', method = 'consume'): never {
  const why = `limiter "${limiter}" takes its policy from each request, so a key alone does not tell`
  const right = `give the policy, too: ${method}(key, { policy })`
  const byLimit = 'where limit and window choose it, it is slidingWindow({ name, limit, window })'
  const problem = `${why} which counters are meant; ${right}; ${byLimit} with the limiter's name`
  throw typeError('WEIR_INVALID_POLICY', problem)
}

/** Not by a list of names, whose methods would take a tenth of a decision in memory. */
function checkNames(options: DecideOptions, mode: Mode): void {
  const takesClass = traitsOf(mode).judges
  let isKnown = typeof options === 'object' && options !== null
  for (const name in options)
    isKnown &&= name === 'cost' || name === 'policy' || (takesClass && name === 'priority')
  if (isKnown) return
  checkedOptions(options, `${mode}()`, ['cost', 'policy', ...(takesClass ? ['priority'] : [])])
}
