import { type Decision, decisionOf, unlimitedDecision } from './decision.js'
import { quote, typeError } from './errors.js'
import { checkedOptions } from './options.js'
import { unlimited } from './policies/unlimited.js'
import { checkedName, counterOf } from './policy.js'
import { isPromise } from './promise.js'
import {
  checkedCost,
  checkedKey,
  checkedWhen,
  costsOf,
  type KernelsByName,
  type PolicyInput,
  type Resolved,
  Resolver,
  subjectOf,
} from './resolve.js'
import type { Group, Mode, Plan, Store, WhenUnavailable } from './store.js'
import { shortName } from './stores/key-hash.js'
import { memoryStore } from './stores/memory.js'
import { Recent } from './stores/recent.js'
import { warnOnce } from './warnings.js'

export type { PolicyInput, PolicyUse } from './resolve.js'

export interface RateLimiterOptions {
  /** The limiter's identity across processes: same name on one store, same counters. Default `'default'`, and then the
   *  limits of policies without a name are in their names, so that two such limiters on one store stay apart. */
  readonly name?: string
  /** Where counters live. Default: a `memoryStore()` of its own, which other processes do not see. */
  readonly store?: Store
  /** What is allowed; or a function of the key that tells. */
  readonly policy: PolicyInput | ((key: string) => PolicyInput | Promise<PolicyInput>)
  /** When the store cannot decide. Default: as the store is told, which is `'local'` for a Redis store. */
  readonly whenUnavailable?: WhenUnavailable
  /** Called after each decision of `consume` and `peek`, with a copy of it. What it throws, or its promise rejects with,
   *  becomes a warning, never a failed decision. */
  readonly onDecision?: (decision: Decision, key: string, mode: 'consume' | 'peek') => void
  /** True: another limiter of this name on this store is meant to share its counters, so do not warn. */
  readonly shared?: boolean
}

export interface DecideOptions {
  /** Units that the request takes. Whole, >= 0; 0 is always allowed. Default 1. */
  readonly cost?: number
  /** What is allowed, for this call only; or a function that tells. */
  readonly policy?: PolicyInput | (() => PolicyInput | Promise<PolicyInput>)
}

/**
 * Limits how often things may happen. Most callers want `consume`.
 *
 * All methods throw (the asynchronous ones reject with) WEIR_INVALID_KEY and WEIR_INVALID_COST, as TypeError or
 * RangeError, before the store is asked, WEIR_POLICY_FAILED if a policy function fails for a key that it has never been
 * asked about, and a `StoreError` if the store cannot decide.
 * @example
 * const limiter = new RateLimiter({ name: 'login', policy: slidingLog({ limit: 5, window: '15m' }) })
 * const decision = await limiter.consume('u42')
 * if (!decision.allowed) console.log(`again in ${decision.retryAfterMs} ms`)
 */
export class RateLimiter {
  readonly name: string
  readonly store: Store
  readonly #policy: RateLimiterOptions['policy']
  readonly #onDecision: RateLimiterOptions['onDecision']
  readonly #resolver: Resolver
  readonly #fixed: Resolved | undefined
  /** What a policy function said of the keys seen lately. */
  readonly #chosen: Recent<Resolved> = new Recent(MAX_CHOSEN)
  #enabled = true

  /** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, WEIR_INVALID_POLICY */
  constructor(options: RateLimiterOptions) {
    checkedOptions(options, 'RateLimiter', OPTIONS)
    const { name, store = memoryStore(), policy, onDecision, shared = false } = options
    if (typeof store?.decide !== 'function') {
      throw typeError(
        'WEIR_INVALID_OPTION',
        `store is ${quote(store)}; give memoryStore(), redisStore(...) or your own`,
      )
    }
    if (onDecision !== undefined && typeof onDecision !== 'function') {
      throw typeError('WEIR_INVALID_OPTION', `onDecision is ${quote(onDecision)}; give a function`)
    }
    this.name = name === undefined ? 'default' : checkedName(name, 'limiter name')
    this.store = store
    this.#policy = policy
    this.#onDecision = onDecision
    const owner = { limiter: this.name, isNamed: name !== undefined }
    this.#resolver = new Resolver(owner, checkedWhen(options.whenUnavailable), usedOn(store).kernels)
    if (typeof policy !== 'function') {
      this.#fixed = this.#resolver.resolve(policy)
      if (!shared) this.#warnOfNamesake(this.#fixed.plan)
    }
  }

  /** Takes `cost` units of every policy if all allow it; if not, takes nothing. */
  consume(key: string, options?: DecideOptions): Promise<Decision> {
    return this.#promised(key, options, 'consume')
  }

  /** What `consume` would answer now. Takes nothing. */
  peek(key: string, options?: DecideOptions): Promise<Decision> {
    return this.#promised(key, options, 'peek')
  }

  /**
   * `consume` without a promise where the store answers at once, as the memory store does: for adapters that want to
   * go on in the same turn of the event loop. Throws, or rejects, what `consume` rejects.
   */
  decide(key: string, options?: DecideOptions): Decision | Promise<Decision> {
    return this.#decide(key, options, 'consume')
  }

  /**
   * Gives units back: those of an allowed decision, as far as they still weigh, never into a later window, and once
   * at the most; or a cost, when only the key is known, as far as there is anything to give back.
   * @example await limiter.refund(decision)
   * @example await limiter.refund('u42', { cost: 2 })
   */
  async refund(decision: Decision): Promise<void>
  async refund(key: string, options?: DecideOptions): Promise<void>
  async refund(of: Decision | string, options?: DecideOptions): Promise<void> {
    if (typeof of === 'object' && of !== null) return this.#refundReceipt(checkedDecision(of))
    await this.#ask(of, options, 'refund')
  }

  /** Takes units unconditionally, past the limit if need be: a punishment, or a cost known only afterwards. */
  async penalty(key: string, options?: DecideOptions): Promise<Decision> {
    return this.#ask(key, options, 'charge')
  }

  /** Forgets what was taken: the key is as if it had never been seen. */
  async reset(key: string, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    const resolved = await this.#resolveFor(checkedKey(key), options)
    if (resolved.plan !== undefined) await this.store.reset(subjectOf(resolved, resolved.plan, key))
  }

  /** False: switched off, so that everything is allowed and nothing counted. For an emergency; the default is true. */
  get enabled(): boolean {
    return this.#enabled
  }

  set enabled(on: boolean) {
    this.#enabled = on
  }

  async #refundReceipt(decision: Decision): Promise<void> {
    if (!decision.allowed || decision.receipt.spent) return
    const { receipt } = decision
    const { group, answer } = receipt
    receipt.spent = true
    if (group === undefined || group.mode === 'peek') return
    const { untilUs, nowUs } = answer
    await this.store.decide({ ...group, mode: 'refund', untilUs, seenUs: nowUs })
  }

  /** What an async method would do, without a promise beside the one that there is. */
  #promised(key: string, options: DecideOptions | undefined, mode: 'consume' | 'peek'): Promise<Decision> {
    try {
      return Promise.resolve(this.#decide(key, options, mode))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #decide(
    key: string,
    options: DecideOptions | undefined,
    mode: 'consume' | 'peek',
  ): Decision | Promise<Decision> {
    const decision = this.#ask(key, options, mode)
    if (this.#onDecision === undefined) return decision
    if (isPromise(decision)) return decision.then((settled) => this.#observed(settled, key, mode))
    return this.#observed(decision, key, mode)
  }

  #ask(key: string, options: DecideOptions | undefined, mode: Mode): Decision | Promise<Decision> {
    checkedKey(key)
    const cost = options?.cost === undefined ? 1 : checkedCost(options.cost)
    if (!this.#enabled) return unlimitedDecision(key, DISABLED, true)
    const resolved = this.#resolveFor(key, options)
    if (isPromise(resolved)) return resolved.then((settled) => this.#askStore(settled, key, cost, mode))
    return this.#askStore(resolved, key, cost, mode)
  }

  #askStore(resolved: Resolved, key: string, cost: number, mode: Mode): Decision | Promise<Decision> {
    const { plan } = resolved
    if (plan === undefined) return unlimitedDecision(key, resolved.first)
    const costs = costsOf(resolved, plan, cost)
    const group: Group = { plan, key, ownKeys: resolved.ownKeys, mode, costs }
    if (this.store.decideAs !== undefined) return this.store.decideAs(group, decisionOf)
    const answer = this.store.decide(group)
    if (isPromise(answer)) return Promise.resolve(answer).then((settled) => decisionOf(group, settled))
    return decisionOf(group, answer)
  }

  #resolveFor(key: string, options: DecideOptions | undefined): Resolved | Promise<Resolved> {
    const own = options?.policy
    if (own === undefined && this.#fixed !== undefined) return this.#fixed
    if (own !== undefined && typeof own !== 'function') return this.#resolver.resolve(own)
    const choose = own ?? (this.#policy as (key: string) => PolicyInput | Promise<PolicyInput>)
    try {
      const input = choose(key)
      if (!isPromise(input)) return this.#known(key, this.#resolver.resolve(input))
      return Promise.resolve(input)
        .then((settled) => this.#known(key, this.#resolver.resolve(settled)))
        .catch((error) => this.#lastGood(key, error))
    } catch (error) {
      return this.#lastGood(key, error)
    }
  }

  #known(key: string, resolved: Resolved): Resolved {
    this.#chosen.set(shortName(key), resolved)
    return resolved
  }

  /** The policy function threw or returned no policy: what it said last of this key holds, never "unlimited". */
  #lastGood(key: string, cause: unknown): Resolved {
    const problem = `the policy function of limiter "${this.name}" failed: ${quote(cause)}`
    const resolved = this.#chosen.get(shortName(key))
    if (resolved === undefined)
      throw Object.assign(new Error(problem, { cause }), { code: 'WEIR_POLICY_FAILED' })
    warnOnce('WEIR_POLICY_FAILED', this.name, `${problem}; what it said before of a key holds`)
    return resolved
  }

  #observed(decision: Decision, key: string, mode: 'consume' | 'peek'): Decision {
    try {
      const done: unknown = this.#onDecision?.(Object.freeze({ ...decision }), key, mode)
      if (isPromise(done)) Promise.resolve(done).catch((error) => this.#warnOfObserver(error))
    } catch (error) {
      this.#warnOfObserver(error)
    }
    return decision
  }

  #warnOfObserver(error: unknown): void {
    warnOnce('WEIR_OBSERVER_FAILED', this.name, `onDecision of limiter "${this.name}" threw: ${quote(error)}`)
  }

  #warnOfNamesake(plan: Plan | undefined): void {
    const { counters } = usedOn(this.store)
    for (const policy of plan?.policies ?? []) {
      const name = `${this.name}/${policy.name}`
      const counter = `${name}/${counterOf(policy)}`
      if (counters.has(counter)) {
        const remedy = 'give each limiter a name, or pass shared: true if they are meant to share'
        warnOnce(
          'WEIR_SHARED_NAME',
          name,
          `two limiters named "${name}" on one store share their counters; ${remedy}`,
        )
      }
      counters.add(counter)
    }
  }
}

const OPTIONS = ['name', 'store', 'policy', 'whenUnavailable', 'onDecision', 'shared']
const MAX_CHOSEN = 10_000
const DISABLED = unlimited({ name: 'disabled' })

/** What limiters count on a store, for warnings. */
interface Used {
  /** Of policies that are the same for all requests: names of limiter and policy, and the counter. */
  readonly counters: Set<string>
  readonly kernels: KernelsByName
}

const used: WeakMap<Store, Used> = new WeakMap()

function usedOn(store: Store): Used {
  let known = used.get(store)
  if (known === undefined) {
    known = { counters: new Set(), kernels: new Map() }
    used.set(store, known)
  }
  return known
}

function checkedDecision(decision: Decision): Decision {
  if (decision.allowed === false || (decision.allowed && typeof decision.receipt === 'object'))
    return decision
  throw typeError('WEIR_INVALID_OPTION', `refund() was given ${quote(decision)}; give a decision, or a key`)
}
