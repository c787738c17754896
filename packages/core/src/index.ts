// The public API of @weir/core. `export *` means that everything that the file exports is public.

export {
  type GcraOptions,
  gcra,
  type LeakyBucketOptions,
  leakyBucket,
  type TokenBucketOptions,
  tokenBucket,
} from './algorithms/bucket/policies.js'
export { type BudgetOptions, budget } from './algorithms/budget/policies.js'
export { type ConcurrencyOptions, concurrency } from './algorithms/concurrency/policies.js'
export { type FixedWindowOptions, fixedWindow } from './algorithms/fixed-window/policies.js'
export { type LockoutOptions, lockout } from './algorithms/lockout/policies.js'
export type { Policy } from './algorithms/policy.js'
export { policyFrom } from './algorithms/policy-from.js'
export { slidingCounter } from './algorithms/sliding-counter/policies.js'
export * from './algorithms/sliding-log/policies.js'
export { unlimited } from './algorithms/unlimited.js'
export type { WindowOptions } from './algorithms/window-policy.js'
export { type AddressOptions, addressKey } from './base/address-key.js'
export type { Clock } from './base/clock.js'
export { type Duration, duration } from './base/duration.js'
export { type CodedError, type ErrorCode, StoreError } from './base/errors.js'
export type { WarningCode } from './base/warnings.js'
export * from './entries/moved.js'
export type { Cost } from './limiter/costs.js'
export type { Wait } from './limiter/counters.js'
export type {
  Allowed,
  Decision,
  Denied,
  Receipt,
  WaitDecision,
} from './limiter/decision.js'
export { RateLimiter } from './limiter/limiter.js'
export type {
  AcquireOptions,
  DecideOptions,
  RateLimiterOptions,
  UpToOptions,
  WaitOptions,
} from './limiter/options.js'
export type { Held, Holding } from './limiter/slots/held.js'
export type { LimiterStats } from './limiter/stats.js'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/store.js'
export type { Key, PolicyInput, PolicyUse } from './policy-input.js'
export * from './redis/clients/ioredis/recommended.js'
export type { RedisStoreOptions } from './redis/options.js'
export { type RedisStore, redisStore } from './redis/store.js'
export type { Store, WhenUnavailable } from './store.js'
