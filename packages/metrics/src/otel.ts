// Metrics for OpenTelemetry. Counters and gauges are observable: the SDK asks for them when it
// exports. Histograms are recorded, once for each call to a store and for each wait.

import {
  type Attributes,
  metrics as api,
  type BatchObservableResult,
  type Meter,
  trace,
} from '@opentelemetry/api'
import type { Decision, Wait } from '@weir/core'
import type { StoreCall } from '@weir/core/store'
import { listen, type Unsubscribe } from './channels.js'
import { collecting } from './collect.js'
import { DEFINITIONS } from './definitions.js'
import type { Limiters } from './limiters.js'
import type { Definition, Point } from './metric.js'
import { inTurns, type Work } from './slices.js'

export type {
  Limiters,
  Watched,
  WatchedLimiter,
  WatchedLive,
  WatchedOverload,
} from './limiters.js'

export interface OtelOptions {
  /** Default: a meter of the global provider, named `@weir/metrics`. */
  readonly meter?: Meter | undefined
}

/**
 * Observes limiters, and their stores, with OpenTelemetry, until the function that it returns is
 * called. Call it once for each meter, with all limiters. The histograms of calls and of waits
 * cover the whole process.
 *
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example const stop = observe([limiter])
 */
export function observe(limiters: Limiters, options: OtelOptions = {}): () => void {
  const collect = collecting(limiters)
  const { meter = api.getMeter('@weir/metrics') } = options
  const observables = new Map(
    Object.values(DEFINITIONS).flatMap(({ name, type, unit, help: description }) => {
      if (type === 'histogram') return []
      const about = { unit, description }
      const made =
        type === 'counter'
          ? meter.createObservableCounter(name, about)
          : meter.createObservableGauge(name, about)
      return [[name, made] as const]
    }),
  )
  function* observeAll(result: BatchObservableResult): Work<void> {
    const metrics = yield* collect()
    for (const { name, points } of metrics) {
      const observable = observables.get(name)
      if (observable === undefined) continue
      for (const point of points) {
        result.observe(observable, point.value, attributesOf(point))
        yield 1
      }
    }
  }
  const callback = (result: BatchObservableResult) => inTurns(observeAll(result))
  meter.addBatchObservableCallback(callback, [...observables.values()])
  const ends: Unsubscribe[] = [
    recordCalls(histogramOf(meter, DEFINITIONS.durations)),
    recordWaits(histogramOf(meter, DEFINITIONS.waits)),
  ]
  return () => {
    meter.removeBatchObservableCallback(callback, [...observables.values()])
    for (const end of ends) end()
  }
}

type Histogram = ReturnType<Meter['createHistogram']>

function histogramOf(meter: Meter, { name, unit, help }: Definition): Histogram {
  return meter.createHistogram(name, { unit, description: help })
}

function recordCalls(histogram: Histogram): Unsubscribe {
  return listen('weir:store', ({ durationMs, node }: StoreCall) => {
    histogram.record(durationMs / 1_000, { 'weir.node': node })
  })
}

function recordWaits(histogram: Histogram): Unsubscribe {
  return listen('weir:wait', ({ waitedMs, limiter }: Wait) => {
    histogram.record(waitedMs / 1_000, { 'weir.limiter': limiter })
  })
}

/** Attribute names are global, so they have the metrics' prefix. */
function attributesOf({ attributes }: Point): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => {
      return [`weir.${name}`, name === 'degraded' || name === 'enforced' ? value === 'true' : value]
    }),
  )
}

/**
 * Notes on the active span that a decision was denied, or made without the store: an `onDecision`
 * for limiters. It notes no keys.
 *
 * @experimental
 * @example rateLimit({ limit: 100, window: '1m', onDecision: noteOnSpan })
 */
export function noteOnSpan(decision: Decision): void {
  if (decision.allowed && !decision.degraded) return
  const { limiter, policy, degraded } = decision
  const attributes: Attributes = {
    'weir.limiter': limiter,
    'weir.policy': policy.name,
    'weir.outcome': decision.allowed ? 'allowed' : 'denied',
    'weir.degraded': degraded,
  }
  if (!decision.allowed && Number.isFinite(decision.retryAfterMs))
    attributes['weir.retry_after'] = decision.retryAfterMs / 1_000
  trace.getActiveSpan()?.setAttributes(attributes)
}
