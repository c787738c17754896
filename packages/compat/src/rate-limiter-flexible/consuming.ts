// How `consume` counts. Like rate-limiter-flexible, it counts what it refuses: callers look at
// `consumedPoints`, for example to refuse a log-in before they check the password. A key's first
// refusal is charged, so that all processes hear of it; later ones are counted in this process
// alone. If each were charged, those in flight at the end of a window would use up the next one.

import type { Counted, Counters, Limit, Taken } from './counters.js'
import { Kept } from './kept.js'
import { RateLimiterRes } from './result.js'

/** A limiter's settings, as they are at the moment. */
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

/** What this process has refused under a key in a window. */
interface Refusals {
  /** What the store had counted, the first refusal included. */
  counted: Promise<number>
  /** The points of the other refusals. */
  points: number
}

/** Longer than a call may take. */
const CALL_MS = 120_000

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export class Consuming {
  readonly #rules: Rules
  readonly #counters: Counters
  readonly #refusals: Kept<Refusals> = new Kept()
  /** Keys that are refused without a call. */
  readonly #silent: Kept<true> = new Kept()
  /** When keys were last made to start afresh. */
  readonly #starts: Kept<object> = new Kept()

  constructor(rules: Rules, counters: Counters) {
    this.#rules = rules
    this.#counters = counters
  }

  get limit(): Limit {
    const { points, msDuration } = this.#rules
    return { points, windowMs: msDuration }
  }

  /** How many points are reported for a blocked key. */
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
    const start = this.#starts.get(key)
    const taken = await this.#counters.take(limit, key, cost)
    if (taken.allowed) {
      this.#refusals.delete(key)
      return this.#grant(taken, key, cost)
    }
    // Redis may well allow what this process refuses alone, by its part of the limit: such a
    // refusal counts for nothing, and begins no block. Nor does one of a window that was ended by a
    // later call.
    const isPast = this.#starts.get(key) !== start
    if ((taken.isLocal || isPast) && !taken.isBlocked)
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

  /** Gives points back, first those that were refused here, and returns the new count. */
  async giveBack(key: string, points: number): Promise<Counted> {
    const refusals = this.#refusals.get(key)
    const refused = Math.min(points, refusals?.points ?? 0)
    if (refusals !== undefined) refusals.points -= refused
    const taken = points - refused
    // Both at once, so that a Redis that does not answer is waited for only once.
    const [, counted] = await Promise.all([
      taken > 0 ? this.#counters.giveBack(this.limit, key, taken) : undefined,
      this.#counters.look(this.limit, key),
    ])
    if (taken > 0) this.#refusals.delete(key)
    return this.#withRefusals(counted, key)
  }

  /** How many points were taken. */
  async look(key: string): Promise<Counted & { readonly consumed: number }> {
    return this.#withRefusals(await this.#counters.look(this.limit, key), key)
  }

  /** @throws {StoreError} if the key is blocked in this process alone */
  async block(key: string, ms: number): Promise<void> {
    // Otherwise, refusals may begin a block, of which the longer one stays.
    if (this.#rules.blockDuration === 0) this.startsAfresh(key)
    await this.#block(key, ms)
  }

  /** What is refused before, and not counted yet, counts for nothing. */
  startsAfresh(key: string): void {
    this.#starts.set(key, {}, CALL_MS)
  }

  async #block(key: string, ms: number): Promise<void> {
    this.#refusals.delete(key)
    await this.#counters.block(this.limit, key, ms)
  }

  async forget(key: string): Promise<void> {
    this.startsAfresh(key)
    this.#refusals.delete(key)
    this.#silent.delete(key)
    await this.#counters.forget(this.limit, key)
  }

  /** Lets the store decide again on keys that were refused without a call. */
  unsilence(): void {
    this.#silent.clear()
  }

  /**
   * @param cost by how much the call has changed what is taken
   * @param unknown the points to report as taken where that is not known
   */
  resultOf(counted: Counted, cost: number = 0, unknown: number = cost): RateLimiterRes {
    const { consumed = unknown, leftMs, isBlocked } = counted
    const points = isBlocked ? this.blockedPoints : consumed
    const isFirst = !isBlocked && points === cost
    return new RateLimiterRes(Math.max(0, this.#rules.points - points), leftMs, points, isFirst)
  }

  /** How many points are taken, those refused now included. */
  async #counted({ leftMs }: Taken, key: string, cost: number): Promise<number> {
    const { limit } = this
    const known = this.#refusals.get(key)
    if (known !== undefined) {
      known.points += cost
      const { points } = known
      return (await known.counted) + points
    }
    const counted = this.#counters.chargeRefused(limit, key, cost).then(
      ({ consumed }) => {
        if (consumed === undefined) this.#refusals.delete(key)
        // If the window has ended meanwhile, it was the one that refused: report its count.
        const isPast = consumed !== undefined && consumed > limit.points
        return isPast ? consumed : limit.points + cost
      },
      (error) => {
        this.#refusals.delete(key)
        throw error
      },
    )
    this.#refusals.set(key, { counted, points: 0 }, leftMs)
    // Awaited as the others are, so that their order stays.
    return await counted
  }

  #withRefusals<Of extends Counted>(counted: Of, key: string): Of {
    const refused = this.#refusals.get(key)?.points ?? 0
    const { consumed, isBlocked } = counted
    if (refused === 0 || isBlocked || consumed === undefined) return counted
    if (consumed >= this.#rules.points) return { ...counted, consumed: consumed + refused }
    // Another process gave the points back, or forgot the key.
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

  /** How long a refusal lasts. Begins a block if this request is the one that passes the limit. */
  async #refusedMs(counted: Counted, key: string, cost: number): Promise<number> {
    const { consumed = 0, isBlocked, leftMs } = counted
    const most = this.blockedPoints
    const { blockDuration, msBlockDuration } = this.#rules
    const isPassed = consumed >= most && consumed - cost < most
    if (isBlocked || blockDuration === 0 || !isPassed) return leftMs
    // If Redis cannot be told, the window still refuses.
    await this.#block(key, msBlockDuration).catch(unlessOfStore)
    return msBlockDuration
  }

  /** Delays a grant as rate-limiter-flexible does: it spreads the points left over the rest of the
   *  window. */
  async #later(result: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints } = result
    const { execEvenlyMinDelayMs: leastMs } = this.#rules
    const evenMs = Math.ceil(msBeforeNext / (remainingPoints + 2))
    const ms = evenMs < leastMs ? consumedPoints * leastMs : evenMs
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS)))
    return new RateLimiterRes(remainingPoints, Math.max(0, msBeforeNext - ms), consumedPoints)
  }
}

/** Whether an error is a StoreError, also of another copy of @weir/core. */
export function isOfStore(error: unknown): boolean {
  return error instanceof Error && error.name === 'StoreError'
}

function unlessOfStore(error: unknown): void {
  if (!isOfStore(error)) throw error
}
