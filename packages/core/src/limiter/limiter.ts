import { checkedName } from '../algorithms/policy.js'
import { unlimited } from '../algorithms/unlimited.js'
import { Recent } from '../base/cache.js'
import { invalid, quote, rangeError, typeError } from '../base/errors.js'
import { shortName } from '../base/key-hash.js'
import { isPromise, whenKnown } from '../base/maybe-async.js'
import { type Checks, checkAll, checkedOptions, ofType, unchecked } from '../base/options.js'
import { notify, warnOnce } from '../base/warnings.js'
import { type Layer, layerOf } from '../layers/layer.js'
import { memoryStore } from '../memory/store.js'
import { checkStore, checkWhen, partOfTarget } from '../request.js'
import type { Mode, Store, WhenUnavailable } from '../store.js'
import {
  copyOf,
  type Decision,
  PendingDecision,
  Receipt,
  unlimitedDecision,
  withoutPolicy,
} from './decision.js'
import {
  checkedCost,
  checkedKey,
  type Key,
  type PolicyInput,
  type Resolved,
  resolver,
  storeOf,
  warnOfNamesake,
} from './policy-set.js'

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
  /** What to do when the store cannot decide. Default: as the store's own option says, which is
   *  `'local'` for a Redis store. */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /** When the policy function fails for a key that it has never been asked about: `'deny'`,
   *  `'allow'`, or what limits instead. `consume` and `peek` then answer, with a warning. Default:
   *  they throw WEIR_POLICY_FAILED, as other methods do in any case. For a key that it was asked
   *  about, what it said last holds. */
  readonly whenPolicyFails?: 'deny' | 'allow' | PolicyInput | undefined
  /** Called after each decision of `consume` and `peek`, with a copy of it. What it throws, or its
   *  promise rejects with, becomes a warning, never a failed decision. */
  readonly onDecision?:
    | ((decision: Decision, key: string, mode: 'consume' | 'peek') => void)
    | undefined
  /** True: another limiter of this name on this store is meant to share its counters, so do not
   *  warn. */
  readonly shared?: boolean | undefined
}

type Watched = 'consume' | 'peek'

/** Options of one call of a limiter. */
export interface DecideOptions {
  /** Units that the request takes. Whole, >= 0; 0 is always allowed. Default 1. */
  readonly cost?: number | undefined
  /** What is allowed, for this call only, or a function that returns it. */
  readonly policy?: PolicyInput | (() => PolicyInput | Promise<PolicyInput>) | undefined
}

/**
 * Limits how often things may happen. Most callers want `consume`.
 *
 * A key is a text that is not empty, a whole number or a bigint; a number is the same key as its
 * text.
 *
 * Methods throw, and the asynchronous ones reject with:
 * - WEIR_INVALID_KEY, WEIR_INVALID_COST or WEIR_INVALID_OPTION, as TypeError or RangeError, before
 *   the store is asked
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
  /** False: switched off, so that everything is allowed and nothing counted. For an emergency; the
   *  default is true. */
  enabled = true

  /** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME,
   *  WEIR_INVALID_POLICY */
  constructor(options: RateLimiterOptions) {
    checkAll(options, 'RateLimiter', CHECKS)
    const { name, store = memoryStore(), policy, whenPolicyFails, whenUnavailable } = options
    const { onDecision, shared } = options
    this.name = name ?? 'default'
    this.store = store
    this.#layer = layerOf(store)
    this.#policy = policy
    this.#onDecision = onDecision
    const isNamed = name !== undefined
    this.#resolve = resolver({ limiter: this.name, isNamed, store, whenUnavailable })
    if (whenPolicyFails === 'deny' || whenPolicyFails === 'allow')
      this.#otherwise = whenPolicyFails === 'deny' ? DENIED : ALLOWED
    else if (whenPolicyFails !== undefined) this.#otherwise = this.#resolve(whenPolicyFails)
    if (typeof policy === 'function') return
    this.#fixed = this.#resolve(policy)
    if (!shared) warnOfNamesake(this.#fixed, store)
  }

  /** Takes `cost` units of every policy if all allow it; if not, takes nothing. */
  consume(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#promised('consume', key, options)
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
   * A decision is good for one refund, of all or of a part: the rest stays charged, and another
   * refund does nothing. Nor does that of a denied decision, or of one of `peek`, which charged
   * nothing. Throws WEIR_INVALID_COST for a `cost` above what was charged, and WEIR_INVALID_RECEIPT
   * for a copy of a decision (`structuredClone`, JSON) and for a decision of another limiter, which
   * is one of another name or on another store.
   *
   * Of a key: `cost`, default 1, of each policy, as far as there is anything to give back.
   * @example await limiter.refund(decision)
   * @example await limiter.refund(decision, { cost: 1 })
   * @example await limiter.refund('u42', { cost: 2 })
   */
  async refund(decision: Decision, options?: Pick<DecideOptions, 'cost'>): Promise<void>
  async refund(key: Key, options?: DecideOptions): Promise<void>
  async refund(of: Decision | Key, options?: DecideOptions): Promise<void> {
    if (typeof of === 'object' && of !== null) return this.#refundDecision(of, options)
    await this.#ask('refund', of, options)
  }

  /** Takes units unconditionally, past the limit if need be: a punishment, or a cost known only
   *  afterwards. */
  async penalty(key: Key, options?: DecideOptions): Promise<Decision> {
    return this.#ask('penalty', key, options)
  }

  /**
   * Forgets what was taken under a key, as if it had never been seen: the counters of the policies
   * that have no key of their own, and of those whose own key it is, under whatever tag. Counters
   * of other keys stay as they are, so `reset('u42')` leaves alone what a policy with the key
   * `'all'` counts, and `reset('all')` forgets it.
   * @example await limiter.reset('u42')
   */
  async reset(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    const text = checkedKey(key)
    if (options !== undefined) checkedOptions(options, 'reset()', ['policy'])
    const { policySet, ownKeys } = await this.#resolveFor('reset', text, options)
    if (policySet === undefined) return
    // Counters of other keys stay.
    const places = [...policySet.policies.keys()]
    const ofKey = places.filter((i) => (ownKeys?.[i]?.key ?? text) === text)
    if (ofKey.length === 0) return
    await this.store.reset(partOfTarget({ policySet, key: text, ownKeys }, ofKey))
  }

  async #refundDecision(decision: Decision, options: DecideOptions | undefined): Promise<void> {
    if (options !== undefined) checkedOptions(options, 'refund() of a decision', ['cost'])
    const cost = options?.cost === undefined ? undefined : checkedCost(options.cost)
    if (decision.allowed === false) return
    const { receipt } = decision
    if (!(receipt instanceof Receipt)) {
      const wrong = 'an object without a receipt, such as a copy by structuredClone or JSON'
      throw this.#wrongReceipt(`${wrong}; give the decision itself, or a key`)
    }
    const { request, result, spent } = receipt
    if (request === undefined || request.mode === 'peek') return
    const { policySet } = request.target
    if (policySet.name !== this.name) throw this.#notOurs(`the name "${policySet.name}"`)
    if (storeOf(policySet) !== this.store) throw this.#notOurs('that name on another store')
    if (spent) return
    const costs = cost === undefined ? request.costs : partOfCosts(request.costs, cost)
    receipt.spent = true
    const { untilUs, nowUs } = result
    await this.store.decide({ ...request, mode: 'refund', costs, untilUs, seenUs: nowUs })
  }

  #notOurs(whose: string): TypeError {
    return this.#wrongReceipt(`a decision of a limiter of ${whose}; refund it there`)
  }

  #wrongReceipt(given: string): TypeError {
    return typeError(
      'WEIR_INVALID_RECEIPT',
      `refund() of limiter "${this.name}" was given ${given}`,
    )
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
    const decision = this.#ask(mode, key, options)
    if (this.#onDecision === undefined) return decision
    if (isPromise(decision)) return decision.then((known) => this.#observed(mode, known))
    return this.#observed(mode, decision)
  }

  #observed(mode: Watched, decision: Decision): Decision {
    const copy = Object.freeze(copyOf(decision))
    notify('onDecision', this.name, () => this.#onDecision?.(copy, copy.key, mode))
    return decision
  }

  #ask(mode: Mode, of: Key, options?: DecideOptions): Decision | Promise<Decision> {
    if (!isOfCall(options)) checkedOptions(options as object, `${mode}()`, ['cost', 'policy'])
    const key = checkedKey(of)
    const cost = options?.cost === undefined ? 1 : checkedCost(options.cost)
    if (!this.enabled) return unlimitedDecision(this.name, key, DISABLED, true)
    const resolved = this.#resolveFor(mode, key, options)
    if (isPromise(resolved))
      return resolved.then((settled) => this.#askStore(settled, key, cost, mode))
    return this.#askStore(resolved, key, cost, mode)
  }

  #askStore(
    resolved: Resolved,
    key: string,
    cost: number,
    mode: Mode,
  ): Decision | Promise<Decision> {
    const { policySet, first, ownKeys, ownCosts } = resolved
    if (policySet === undefined) {
      if (resolved === DENIED) return withoutPolicy(this.name, key, first)
      return unlimitedDecision(this.name, key, first, resolved === ALLOWED)
    }
    const { policies } = policySet
    let costs = cost === 1 ? ONE : [cost]
    if (ownCosts !== undefined || policies.length > 1)
      costs = policies.map((_, i) => ownCosts?.[i] ?? cost)
    const request = { mode, target: { policySet, key, ownKeys }, costs, count: 1 }
    const pending = new PendingDecision(request)
    this.#layer.ask(request, pending)
    if (pending.decision !== undefined) return pending.decision
    if (pending.failure !== undefined) throw pending.failure.error
    waiting = pending
    return new Promise<Decision>(keepBoth)
  }

  #resolveFor(
    mode: Mode | 'reset',
    key: string,
    options?: DecideOptions,
  ): Resolved | Promise<Resolved> {
    const own = options?.policy
    if (own === undefined && this.#fixed !== undefined) return this.#fixed
    if (own !== undefined && typeof own !== 'function') return this.#resolve(own)
    const choose = own ?? (this.#policy as (key: string) => PolicyInput | Promise<PolicyInput>)
    if (choose === policyOfRequests) policyOfRequests(key, this.name, mode)
    try {
      const resolved = whenKnown(choose(key), (input) => this.#remembered(key, input))
      return isPromise(resolved)
        ? resolved.catch((error) => this.#lastGood(mode, key, error))
        : resolved
    } catch (error) {
      return this.#lastGood(mode, key, error)
    }
  }

  #remembered(key: string, input: PolicyInput): Resolved {
    const resolved = this.#resolve(input)
    this.#chosen.set(shortName(key), resolved)
    return resolved
  }

  /** The policy function threw or returned no policy: its last policy for this key is used, never
   *  "unlimited". */
  #lastGood(mode: Mode | 'reset', key: string, cause: unknown): Resolved {
    const problem = `the policy function of limiter "${this.name}" failed: ${quote(cause)}`
    const resolved = this.#chosen.get(shortName(key))
    if (resolved !== undefined) {
      warnOnce('WEIR_POLICY_FAILED', this.name, `${problem}; its last policy for a key is used`)
      return resolved
    }
    if (this.#otherwise === undefined || (mode !== 'consume' && mode !== 'peek')) {
      const right = 'mend it, or say with whenPolicyFails what holds for consume and peek meanwhile'
      const message = `${problem}, and never chose a policy for this key; ${right}`
      throw Object.assign(new Error(message, { cause }), { code: 'WEIR_POLICY_FAILED' })
    }
    warnOnce('WEIR_POLICY_FAILED', this.name, `${problem}; whenPolicyFails says what holds`)
    return this.#otherwise
  }
}

let waiting: PendingDecision
/**
 * An executor that is made once: one for each promise would be a third of what the promise takes.
 */
function keepBoth(resolve: (decision: Decision) => void, reject: (error: unknown) => void): void {
  waiting.resolve = resolve
  waiting.reject = reject
}

const CHECKS: Checks<RateLimiterOptions> = {
  name: (name) => checkedName(name as string, 'limiter name'),
  store: checkStore,
  policy: unchecked,
  whenPolicyFails: checkWhenPolicyFails,
  whenUnavailable: checkWhen,
  onDecision: ofType('function'),
  shared: unchecked,
}

function checkWhenPolicyFails(given: unknown): void {
  if (given === 'deny' || given === 'allow' || (typeof given === 'object' && given !== null)) return
  throw invalid('WEIR_INVALID_OPTION', 'whenPolicyFails', given, "'deny', 'allow' or a policy")
}

const MAX_CHOSEN = 10_000
const ONE: readonly number[] = Object.freeze([1])
const DISABLED = unlimited({ name: 'disabled' })
const UNKNOWN = unlimited({ name: 'policy-failed' })
const ALLOWED: Resolved = { policySet: undefined, first: UNKNOWN }
const DENIED: Resolved = { policySet: undefined, first: UNKNOWN }

/** In place of a policy: each call brings one, as it is a function of the request. */
export function policyOfRequests(_key: string, limiter = '', method = 'consume'): never {
  const why = `limiter "${limiter}" takes its policy from each request, so a key alone does not tell`
  const right = `give the policy, too: ${method}(key, { policy })`
  const byLimit = 'where limit and window choose it, it is slidingWindow({ name, limit, window })'
  const problem = `${why} which counters are meant; ${right}; ${byLimit} with the limiter's name`
  throw typeError('WEIR_INVALID_POLICY', problem)
}

/** Not by a list of names, whose methods would take a tenth of a decision in memory. */
function isOfCall(options: DecideOptions | undefined): boolean {
  for (const name in options) if (name !== 'cost' && name !== 'policy') return false
  return options === undefined || (typeof options === 'object' && options !== null)
}

/** Of each policy at most what it was charged: one with a cost of its own may have been charged
 *  less than others. */
function partOfCosts(charged: readonly number[], cost: number): readonly number[] {
  const most = Math.max(...charged)
  if (cost > most) {
    const problem = `cost is ${cost}, but ${most} was charged; give ${most} or less`
    throw rangeError('WEIR_INVALID_COST', problem)
  }
  return charged.map((each) => Math.min(each, cost))
}
