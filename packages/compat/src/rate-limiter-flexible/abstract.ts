// The settings of all limiters, most of which may change at any time.

import { misuse, shown } from '../checked.js'
import { type Key, RateLimiterCompatibleAbstract } from './compatible.js'
import { checkedPoints, type IRateLimiterOptions, msOf } from './options.js'

export abstract class RateLimiterAbstract extends RateLimiterCompatibleAbstract {
  #points = 0
  #duration = 0
  #blockDuration = 0
  #execEvenly = false
  #execEvenlyMinDelayMs: number | undefined
  #keyPrefix = ''

  constructor(options: IRateLimiterOptions) {
    super()
    if (typeof options !== 'object' || options === null)
      throw misuse(`options are ${shown(options)}; give { points, duration }`)
    this.points = options.points
    this.duration = options.duration
    this.blockDuration = options.blockDuration ?? 0
    this.execEvenly = options.execEvenly ?? false
    this.#execEvenlyMinDelayMs = options.execEvenlyMinDelayMs
    this.keyPrefix = options.keyPrefix ?? 'rlflx'
  }

  /** How many pass in a window. */
  get points(): number {
    return this.#points
  }

  set points(points: number) {
    this.#points = checkedPoints('points', points)
  }

  /** How long a window is, in seconds. It begins with a key's first request. */
  get duration(): number {
    return this.#duration
  }

  set duration(seconds: number) {
    msOf('duration', seconds)
    this.#duration = seconds
  }

  get msDuration(): number {
    return msOf('duration', this.#duration)
  }

  get blockDuration(): number {
    return this.#blockDuration
  }

  set blockDuration(seconds: number) {
    if (seconds !== 0) msOf('blockDuration', seconds)
    this.#blockDuration = seconds
  }

  get msBlockDuration(): number {
    return Math.round(this.#blockDuration * 1_000)
  }

  get execEvenly(): boolean {
    return this.#execEvenly
  }

  set execEvenly(isEven: boolean) {
    this.#execEvenly = Boolean(isEven)
  }

  get execEvenlyMinDelayMs(): number {
    if (this.#execEvenlyMinDelayMs !== undefined) return this.#execEvenlyMinDelayMs
    return this.#points === 0 ? 0 : Math.ceil(this.msDuration / this.#points)
  }

  set execEvenlyMinDelayMs(ms: number) {
    this.#execEvenlyMinDelayMs = ms
  }

  get keyPrefix(): string {
    return this.#keyPrefix
  }

  set keyPrefix(keyPrefix: string) {
    if (typeof keyPrefix !== 'string') throw misuse(`keyPrefix is ${shown(keyPrefix)}; give a text`)
    this.#keyPrefix = keyPrefix
  }

  /** The key with the prefix. In Redis it has another form. */
  getKey(key: Key): string {
    return this.#keyPrefix === '' ? String(key) : `${this.#keyPrefix}:${key}`
  }

  /** The key that `getKey` was given. */
  parseKey(rlKey: string): string {
    return this.#keyPrefix === '' ? rlKey : rlKey.slice(this.#keyPrefix.length + 1)
  }
}
