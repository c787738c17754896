// rate-limiter-flexible's classes over Weir's stores, so that code on top of them needs only
// another import. Constructors refuse what is not supported here.

export { RateLimiterAbstract } from './rate-limiter-flexible/abstract.js'
export {
  type IRLWrapperBlackAndWhiteOptions,
  RLWrapperBlackAndWhite,
} from './rate-limiter-flexible/black-and-white.js'
export { BurstyRateLimiter } from './rate-limiter-flexible/bursty.js'
export {
  RateLimiterCompatibleAbstract,
  type RateLimiterLike,
} from './rate-limiter-flexible/compatible.js'
export * from './rate-limiter-flexible/elsewhere.js'
export { RateLimiterStoreAbstract } from './rate-limiter-flexible/limiter.js'
export { RateLimiterMemory } from './rate-limiter-flexible/memory.js'
export type {
  IRateLimiterOptions,
  IRateLimiterRedisOptions,
  IRateLimiterStoreOptions,
} from './rate-limiter-flexible/options.js'
export {
  type IRateLimiterQueueOpts,
  RateLimiterQueue,
  RateLimiterQueueError,
} from './rate-limiter-flexible/queue.js'
export { RateLimiterRedis } from './rate-limiter-flexible/redis.js'
export { type IRateLimiterRes, RateLimiterRes } from './rate-limiter-flexible/result.js'
export { RateLimiterUnion } from './rate-limiter-flexible/union.js'
