// How `consume` counts. As rate-limiter-flexible does, it counts what it refuses: callers look at
// `consumedPoints`, such as to refuse a log-in before the password is checked. The first refusal of
// a key is charged, so that all processes hear of it; later ones are counted in this process alone.
// Were each charged, those that are on their way when a window ends would use up the next one.

import type { Counted, Counters, Limit, Taken } from './counters.js'
import { Kept } from './kept.js'
import { RateLimiterRes } from './result.js'

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

/** What this process has refused of a key in a window. */
interface Refusals {
  /** What the store had counted, with the first of them. */
  counted: Promise<number>
  /** Points of the others. */
  points: number
}

/** Longer timers would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export class Consuming {
  readonly #rules: Rules
  readonly #counters: Counters
  readonly #refusals: Kept<Refusals> = new Kept()
  /** Keys that are refused without a call. */
  readonly #silent: Kept<true> = new Kept()

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
    const { limit } = this
    const silentMs = this.#silent.leftMs(key)
    if (silentMs > 0) throw new RateLimiterRes(0, silentMs)
    if (cost === 0) {
      const counted = await this.look(key)
      if (counted.isBlocked || counted.consumed > limit.points) return this.#refuse(counted, key, 0)
      return this.#grant(counted, key, 0)
    }
    const taken = await this.#counters.take(limit, key, cost)
    if (taken.allowed) {
      this.#refusals.delete(key)
      return this.#grant(taken, key, cost)
    }
    // What this process refuses alone, by its part of the limit, Redis may well allow: it counts
    // for nothing, and begins no block.
    if (taken.isLocal && !taken.isBlocked)
      throw new RateLimiterRes(0, taken.leftMs, taken.consumed + cost)
    const consumed = taken.isBlocked ? taken.consumed : await this.#counted(taken, key, cost)
    return this.#refuse({ ...taken, consumed }, key, cost)
  }

  /** Takes points, past the limit if need be. */
  async charge(key: string, points: number): Promise<Counted> {
    const charged = await this.#counters.charge(this.limit, key, points)
    const refusals = this.#refusals.get(key)
    if (refusals !== undefined && charged.consumed !== undefined)
      refusals.counted = Promise.resolve(charged.consumed)
    return this.#withRefusals(charged, key)
  }

  /** Gives points back, first of those that were refused here, and says what is left. */
  async giveBack(key: string, points: number): Promise<Counted> {
    const refusals = this.#refusals.get(key)
    const refused = Math.min(points, refusals?.points ?? 0)
    if (refusals !== undefined) refusals.points -= refused
    const taken = points - refused
    // In one turn, so that a Redis that does not answer is waited for once.
    const [, counted] = await Promise.all([
      taken > 0 ? this.#counters.giveBack(this.limit, key, taken) : undefined,
      this.#counters.look(this.limit, key),
    ])
    if (taken > 0) this.#refusals.delete(key)
    return this.#withRefusals(counted, key)
  }

  /** What was taken. */
  async look(key: string): Promise<Counted & { readonly consumed: number }> {
    return this.#withRefusals(await this.#counters.look(this.limit, key), key)
  }

  /** @throws {StoreError} where it is blocked in this process alone */
  async block(key: string, ms: number): Promise<void> {
    this.#refusals.delete(key)
    await this.#counters.block(this.limit, key, ms)
  }

  async forget(key: string): Promise<void> {
    this.#refusals.delete(key)
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

  /** How many points are taken with those that are refused now. */
  async #counted({ leftMs }: Taken, key: string, cost: number): Promise<number> {
    const { limit } = this
    const known = this.#refusals.get(key)
    if (known !== undefined) {
      known.points += cost
      const { points } = known
      return (await known.counted) + points
    }
    const counted = this.#counters.charge(limit, key, cost).then(
      ({ consumed }) => {
        if (consumed === undefined) this.#refusals.delete(key)
        // The window may have ended meanwhile, and then it is that which refused.
        const isPast = consumed !== undefined && consumed > limit.points
        return isPast ? consumed : limit.points + cost
      },
      (error) => {
        this.#refusals.delete(key)
        throw error
      },
    )
    this.#refusals.set(key, { counted, points: 0 }, leftMs)
    // In the turn of the others, whose order stays so.
    return await counted
  }

  #withRefusals<Of extends Counted>(counted: Of, key: string): Of {
    const refused = this.#refusals.get(key)?.points ?? 0
    const { consumed, isBlocked } = counted
    if (refused === 0 || isBlocked || consumed === undefined) return counted
    if (consumed >= this.#rules.points) return { ...counted, consumed: consumed + refused }
    // It was given back or forgotten elsewhere.
    this.#refusals.delete(key)
    return counted
  }

  #grant(counted: Counted, key: string, cost: number): RateLimiterRes | Promise<RateLimiterRes> {
    const { inMemoryBlockOnConsumed: most, inMemoryBlockDuration, execEvenly } = this.#rules
    const result = this.resultOf(counted, cost)
    const { consumedPoints, isFirstInDuration, msBeforeNext } = result
    if (most > 0 && consumedPoints >= most && inMemoryBlockDuration === 0)
      this.#silent.set(key, true, msBeforeNext)
    return !execEvenly || isFirstInDuration || cost === 0 ? result : this.#later(result)
  }

  async #refuse(counted: Counted, key: string, cost: number): Promise<never> {
    const { inMemoryBlockOnConsumed: most, inMemoryBlockDuration } = this.#rules
    const { consumedPoints, isFirstInDuration } = this.resultOf(counted, cost)
    let ms = await this.#refusedMs(counted, key, cost)
    if (most > 0 && consumedPoints >= most) {
      if (inMemoryBlockDuration > 0) ms = inMemoryBlockDuration * 1_000
      this.#silent.set(key, true, ms)
    }
    throw new RateLimiterRes(0, ms, consumedPoints, isFirstInDuration)
  }

  /** Begins a block where the limit is passed now. */
  async #refusedMs(counted: Counted, key: string, cost: number): Promise<number> {
    const { consumed = 0, isBlocked, leftMs } = counted
    const most = this.blockedPoints
    const { blockDuration, msBlockDuration } = this.#rules
    const isPassed = consumed >= most && consumed - cost < most
    if (isBlocked || blockDuration === 0 || !isPassed) return leftMs
    // The window goes on to refuse where Redis cannot be told.
    await this.block(key, msBlockDuration).catch(unlessOfStore)
    return msBlockDuration
  }

  /** As rate-limiter-flexible spreads what is left over what is left of the window. */
  async #later(result: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints } = result
    const { execEvenlyMinDelayMs: leastMs } = this.#rules
    const evenMs = Math.ceil(msBeforeNext / (remainingPoints + 2))
    const ms = evenMs < leastMs ? consumedPoints * leastMs : evenMs
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS)))
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
