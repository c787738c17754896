// One limiter of a Nest application.

import type { ExecutionContext } from '@nestjs/common'
import type { RateLimiter } from '@weir/core'
import {
  type Check,
  type LimitOptions as HttpOptions,
  httpLimiter,
  limiterName,
} from '@weir/core/http'
import { quote } from '@weir/core/internal'
import { invalid } from './exception.js'
import type { NestRequest, RateLimitOptions, Settings } from './options.js'
import { type NestResponse, nest } from './request.js'

type LimitOptions = HttpOptions<NestRequest, [ExecutionContext]>

export interface Names {
  /** The name that decorators use. A limiter that changes another one has that one's name. */
  readonly name: string
  /** The name under which it counts, if it is valid; one made of a class and a method may be too
   *  long. */
  readonly limiter: string
  /** The name that clients see: class names are not for them. */
  readonly shown: string
}

export interface Limit {
  readonly names: Names
  /** Its own options, without what it inherits. */
  readonly given: RateLimitOptions
  readonly options: RateLimitOptions
  /** Whether it runs when all guards have passed. */
  readonly isLate: boolean
  /** Whether its requests may hold slots until their handlers have ended. */
  readonly mayHold: boolean
  readonly limiter: RateLimiter
  /** The limiter that it is made from: switching that off switches off both. */
  readonly base: RateLimiter | undefined
  /** The calls that it has decided on: it decides once for each, however many guards and
   *  interceptors there are. */
  readonly seen: WeakSet<object>
  /** The calls for which a global guard has left this limiter to the interceptor. */
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
  // A name that the user gave is used as it is, or refused.
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

/** The names of a limiter that has the same name everywhere. */
export function sameNames(name: string): Names {
  return { name, limiter: name, shown: name }
}

/** Inherited options, without those that the nearer ones make useless: another key, or a prefix of
 *  addresses. */
export function behind<Options extends Settings>(
  far: Options,
  { key, ipv6Prefix }: Settings,
): Options {
  const prefix = key === undefined ? {} : { ipv6Prefix: undefined }
  return { ...far, ...prefix, ...(ipv6Prefix !== undefined && { key: undefined }) }
}
