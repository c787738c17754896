// A limiter with keys that it never refuses, and keys that it always refuses.

import { misuse, shown } from '../checked.js'
import {
  checkedLimiter,
  type Key,
  RateLimiterCompatibleAbstract,
  type RateLimiterLike,
} from './compatible.js'
import { RateLimiterRes } from './result.js'

export interface IRLWrapperBlackAndWhiteOptions {
  limiter: RateLimiterLike
  blackList?: string[] | number[] | undefined
  whiteList?: string[] | number[] | undefined
  // biome-ignore lint/suspicious/noExplicitAny: as rate-limiter-flexible has it
  isBlackListed?(key: any): boolean
  // biome-ignore lint/suspicious/noExplicitAny: as rate-limiter-flexible has it
  isWhiteListed?(key: any): boolean
  /** Whether the limiter is still called for a listed key, and its answer dropped. Default
   *  false. */
  runActionAnyway?: boolean | undefined
}

/**
 * Wraps a limiter. A key on both lists is never refused.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export class RLWrapperBlackAndWhite extends RateLimiterCompatibleAbstract {
  limiter: RateLimiterLike
  blackList: string[] | number[]
  whiteList: string[] | number[]
  isBlackListed: (key: Key) => boolean
  isWhiteListed: (key: Key) => boolean
  runActionAnyway: boolean

  constructor(options: IRLWrapperBlackAndWhiteOptions) {
    super()
    const { isBlackListed, isWhiteListed, blackList, whiteList } = options ?? {}
    this.limiter = checkedLimiter('limiter', options?.limiter)
    this.blackList = Array.isArray(blackList) ? blackList : []
    this.whiteList = Array.isArray(whiteList) ? whiteList : []
    this.isBlackListed = checkedTest('isBlackListed', isBlackListed)
    this.isWhiteListed = checkedTest('isWhiteListed', isWhiteListed)
    this.runActionAnyway = options.runActionAnyway ?? false
  }

  get keyPrefix(): string {
    return this.limiter.keyPrefix
  }

  get blockDuration(): number {
    return this.limiter.blockDuration
  }

  set blockDuration(seconds: number) {
    this.limiter.blockDuration = seconds
  }

  get execEvenly(): boolean {
    return this.limiter.execEvenly
  }

  set execEvenly(isEven: boolean) {
    this.limiter.execEvenly = isEven
  }

  async consume(key: Key, points: number = 1, options?: object): Promise<RateLimiterRes> {
    const result = await this.#act(key, (limiter) => limiter.consume(key, points, options))
    if (result === BLACK) throw result
    return result
  }

  penalty(key: Key, points: number = 1, options?: object): Promise<RateLimiterRes> {
    return this.#act(key, (limiter) => limiter.penalty(key, points, options))
  }

  reward(key: Key, points: number = 1, options?: object): Promise<RateLimiterRes> {
    return this.#act(key, (limiter) => limiter.reward(key, points, options))
  }

  async get(key: Key, options?: object): Promise<RateLimiterRes | null> {
    if (this.runActionAnyway) return this.limiter.get(key, options)
    return this.#listed(key) ?? this.limiter.get(key, options)
  }

  set(key: Key, points: number, secDuration: number, options?: object): Promise<RateLimiterRes> {
    return this.#act(key, (limiter) => limiter.set(key, points, secDuration, options))
  }

  block(key: Key, secDuration: number, options?: object): Promise<RateLimiterRes> {
    return this.#act(key, (limiter) => limiter.block(key, secDuration, options))
  }

  delete(key: Key, options?: object): Promise<boolean> {
    return this.limiter.delete(key, options)
  }

  async #act(
    key: Key,
    ask: (limiter: RateLimiterLike) => Promise<RateLimiterRes>,
  ): Promise<RateLimiterRes> {
    const listed = this.#listed(key)
    if (listed === undefined) return ask(this.limiter)
    if (this.runActionAnyway) void ask(this.limiter).catch(() => {})
    return listed
  }

  #listed(key: Key): RateLimiterRes | undefined {
    if (has(this.whiteList, key) || this.isWhiteListed(key)) return WHITE
    return has(this.blackList, key) || this.isBlackListed(key) ? BLACK : undefined
  }
}

const WHITE = new RateLimiterRes(Number.MAX_SAFE_INTEGER, 0)
const BLACK = new RateLimiterRes(0, Number.MAX_SAFE_INTEGER)

function has(list: readonly Key[], key: Key): boolean {
  return list.includes(key)
}

function checkedTest(what: string, test: unknown = () => false): (key: Key) => boolean {
  if (typeof test === 'function') return test as (key: Key) => boolean
  throw misuse(`${what} is ${shown(test)}; give a function of the key`)
}
