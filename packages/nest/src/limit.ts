// One limiter of a Nest application.

import type { ExecutionContext } from '@nestjs/common'
import type { RateLimiter } from '@weir/core'
import { type Check, httpLimiter } from '@weir/core/http'
import { invalid } from './exception.js'
import type { NestRequest, RateLimitOptions } from './options.js'
import { type NestResponse, nest } from './request.js'

export interface Limit {
  readonly name: string
  readonly options: RateLimitOptions
  readonly limiter: RateLimiter
  /** The calls that it has decided on: it decides once, however many guards and interceptors there
   *  are. */
  readonly seen: WeakSet<object>
  readonly check: Check<NestRequest, NestResponse, [ExecutionContext]>
}

export function limitOf(options: RateLimitOptions, name: string): Limit {
  const { afterGuards = false, ...others } = options
  if (typeof afterGuards !== 'boolean')
    throw invalid(`afterGuards is ${afterGuards}; give true or false`)
  const { limiter, check } = httpLimiter({ ...others, name }, nest)
  return { name, options, limiter, check, seen: new WeakSet() }
}
