// The content of each page of docs/reference, in order. `from` is the entry that exports it; by
// default, core. `example: false` leaves an example to a guide, or to the README of an adapter.
import { adapters } from './source.mjs'
import { titleOf } from './text.mjs'

const RATE_LIMIT = `@RateLimit(...names)      // of the module's policies; each decides by itself
@RateLimit(...policies)   // one decision: all allow and all are charged, or none is
@RateLimit(options)
@RateLimit({ override: { name: options } })
@RateLimit.also(...)      // any of these, in addition`

/** Parts of a policy that are for kernels, or are derived. */
const POLICY_PARTS = [
  ...['kernel', 'numbers', 'nameWithoutLimit', 'isNamed', 'signature', 'options'],
  ...['unitMs', 'maxWaitMs'],
]

export const pages = [
  {
    file: 'policies.md',
    title: 'Policies',
    intro: `A policy says what is allowed: a frozen value for any number of limiters.
[Algorithms](../algorithms.md) says how each works.`,
    thrower: 'A factory',
    throws: ['WEIR_INVALID_POLICY', 'WEIR_INVALID_DURATION', 'WEIR_INVALID_NAME'],
    sections: [
      { name: 'slidingWindow' },
      { name: 'slidingLog' },
      { name: 'tokenBucket' },
      { name: 'gcra' },
      { name: 'leakyBucket' },
      { name: 'fixedWindow' },
      { name: 'slidingCounter' },
      { name: 'lockout' },
      { name: 'concurrency' },
      { name: 'budget' },
      { name: 'unlimited' },
      { name: 'policyFrom' },
      { name: 'Policy', omit: POLICY_PARTS },
      { name: 'PolicyInput' },
      { name: 'PolicyUse' },
      { name: 'Duration', members: false },
    ],
  },
  {
    file: 'rate-limiter.md',
    title: 'RateLimiter',
    sections: [
      { name: 'RateLimiter', plain: ['name', 'store'] },
      { name: 'DecideOptions' },
      { name: 'Key', members: false },
      { name: 'WhenUnavailable' },
      { name: 'Decision' },
      { name: 'Allowed', omit: ['allowed', 'reason', 'retryAfterMs'] },
      { name: 'Denied', omit: ['allowed'] },
      { name: 'PolicyResult', from: 'store' },
      { name: 'RequestDecision', from: 'http' },
    ],
  },
  {
    file: 'changing.md',
    title: 'Policies that change',
    sections: [
      { name: 'livePolicies', from: 'live', example: false },
      { name: 'LivePolicies', from: 'live' },
      { name: 'limitsFrom', from: 'live', example: false },
      { name: 'LimitsFrom', from: 'live' },
    ],
  },
  {
    file: 'rate-limit.md',
    title: 'rateLimit, for Express and Koa',
    intro: `Functions among the options may be asynchronous. They get \`(req, res)\` of Express, or
Koa's context; what is written as \`(request, outcome)\` gets \`(req, outcome, res)\` of Express.`,
    thrower: '`rateLimit`',
    throws: [
      ...['WEIR_INVALID_OPTION', 'WEIR_INVALID_POLICY', 'WEIR_INVALID_DURATION'],
      ...['WEIR_INVALID_NAME', 'WEIR_INVALID_PRIORITY'],
    ],
    sections: [
      ...adapters.map((from) => ({
        name: 'rateLimit',
        from,
        title: `rateLimit for ${titleOf(from)}`,
        members: from === 'express',
        example: from === 'express',
      })),
      { name: 'ProxyOptions', from: 'http' },
      { name: 'ResponseOutcome', from: 'http' },
      { name: 'addressKey' },
      { name: 'setRateLimitHeaders', from: 'http' },
    ],
  },
  {
    file: 'overload.md',
    title: 'Overload',
    intro: `[Overload](../overload.md) says how each works, and what it cannot do.`,
    sections: [
      { name: 'overload', from: 'http' },
      { name: 'OverloadState', from: 'http' },
      { name: 'adaptive', from: 'adaptive', example: false },
      { name: 'Signal', from: 'adaptive' },
      { name: 'eventLoopDelay', from: 'adaptive' },
      { name: 'eventLoopUtilization', from: 'adaptive' },
      { name: 'responses', from: 'adaptive' },
    ],
  },
  {
    file: 'nest.md',
    title: 'Nest',
    sections: [
      { name: 'RateLimitModule', from: 'nest', members: ['forRoot', 'forRootAsync', 'forFeature'] },
      { name: 'RateLimitModuleOptions', from: 'nest' },
      { name: 'RateLimitModuleExtras', from: 'nest' },
      { name: 'RateLimitOptions', from: 'nest', members: false },
      { name: 'RateLimit', from: 'nest', call: RATE_LIMIT },
      { name: 'SkipRateLimit', from: 'nest' },
      { name: 'RateLimitDecision', from: 'nest', call: '@RateLimitDecision(property?)' },
      { name: 'RateLimitGuard', from: 'nest', members: ['lookUp', 'exception'] },
      { name: 'RateLimitException', from: 'nest', members: false },
      { name: 'RateLimitFilter', from: 'nest', members: false },
    ],
  },
  {
    file: 'stores.md',
    title: 'Stores',
    sections: [
      { name: 'memoryStore' },
      { name: 'redisStore' },
      { name: 'recommendedRedisOptions', members: false },
      { name: 'recommendedClusterOptions', members: false },
      { name: 'fromNodeRedis', from: 'node-redis' },
      { name: 'recommendedNodeRedisOptions', from: 'node-redis', members: false },
      { name: 'recommendedNodeRedisClusterOptions', from: 'node-redis', members: false },
      { name: 'fromGlide', from: 'glide' },
      { name: 'recommendedGlideOptions', from: 'glide', members: false },
      { name: 'resilient', from: 'store' },
      { name: 'StoreHealth', from: 'store' },
      { name: 'StoreEvents', from: 'store' },
      { name: 'Clock' },
    ],
  },
  {
    file: 'store-contract.md',
    title: 'The contract of a store',
    sections: [
      { name: 'Store', from: 'store' },
      { name: 'StoreRequest', from: 'store', members: false },
      { name: 'Mode', from: 'store' },
      { name: 'storeConformance', from: 'testing' },
      { name: 'fakeClock', from: 'testing' },
      { name: 'FakeClock', from: 'testing' },
    ],
  },
  {
    file: 'metrics.md',
    title: 'Statistics, metrics and the dashboard',
    intro:
      '[Metrics](../metrics.md) has every metric, [Dashboard](../dashboard.md) says what it costs.',
    sections: [
      { name: 'LimiterStats', members: false },
      { name: 'prometheus', from: 'metrics/prometheus', example: false },
      { name: 'PrometheusMetrics', from: 'metrics/prometheus' },
      { name: 'observe', from: 'metrics/otel' },
      { name: 'noteOnSpan', from: 'metrics/otel' },
      { name: 'MetricsModule', from: 'metrics/nest', members: false },
      { name: 'MetricsModuleOptions', from: 'metrics/nest' },
      { name: 'dashboard', from: 'dashboard', example: false },
      { name: 'Authorize', from: 'dashboard' },
      { name: 'Dashboard', from: 'dashboard' },
    ],
  },
]
