// A limiter over one of Weir's stores: its methods, and its insurance.

import type { Store } from '@weir/core'
import { misuse, shown } from '../checked.js'
import { keyOf } from '../key.js'
import { RateLimiterAbstract } from './abstract.js'
import { checkedLimiter, type Key, type RateLimiterLike } from './compatible.js'
import { Consuming, isOfStore } from './consuming.js'
import { countersOf } from './counters.js'
import { InOrder } from './in-order.js'
import { checkedPoints, type IRateLimiterStoreOptions, msOf } from './options.js'
import { RateLimiterRes } from './result.js'

/** The counters for a key prefix and an insurance, both of which may change. */
interface Made {
  readonly keyPrefix: string
  readonly isInsured: boolean
  readonly consuming: Consuming
}

/** What a method does, and under which name of the key. */
type Action<Result> = (consuming: Consuming, name: string) => Promise<Result>

export abstract class RateLimiterStoreAbstract extends RateLimiterAbstract {
  blockOnConsumed: number
  readonly inMemoryBlockOnConsumed: number
  readonly inMemoryBlockDuration: number
  insuranceLimiter: RateLimiterLike | undefined
  readonly #store: Store
  readonly #inOrder: InOrder = new InOrder()
  #made: Made | undefined

  constructor(options: Omit<IRateLimiterStoreOptions, 'storeClient'>, store: Store) {
    super(options)
    const { points } = this
    const { blockOnConsumed, inMemoryBlockOnConsumed, inMemoryBlockDuration } = options
    this.blockOnConsumed = threshold('blockOnConsumed', blockOnConsumed, points)
    this.inMemoryBlockOnConsumed = threshold(
      'inMemoryBlockOnConsumed',
      inMemoryBlockOnConsumed,
      points,
    )
    this.inMemoryBlockDuration = inMemoryBlockDuration ?? 0
    if (this.inMemoryBlockDuration !== 0) {
      msOf('inMemoryBlockDuration', inMemoryBlockDuration)
      if (this.inMemoryBlockOnConsumed === 0)
        throw misuse('inMemoryBlockDuration is set; give inMemoryBlockOnConsumed beside it')
    }
    const { insuranceLimiter } = options
    if (insuranceLimiter !== undefined) {
      this.insuranceLimiter = checkedLimiter('insuranceLimiter', insuranceLimiter)
      insuranceLimiter.blockDuration = this.blockDuration
      insuranceLimiter.execEvenly = this.execEvenly
    }
    this.#store = store
    this.#now // Throws if something is wrong with the store.
  }

  /**
   * Takes points. Rejects with a RateLimiterRes if too few are left or the key is blocked, and with
   * an Error if Redis is away, the store has `whenUnavailable: 'throw'`, and there is no insurance.
   * @example await limiter.consume('u42', 2)
   */
  async consume(key: Key, pointsToConsume: number = 1, options?: object): Promise<RateLimiterRes> {
    const cost = pointsOf('consume', pointsToConsume)
    this.#checkOptions(options)
    return this.#insured(
      () => this.#act(key, (consuming, name) => consuming.consume(name, cost)),
      (other) => other.consume(key, cost, options),
    )
  }

  /** Takes points, past the limit if need be. Blocks nobody. */
  async penalty(key: Key, points: number = 1, options?: object): Promise<RateLimiterRes> {
    const cost = pointsOf('penalty', points)
    this.#checkOptions(options)
    return this.#insured(
      () =>
        this.#act(key, async (consuming, name) =>
          consuming.resultOf(await consuming.charge(name, cost), cost),
        ),
      (other) => other.penalty(key, cost, options),
    )
  }

  /** Gives points back, at most as many as were taken. Ends no block. */
  async reward(key: Key, points: number = 1, options?: object): Promise<RateLimiterRes> {
    const cost = pointsOf('reward', points)
    this.#checkOptions(options)
    return this.#insured(
      () =>
        this.#act(key, async (consuming, name) =>
          consuming.resultOf(await consuming.giveBack(name, cost), -cost),
        ),
      (other) => other.reward(key, cost, options),
    )
  }

  /** What was taken; null if nothing was. */
  async get(key: Key, options?: object): Promise<RateLimiterRes | null> {
    return this.#insured(
      () =>
        this.#act(key, async (consuming, name) => {
          const counted = await consuming.look(name)
          return counted.consumed > 0 || counted.isBlocked ? consuming.resultOf(counted) : null
        }),
      (other) => other.get(key, options),
    )
  }

  /**
   * Begins a window in which `points` are taken, and ends a block.
   * @param secDuration the limiter's `duration`, or a negative number, which means the same
   */
  async set(
    key: Key,
    points: number,
    secDuration: number,
    options?: object,
  ): Promise<RateLimiterRes> {
    const cost = pointsOf('set', points)
    this.#checkDuration('secDuration of set()', secDuration < 0 ? undefined : secDuration)
    return this.#insured(
      () =>
        this.#startAfresh(key, async (consuming, name) => {
          await consuming.forget(name)
          if (cost > 0) await consuming.charge(name, cost)
          return new RateLimiterRes(0, this.msDuration, cost)
        }),
      (other) => other.set(key, cost, secDuration, options),
    )
  }

  /** Refuses a key for `secDuration` seconds. A block that lasts longer stays. While Redis is away,
   *  this process alone refuses the key, until Redis is back. */
  async block(key: Key, secDuration: number, options?: object): Promise<RateLimiterRes> {
    const ms = msOf('secDuration of block()', secDuration)
    const blocked = new RateLimiterRes(0, ms, this.#now.consuming.blockedPoints)
    return this.#insured(
      () =>
        this.#inSteps(key, async (consuming, name) => {
          await consuming.block(name, ms)
          return blocked
        }),
      (other) => other.block(key, secDuration, options),
      blocked,
    )
  }

  /** Forgets what was taken under a key, and ends its block. False: there was nothing, or Redis is
   *  away. */
  async delete(key: Key, options?: object): Promise<boolean> {
    return this.#insured(
      () =>
        this.#startAfresh(key, async (consuming, name) => {
          const { consumed, isBlocked, isLocal } = await consuming.look(name)
          if (isLocal) return false
          await consuming.forget(name)
          return consumed > 0 || isBlocked
        }),
      (other) => other.delete(key, options),
      false,
    )
  }

  /** Lets Redis decide again on keys that were refused without a call. */
  deleteInMemoryBlockedAll(): void {
    this.#now.consuming.unsilence()
  }

  get #now(): Made {
    const { keyPrefix } = this
    const isInsured = this.insuranceLimiter !== undefined
    const made = this.#made
    if (made?.keyPrefix === keyPrefix && made.isInsured === isInsured) return made
    const counters = countersOf(this.#store, keyPrefix, isInsured ? 'throw' : undefined)
    this.#made = { keyPrefix, isInsured, consuming: new Consuming(this, counters) }
    return this.#made
  }

  #act<Result>(key: Key, action: Action<Result>): Promise<Result> {
    const name = keyOf(key)
    return this.#inOrder.act(name, () => action(this.#now.consuming, name))
  }

  /** For actions that ask the store twice. */
  #inSteps<Result>(key: Key, action: Action<Result>): Promise<Result> {
    const name = keyOf(key)
    return this.#inOrder.inSteps(name, () => action(this.#now.consuming, name))
  }

  #startAfresh<Result>(key: Key, action: Action<Result>): Promise<Result> {
    this.#now.consuming.startsAfresh(keyOf(key))
    return this.#inSteps(key, action)
  }

  /** @param otherwise the result without an insurance; undefined: the error is thrown */
  async #insured<Result>(
    ask: () => Promise<Result>,
    askOther: (other: RateLimiterLike) => Promise<Result>,
    otherwise?: Result,
  ): Promise<Result> {
    try {
      return await ask()
    } catch (error) {
      if (!isOfStore(error)) throw error
      if (this.insuranceLimiter !== undefined) return askOther(this.insuranceLimiter)
      if (otherwise === undefined) throw error
      return otherwise
    }
  }

  #checkOptions(options: object | undefined): void {
    const { customDuration } = (options ?? {}) as { readonly customDuration?: unknown }
    this.#checkDuration('customDuration', customDuration)
  }

  #checkDuration(what: string, seconds: unknown): void {
    if (seconds === undefined || seconds === this.duration) return
    const right = `${this.duration}, or use another limiter, or block()`
    throw misuse(`${what} is ${shown(seconds)}, not the limiter's duration; give ${right}`)
  }
}

function threshold(what: string, given: number | undefined, points: number): number {
  return given ? checkedPoints(what, given, points) : 0
}

/** Programs without types also give texts, of a configuration or a query, as they may there. */
function pointsOf(method: string, given: unknown): number {
  const isNumber = typeof given === 'string' && /^[1-9]\d*$/.test(given)
  return checkedPoints(`points of ${method}()`, isNumber ? Number(given) : given)
}
