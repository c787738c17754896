// One limiter of a Nest application.

import type { ExecutionContext } from '@nestjs/common'
import type { RateLimiter } from '@weir/core'
import { type Check, type LimitOptions as HttpOptions, httpLimiter, quote } from '@weir/core/http'
import { invalid } from './exception.js'
import { limiterName } from './names.js'
import type { NestRequest, RateLimitOptions, Settings } from './options.js'
import { type NestResponse, nest } from './request.js'

type LimitOptions = HttpOptions<NestRequest, [ExecutionContext]>

export interface Names {
  /** By which decorators call it. One that changes another is called as that is. */
  readonly name: string
  /** Under which it counts, if that is a name; what is made of a class and a method may be long. */
  readonly limiter: string
  /** What clients are shown: the names of classes are nobody's business. */
  readonly shown: string
}

export interface Limit {
  readonly names: Names
  /** What it was given, without what it inherits. */
  readonly given: RateLimitOptions
  readonly options: RateLimitOptions
  /** It runs when all guards have passed. */
  readonly isLate: boolean
  /** Its requests may hold slots until their handlers have ended. */
  readonly mayHold: boolean
  readonly limiter: RateLimiter
  /** What it is made of: that is switched off for both. */
  readonly base: RateLimiter | undefined
  /** The calls that it has decided on: it decides once, however many guards and interceptors there
   *  are. */
  readonly seen: WeakSet<object>
  /** The calls for which a global guard has left it to the interceptor. */
  readonly left: WeakSet<object>
  readonly check: Check<NestRequest, NestResponse, [ExecutionContext]>
}

export function limitOf(
  given: RateLimitOptions,
  inherited: Settings,
  names: Names,
  base?: RateLimiter,
): Limit {
  const options = { ...inherited, ...given }
  const { order = 'first', perHandler = false, ...others } = options
  if (order !== 'first' && order !== 'afterGuards')
    throw invalid(`order is ${quote(order)}; give 'first' or 'afterGuards'`)
  if ('afterGuards' in others)
    throw invalid("afterGuards is an option of 0.1; give order: 'afterGuards'")
  if (typeof perHandler !== 'boolean')
    throw invalid(`perHandler is ${quote(perHandler)}; give true or false`)
  // A name that somebody has given is a name, or refused.
  const name = names.limiter === names.shown ? names.limiter : limiterName(names.limiter)
  const http = { ...(others as LimitOptions), name }
  const { limiter, check, mayHold } = httpLimiter(http, nest, names.shown)
  return {
    names,
    given,
    options,
    isLate: order === 'afterGuards',
    mayHold,
    limiter,
    base,
    check,
    seen: new WeakSet(),
    left: new WeakSet(),
  }
}

export type Limits = readonly Limit[]

/** Of a limiter that is called the same everywhere. */
export function sameNames(name: string): Names {
  return { name, limiter: name, shown: name }
}

/** What is inherited, without what the nearer options leave no use for: another key, or a prefix of
 *  addresses. */
export function behind<Options extends Settings>(
  far: Options,
  { key, ipv6Prefix }: Settings,
): Options {
  const prefix = key === undefined ? {} : { ipv6Prefix: undefined }
  return { ...far, ...prefix, ...(ipv6Prefix !== undefined && { key: undefined }) }
}
