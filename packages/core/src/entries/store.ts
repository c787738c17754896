// `@weir/core/store`: for authors of stores, the contract, the driver for a store on a database,
// and the layers that `resilient` puts around a store; the types that make up results and stats.

export type { BlockState } from '../algorithms/block-code.js'
export type { Algorithm } from '../algorithms/policy.js'
export type { StoreCall } from '../base/calls.js'
export type { HistogramStats } from '../base/histogram.js'
export type { Crossing } from '../crossings.js'
export { type Batch, type BatchOutcome, type BatchRequest, batchOf } from '../database/batch.js'
export type { RowChange } from '../database/rows.js'
export type { StoreEvents, StoreListener } from '../layers/resilience/events.js'
export {
  type ResilientOptions,
  type ResilientStore,
  resilient,
} from '../layers/resilience/resilient.js'
export type { StoreHealth } from '../layers/resilience/status.js'
export type { PartialDecision, Settlement } from '../limiter/decision.js'
export type { HoldResult } from '../limiter/slots/held.js'
export type {
  DecisionStats,
  PolicyStats,
  PriorityStats,
  UndecidedStats,
} from '../limiter/stats.js'
export type { AdaptedClient } from '../redis/client.js'
export type { RedisLike } from '../redis/clients/ioredis/redis-like.js'
export type { TextClient } from '../redis/clients/text.js'
export type * from '../store.js'
