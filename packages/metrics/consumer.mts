// Metrics of an application: what compiles, and what does not.

import { type LimiterStats, memoryStore, RateLimiter, unlimited } from '@weir/core'
import type { StoreStats } from '@weir/core/store'
import { rateLimit } from '@weir/express'
import { collector, type Metric } from '@weir/metrics'
import { noteOnSpan, observe } from '@weir/metrics/otel'
import { prometheus } from '@weir/metrics/prometheus'

const store = memoryStore()
const limiter = new RateLimiter({ store, policy: unlimited(), onDecision: noteOnSpan })
const metrics = prometheus([limiter, rateLimit({ limit: 1, window: '1m' })])
export const body: Promise<string> = metrics.scrape('text/plain').then(({ body }) => body)
export const all: readonly Metric[] = collector(() => [limiter])()
export const stop: () => void = observe([limiter], { meter: undefined })
export const stats: readonly [LimiterStats, StoreStats] = [limiter.stats(), store.stats()]

// @ts-expect-error a name is not a limiter
prometheus(['api'])
// @ts-expect-error neither is a store
prometheus([store])
