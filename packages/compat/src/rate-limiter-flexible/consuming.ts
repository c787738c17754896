// How `consume` counts. As rate-limiter-flexible does, it counts what it refuses: callers look at
// `consumedPoints`, such as to refuse a log-in before the password is checked.

import type { Counted, Counters, Limit } from './counters.js'
import { RateLimiterRes } from './result.js'
import { Until } from './until.js'

/** Those of a limiter, as they are at the time. */
export interface Rules {
  readonly points: number
  readonly msDuration: number
  readonly blockDuration: number
  readonly msBlockDuration: number
  readonly blockOnConsumed: number
  readonly inMemoryBlockOnConsumed: number
  readonly inMemoryBlockDuration: number
  readonly execEvenly: boolean
  readonly execEvenlyMinDelayMs: number
}

export class Consuming {
  readonly #rules: Rules
  readonly #counters: Counters
  /** Keys that are past their limit: they are charged at once. */
  readonly #past: Until = new Until()
  /** Keys that are refused without a call. */
  readonly #silent: Until = new Until()

  constructor(rules: Rules, counters: Counters) {
    this.#rules = rules
    this.#counters = counters
  }

  get limit(): Limit {
    const { points, msDuration } = this.#rules
    return { points, windowMs: msDuration }
  }

  /** How many points a blocked key is said to have taken. */
  get blockedPoints(): number {
    const { points, blockOnConsumed } = this.#rules
    return Math.max(points + 1, blockOnConsumed)
  }

  /** Resolves to what is granted, and rejects with what is refused. */
  async consume(key: string, cost: number): Promise<RateLimiterRes> {
    const counters = this.#counters
    const { limit } = this
    const silentMs = this.#silent.leftMs(key)
    if (silentMs > 0) throw new RateLimiterRes(0, silentMs)
    if (cost === 0) return this.#judged(await counters.look(limit, key), key, cost)
    const charged = await this.#chargedAgain(key, cost)
    if (charged !== undefined) return this.#judged(charged, key, cost)
    const taken = await counters.take(limit, key, cost)
    if (taken.allowed || taken.isBlocked) return this.#judged(taken, key, cost)
    // What this process refuses alone, by its part of the limit, Redis may well allow: it counts
    // for nothing, and begins no block.
    if (taken.isLocal) throw new RateLimiterRes(0, taken.leftMs, taken.consumed + cost)
    return this.#judged(await counters.charge(limit, key, cost), key, cost)
  }

  /** @throws {StoreError} where it is blocked in this process alone */
  async block(key: string, ms: number): Promise<void> {
    this.#past.delete(key)
    await this.#counters.block(this.limit, key, ms)
  }

  async forget(key: string): Promise<void> {
    this.#past.delete(key)
    this.#silent.delete(key)
    await this.#counters.forget(this.limit, key)
  }

  /** Asks again of the keys that are refused without a call. */
  unsilence(): void {
    this.#silent.clear()
  }

  /** @param unknown points that are said to be taken where that is not known */
  resultOf(counted: Counted, cost: number = 0, unknown: number = cost): RateLimiterRes {
    const { consumed = unknown, leftMs, isBlocked } = counted
    const points = isBlocked ? this.blockedPoints : consumed
    const isFirst = cost > 0 && points === cost
    return new RateLimiterRes(Math.max(0, this.#rules.points - points), leftMs, points, isFirst)
  }

  /** One call instead of two for a key that is past its limit. Undefined: ask as for any other, as
   *  it is not, or no longer. */
  async #chargedAgain(key: string, cost: number): Promise<Counted | undefined> {
    if (this.#past.leftMs(key) === 0) return undefined
    const charged = await this.#counters.charge(this.limit, key, cost)
    if (charged.consumed === undefined || charged.consumed > this.#rules.points) return charged
    // It was given back, forgotten or blocked elsewhere.
    this.#past.delete(key)
    await this.#counters.giveBack(this.limit, key, cost)
    return undefined
  }

  async #judged(counted: Counted, key: string, cost: number): Promise<RateLimiterRes> {
    const rules = this.#rules
    const { points, inMemoryBlockOnConsumed: most, inMemoryBlockDuration } = rules
    const result = this.resultOf(counted, cost, points + cost)
    const { consumedPoints, isFirstInDuration, msBeforeNext } = result
    const isSilenced = most > 0 && consumedPoints >= most
    if (consumedPoints > points) {
      let ms = await this.#refusedMs(counted, key, cost)
      if (isSilenced) {
        if (inMemoryBlockDuration > 0) ms = inMemoryBlockDuration * 1_000
        this.#silent.add(key, ms)
      }
      throw new RateLimiterRes(0, ms, consumedPoints, isFirstInDuration)
    }
    if (isSilenced && inMemoryBlockDuration === 0) this.#silent.add(key, msBeforeNext)
    return !rules.execEvenly || isFirstInDuration || cost === 0 ? result : this.#later(result)
  }

  /** Begins a block where the limit is passed now. */
  async #refusedMs(counted: Counted, key: string, cost: number): Promise<number> {
    const { consumed, isBlocked, leftMs } = counted
    if (isBlocked || consumed === undefined) return leftMs
    const most = this.blockedPoints
    const { blockDuration, msBlockDuration } = this.#rules
    if (blockDuration > 0 && consumed >= most && consumed - cost < most) {
      // The window goes on to refuse where Redis cannot be told.
      await this.block(key, msBlockDuration).catch(unlessOfStore)
      return msBlockDuration
    }
    this.#past.add(key, leftMs)
    return leftMs
  }

  /** As rate-limiter-flexible spreads what is left over what is left of the window. */
  async #later(result: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints } = result
    const { execEvenlyMinDelayMs: leastMs } = this.#rules
    const evenMs = Math.ceil(msBeforeNext / (remainingPoints + 2))
    const ms = evenMs < leastMs ? consumedPoints * leastMs : evenMs
    await new Promise((resolve) => setTimeout(resolve, ms))
    return new RateLimiterRes(remainingPoints, Math.max(0, msBeforeNext - ms), consumedPoints)
  }
}

/** A StoreError, also of another copy of @weir/core. */
export function isOfStore(error: unknown): boolean {
  return error instanceof Error && error.name === 'StoreError'
}

function unlessOfStore(error: unknown): void {
  if (!isOfStore(error)) throw error
}
