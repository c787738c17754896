// The limiter of one process.

import { memoryStore } from '@weir/core'
import { misuse } from '../checked.js'
import { RateLimiterStoreAbstract } from './limiter.js'
import type { IRateLimiterOptions } from './options.js'

/** Beyond this, the keys used least make room. */
const MOST_KEYS = 2 ** 20

/**
 * Counts in this process. Two limiters count apart, even with the same prefix.
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example
 * const limiter = new RateLimiterMemory({ points: 6, duration: 1 })
 * limiter.consume('u42').then(() => 'passes', () => 'is refused')
 */
export class RateLimiterMemory extends RateLimiterStoreAbstract {
  constructor(options: IRateLimiterOptions) {
    const { insuranceLimiter: _, ...own } = options ?? {}
    super(own as IRateLimiterOptions, memoryStore({ maxKeys: MOST_KEYS }))
  }

  /** @throws {TypeError} WEIR_INVALID_OPTION: counts in memory end with the process */
  dump(): never {
    throw notKept('dump')
  }

  /** @throws {TypeError} WEIR_INVALID_OPTION: counts in memory end with the process */
  restore(_data: object, _isDetailed?: boolean): never {
    throw notKept('restore')
  }
}

function notKept(method: string): Error {
  const right = 'give a RateLimiterRedis for counts that outlive a process'
  return misuse(`${method}() of RateLimiterMemory is not supported here; ${right}`)
}
