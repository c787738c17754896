// One limiter of a Nest application.

import { inspect } from 'node:util'
import type { ExecutionContext } from '@nestjs/common'
import type { RateLimiter } from '@weir/core'
import { type Check, httpLimiter } from '@weir/core/http'
import { invalid } from './exception.js'
import type { NestRequest, RateLimitOptions } from './options.js'
import { type NestResponse, nest } from './request.js'

export interface Limit {
  readonly name: string
  readonly options: RateLimitOptions
  /** It runs when all guards have passed. */
  readonly isLate: boolean
  readonly limiter: RateLimiter
  /** The calls that it has decided on: it decides once, however many guards and interceptors there
   *  are. */
  readonly seen: WeakSet<object>
  /** The calls for which a global guard has left it to the interceptor. */
  readonly left: WeakSet<object>
  readonly check: Check<NestRequest, NestResponse, [ExecutionContext]>
}

export function limitOf(options: RateLimitOptions, name: string): Limit {
  const { order = 'first', ...others } = options
  if (order !== 'first' && order !== 'afterGuards')
    throw invalid(`order is ${inspect(order)}; give 'first' or 'afterGuards'`)
  if ('afterGuards' in others)
    throw invalid("afterGuards is an option of 0.1; give order: 'afterGuards'")
  const { limiter, check } = httpLimiter({ ...others, name }, nest)
  const isLate = order === 'afterGuards'
  return { name, options, isLate, limiter, check, seen: new WeakSet(), left: new WeakSet() }
}
