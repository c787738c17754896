// The public surface of @weir/core, in the order of the concepts.

export type { Clock } from './clock.js'
export type { Allowed, Decision, Denied, PolicyFigures, Receipt } from './decision.js'
export type { Duration } from './duration.js'
export { type CodedError, type ErrorCode, StoreError } from './errors.js'
export {
  type DecideOptions,
  type Key,
  type PolicyInput,
  type PolicyUse,
  RateLimiter,
  type RateLimiterOptions,
} from './limiter.js'
export { type FixedWindowOptions, fixedWindow } from './policies/fixed-window.js'
export { type GcraOptions, gcra } from './policies/gcra.js'
export { type LeakyBucketOptions, leakyBucket } from './policies/leaky-bucket.js'
export { slidingCounter } from './policies/sliding-counter.js'
export { slidingLog } from './policies/sliding-log.js'
export { type SlidingWindowOptions, slidingWindow } from './policies/sliding-window.js'
export { type TokenBucketOptions, tokenBucket } from './policies/token-bucket.js'
export { unlimited } from './policies/unlimited.js'
export type { WindowOptions } from './policies/window.js'
export type { Algorithm, Policy } from './policy.js'
export type { Answer, Group, Mode, OwnKey, Plan, Store, Subject, WhenUnavailable } from './store.js'
export type { Breaker, BreakerState } from './stores/breaker.js'
export type { StoreEvents, StoreListener } from './stores/events.js'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory.js'
export {
  type RedisHealth,
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
} from './stores/redis.js'
export type { RedisLike } from './stores/redis-call.js'
export { recommendedClusterOptions, recommendedRedisOptions } from './stores/redis-options.js'
export type { WarningCode } from './warnings.js'
