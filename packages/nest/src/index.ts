// Rate limiting for Nest 10, 11 and 12, on Express and on Fastify: translates between Nest and
// core/http, which has all the logic.

export * from '@weir/core'
export {
  type HeaderFormat,
  type NodeServerRequest,
  type Overload,
  type OverloadOptions,
  type OverloadPriority,
  overload,
  type ProxyOptions,
  RATE_LIMIT_HEADERS,
  type Refusal,
  type RequestDecision,
  type RequestHold,
  type ResponseOutcome,
  recordResponses,
} from '@weir/core/http'
export {
  InjectRateLimiter,
  RateLimit,
  type RateLimitDecorator,
  SkipRateLimit,
} from './decorators.js'
export { RateLimitException, RateLimitFilter } from './exception.js'
export { RateLimitGuard, RateLimitInterceptor } from './guard.js'
export { RateLimits } from './limits.js'
export {
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitOptionsFactory,
} from './module.js'
export type {
  NamedPolicy,
  NestRequest,
  RateLimitModuleOptions,
  RateLimitOptions,
} from './options.js'
export { type Looked, type NestResponse, RateLimitDecision } from './request.js'
export { getRateLimiterToken, OPTIONS as RATE_LIMIT_OPTIONS } from './tokens.js'
