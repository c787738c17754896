// Requests that wait for their turn in this process, first come, first served for each key.

import { misuse, shown } from '../checked.js'
import type { BurstyRateLimiter } from './bursty.js'
import type { Key, RateLimiterLike } from './compatible.js'
import type { RateLimiterRes } from './result.js'

export interface IRateLimiterQueueOpts {
  /** The most requests that may wait under a key. Default 4,294,967,295. */
  maxQueueSize?: number | undefined
}

/** Thrown if the queue is full, or a request waited too long. */
export class RateLimiterQueueError extends Error {
  override readonly name: string = 'RateLimiterQueueError'
  readonly extra: string

  constructor(message?: string, extra: string = '') {
    super(message)
    this.extra = extra
  }
}

type Bursty = Pick<BurstyRateLimiter, 'consume'>
type Limiter = Pick<RateLimiterLike, 'consume' | 'get'> & { readonly points?: number }

/**
 * Waits instead of being refused.
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example
 * const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 1 }))
 * await queue.removeTokens(1)
 */
export class RateLimiterQueue {
  readonly #limiter: Limiter
  readonly #most: number
  readonly #queues: Map<Key, Queue> = new Map()

  constructor(limiter: RateLimiterLike | Bursty, options: IRateLimiterQueueOpts = {}) {
    if (typeof (limiter as Partial<Limiter> | undefined)?.consume !== 'function')
      throw misuse(`a limiter of a queue is ${shown(limiter)}; give a RateLimiterMemory, say`)
    this.#limiter = limiter as Limiter
    this.#most = options.maxQueueSize ?? 4_294_967_295
  }

  /** How many tokens are there without waiting; all of them if the limiter cannot be asked. */
  async getTokensRemaining(key: Key = 'limiter'): Promise<number> {
    const { points = 0 } = this.#limiter
    const counted = await this.#limiter.get(key).catch(() => null)
    return counted?.remainingPoints ?? points
  }

  /**
   * Resolves to how many tokens remain, once these were taken.
   * @param expiresUnixAt Unix time, in seconds, at which the request stops waiting. Default 0: it
   * waits as long as it takes
   */
  async removeTokens(
    tokens: number,
    key: Key = 'limiter',
    expiresUnixAt: number = 0,
  ): Promise<number> {
    const { points = Number.POSITIVE_INFINITY } = this.#limiter
    if (tokens > points)
      throw new RateLimiterQueueError(
        `${tokens} tokens are more than ${points}, which is the limit`,
      )
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = new Queue(this.#limiter, key, this.#most, () => this.#queues.delete(key))
      this.#queues.set(key, queue)
    }
    return queue.add(tokens, expiresUnixAt)
  }
}

interface Waiting {
  readonly tokens: number
  readonly expiresUnixAt: number
  resolve(remaining: number): void
  reject(error: unknown): void
}

/** The queue of a key. */
class Queue {
  readonly #limiter: Limiter
  readonly #key: Key
  readonly #most: number
  readonly #ended: () => void
  /** In the order in which they came. */
  #waiting: Waiting[] = []
  /** Whether the limiter is being asked for the first request, or a timer runs until it is. */
  #isBusy = false
  /** How many requests have not waited and are being asked for now. */
  #asking = 0

  constructor(limiter: Limiter, key: Key, most: number, ended: () => void) {
    this.#limiter = limiter
    this.#key = key
    this.#most = most
    this.#ended = ended
  }

  async add(tokens: number, expiresUnixAt: number): Promise<number> {
    if (this.#waiting.length > 0) return this.#wait(tokens, expiresUnixAt)
    this.#asking += 1
    try {
      const result = await this.#ask(tokens)
      if (result.isGranted) return result.remainingPoints
      // Without `await`, so that it no longer counts as being asked for.
      return this.#wait(tokens, expiresUnixAt, result.msBeforeNext)
    } finally {
      this.#asking -= 1
      this.#endIfIdle()
    }
  }

  #endIfIdle(): void {
    if (this.#asking === 0 && this.#waiting.length === 0 && !this.#isBusy) this.#ended()
  }

  /** @param ms how long after a refusal the request is asked for again */
  #wait(tokens: number, expiresUnixAt: number, ms?: number): Promise<number> {
    if (this.#waiting.length >= this.#most)
      throw new RateLimiterQueueError(`${this.#most} requests wait already, which is maxQueueSize`)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tokens, expiresUnixAt, resolve, reject })
      if (ms !== undefined && !this.#isBusy) this.#after(ms)
    })
  }

  #after(ms: number): void {
    this.#isBusy = true
    // A longer timer would fire at once.
    setTimeout(() => void this.#next(), Math.min(Math.max(1, ms), 2_147_483_647))
  }

  async #next(): Promise<void> {
    for (;;) {
      this.#dropExpired()
      const first = this.#waiting[0]
      if (first === undefined) break
      try {
        const result = await this.#ask(first.tokens)
        if (!result.isGranted) {
          this.#after(result.msBeforeNext)
          return
        }
        first.resolve(result.remainingPoints)
      } catch (error) {
        first.reject(error)
      }
      this.#waiting.shift()
    }
    this.#isBusy = false
    this.#endIfIdle()
  }

  #dropExpired(): void {
    const nowS = Math.floor(Date.now() / 1_000)
    this.#waiting = this.#waiting.filter(({ expiresUnixAt, reject }) => {
      const isExpired = expiresUnixAt > 0 && nowS >= expiresUnixAt
      if (isExpired) reject(new RateLimiterQueueError('it has waited until expiresUnixAt'))
      return !isExpired
    })
  }

  async #ask(tokens: number): Promise<Answer> {
    const answered = (isGranted: boolean) => (result: RateLimiterRes) => {
      if (result instanceof Error) throw result
      const { remainingPoints, msBeforeNext } = result
      return { isGranted, remainingPoints, msBeforeNext }
    }
    return this.#limiter.consume(this.#key, tokens).then(answered(true), answered(false))
  }
}

interface Answer extends Pick<RateLimiterRes, 'remainingPoints' | 'msBeforeNext'> {
  readonly isGranted: boolean
}
