// Names that the root of the package exports until 1.0, and that another entry exports from now on.
// Functions warn once.

import type { FixedWindowOptions } from '../algorithms/fixed-window/policies.js'
import type * as policies from '../algorithms/policy.js'
import type { Policy } from '../algorithms/policy.js'
import type * as unlimited from '../algorithms/unlimited.js'
import type * as calls from '../base/calls.js'
import type { Duration } from '../base/duration.js'
import type * as histogram from '../base/histogram.js'
import { warnOnce } from '../base/warnings.js'
import type * as events from '../layers/resilience/events.js'
import * as layers from '../layers/resilience/resilient.js'
import type * as status from '../layers/resilience/status.js'
import type * as decision from '../limiter/decision.js'
import type * as options from '../limiter/options.js'
import type * as stats from '../limiter/stats.js'
import * as source from '../live/limits-from.js'
import * as live from '../live/live-policies.js'
import type * as overrides from '../live/overrides.js'
import type * as types from '../live/types.js'
import * as scaled from '../overload/adaptive.js'
import * as signals from '../overload/signals.js'
import type * as ioredis from '../redis/clients/ioredis/redis-like.js'
import type * as redis from '../redis/store.js'
import type * as store from '../store.js'

/** A function that warns once. */
function moved<Given extends unknown[], Made>(
  name: string,
  entry: string,
  make: (...given: Given) => Made,
): (...given: Given) => Made {
  const how = `import { ${name} } from '@weir/core/${entry}'`
  const made = (...given: Given): Made => {
    warnOnce('WEIR_MOVED', name, `${name} leaves the root of the package with 1.0: ${how}`)
    return make(...given)
  }
  return Object.defineProperty(made, 'name', { value: name })
}

/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export const livePolicies: typeof live.livePolicies = /* @__PURE__ */ moved(
  'livePolicies',
  'live',
  live.livePolicies,
)
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export const limitsFrom: typeof source.limitsFrom = /* @__PURE__ */ moved(
  'limitsFrom',
  'live',
  source.limitsFrom,
)
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export const adaptive: typeof scaled.adaptive = /* @__PURE__ */ moved(
  'adaptive',
  'adaptive',
  scaled.adaptive,
)
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export const eventLoopDelay: typeof signals.eventLoopDelay = /* @__PURE__ */ moved(
  'eventLoopDelay',
  'adaptive',
  signals.eventLoopDelay,
)
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export const eventLoopUtilization: typeof signals.eventLoopUtilization = /* @__PURE__ */ moved(
  'eventLoopUtilization',
  'adaptive',
  signals.eventLoopUtilization,
)
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export const responses: typeof signals.responses = /* @__PURE__ */ moved(
  'responses',
  'adaptive',
  signals.responses,
)
// Under another name, or the bundler would rename the one that it calls, which is in this chunk.
const oldResilient: typeof layers.resilient = /* @__PURE__ */ moved(
  'resilient',
  'store',
  layers.resilient,
)

/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export { oldResilient as resilient }
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LimitsFrom = source.LimitsFrom
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LimitsFromOptions = source.LimitsFromOptions
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LimitsFromStatus = source.LimitsFromStatus
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type Override = overrides.Override
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type OverrideKey = types.OverrideKey
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type PolicyChange = types.PolicyChange
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveChange = types.LiveChange
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type PolicyAnswer = types.PolicyAnswer
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type PolicyOfKey<Answer = Policy> = types.PolicyOfKey<Answer>
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveStatus = types.LiveStatus
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveSetting = types.LiveSetting
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveRefusal = types.LiveRefusal
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveProcess = types.LiveProcess
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LiveList = types.LiveList
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LivePolicies<Name extends string = string> = types.LivePolicies<Name>
/** @deprecated Until 1.0: import it from `@weir/core/live`. */
export type LivePoliciesOptions<Name extends string = string> = types.LivePoliciesOptions<Name>
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type AdaptiveOptions = scaled.AdaptiveOptions
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type AdaptivePolicy = scaled.AdaptivePolicy
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type Signal = signals.Signal
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type ResponseSignal = signals.ResponseSignal
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type EventLoopDelayOptions = signals.EventLoopDelayOptions
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type EventLoopUtilizationOptions = signals.EventLoopUtilizationOptions
/** @deprecated Until 1.0: import it from `@weir/core/adaptive`. */
export type ResponsesOptions = signals.ResponsesOptions
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type Algorithm = policies.Algorithm
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type StoreHealth = status.StoreHealth
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type PartialDecision = decision.PartialDecision
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type ResilientOptions = layers.ResilientOptions
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type ResilientStore = layers.ResilientStore
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type StoreCall = calls.StoreCall
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type StoreEvents = events.StoreEvents
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type StoreListener<Name extends keyof events.StoreEvents> = events.StoreListener<Name>
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type RedisLike = ioredis.RedisLike
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type StoreStats = store.StoreStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type PolicyResult = store.PolicyResult
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type MemoryStats = store.MemoryStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type NodeStats = store.NodeStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type HistogramStats = histogram.HistogramStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type DecisionStats = stats.DecisionStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type PolicyStats = stats.PolicyStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type PriorityStats = stats.PriorityStats
/** @deprecated Until 1.0: import it from `@weir/core/store`. */
export type UndecidedStats = stats.UndecidedStats
/** @deprecated Until 1.0: write `RateLimiterOptions['maxWaiting']`. */
export type MaxWaiting = NonNullable<options.RateLimiterOptions['maxWaiting']>
/** @deprecated Until 1.0: write `Parameters<typeof unlimited>[0]`. */
export type UnlimitedOptions = unlimited.UnlimitedOptions
/** @deprecated Until 1.0: write `StoreHealth` of `@weir/core/store`. */
export type RedisHealth = redis.RedisHealth
/** @deprecated Until 1.0: write `FixedWindowOptions['window']`. */
export type CalendarUnit = Exclude<FixedWindowOptions['window'], Duration>
/** @deprecated Until 1.0: write `FixedWindowOptions['weekStart']`. */
export type WeekDay = NonNullable<FixedWindowOptions['weekStart']>
