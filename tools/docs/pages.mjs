// What is on which page of docs/reference, in this order. `from`: the entry that exports it, core
// if not given.

const RATE_LIMIT = `@RateLimit(...names)      // of the module's policies; each decides by itself
@RateLimit(...policies)   // one decision: all allow and all are charged, or none is
@RateLimit(options)
@RateLimit({ override: { name: options } })
@RateLimit.also(...)      // any of these, in addition`

export const pages = [
  {
    file: 'policies.md',
    title: 'Policies',
    about: '`slidingWindow`, `tokenBucket` and the others, with all of their parameters.',
    intro: `A policy says what is allowed. It is a frozen value, made once and used by any number of
limiters. [Algorithms](../algorithms.md) says how each works.`,
    sections: [
      { name: 'slidingWindow' },
      { name: 'slidingLog' },
      { name: 'tokenBucket' },
      { name: 'gcra' },
      { name: 'leakyBucket' },
      { name: 'fixedWindow' },
      { name: 'slidingCounter' },
      { name: 'unlimited' },
      { name: 'Policy', omit: ['kernel', 'numbers', 'nameWithoutLimit', 'signature'] },
      { name: 'PolicyInput' },
      { name: 'PolicyUse' },
      { name: 'Duration' },
    ],
  },
  {
    file: 'rate-limiter.md',
    title: 'RateLimiter',
    about:
      'limits without a framework: `consume`, `consumeUpTo`, `wait`, `peek`, `refund`, `settle`, `penalty`, `reset`, `close`.',
    sections: [
      { name: 'RateLimiter' },
      { name: 'DecideOptions' },
      { name: 'Key' },
      { name: 'WhenUnavailable' },
    ],
  },
  {
    file: 'decisions.md',
    title: 'Decisions',
    about: 'what a limiter answers, and what a request carries.',
    sections: [
      { name: 'Decision' },
      { name: 'Allowed' },
      { name: 'Denied' },
      { name: 'PolicyResult' },
      { name: 'Receipt', members: false },
      { name: 'RequestDecision', from: 'http' },
    ],
  },
  {
    file: 'rate-limit.md',
    title: 'rateLimit, for Express and Koa',
    about: 'the middleware of Express and Koa, and its options.',
    intro: `Functions among the options get \`(req, res)\` of Express, or the context of Koa. Each may
be asynchronous. What is written as \`(request, outcome)\` gets \`(req, outcome, res)\` of Express.`,
    sections: [
      { name: 'rateLimit', from: 'express', title: 'rateLimit for Express' },
      { name: 'rateLimit', from: 'koa', title: 'rateLimit for Koa', members: false },
      { name: 'HeaderFormat', from: 'http' },
      { name: 'ProxyOptions', from: 'http' },
      { name: 'ResponseOutcome', from: 'http' },
      { name: 'addressKey', from: 'http' },
      { name: 'RATE_LIMIT_HEADERS', from: 'http' },
    ],
  },
  {
    file: 'overload.md',
    title: 'Overload',
    about: '`overload`, `adaptive` and the signals that it follows.',
    intro: `[Overload](../overload.md) says how each works, and what it cannot do.`,
    sections: [
      { name: 'overload', from: 'http' },
      { name: 'OverloadState', from: 'http' },
      { name: 'recordResponses', from: 'http' },
      { name: 'adaptive' },
      { name: 'AdaptivePolicy' },
      { name: 'Signal' },
      { name: 'eventLoopDelay' },
      { name: 'eventLoopUtilization' },
      { name: 'responses' },
      { name: 'ResponseSignal' },
    ],
  },
  {
    file: 'nest.md',
    title: 'Nest',
    about: '`RateLimitModule`, the decorators, the guard and what they take.',
    sections: [
      { name: 'RateLimitModule', from: 'nest', members: ['forRoot', 'forRootAsync', 'forFeature'] },
      { name: 'RateLimitModuleOptions', from: 'nest' },
      { name: 'RateLimitModuleExtras', from: 'nest' },
      { name: 'RateLimitOptions', from: 'nest' },
      { name: 'NamedPolicy', from: 'nest' },
      { name: 'RateLimit', from: 'nest', call: RATE_LIMIT },
      { name: 'SkipRateLimit', from: 'nest' },
      { name: 'InjectRateLimiter', from: 'nest' },
      { name: 'RateLimitDecision', from: 'nest', call: '@RateLimitDecision(property?)' },
      { name: 'RateLimits', from: 'nest', members: false },
      { name: 'RateLimitGuard', from: 'nest', members: ['lookUp', 'exception'] },
      { name: 'RateLimitInterceptor', from: 'nest', members: false },
      { name: 'RateLimitException', from: 'nest', members: false },
      { name: 'RateLimitFilter', from: 'nest', members: false },
      { name: 'RATE_LIMIT_OPTIONS', from: 'nest', members: false },
      { name: 'getRateLimiterToken', from: 'nest' },
    ],
  },
  {
    file: 'stores.md',
    title: 'Stores',
    about: '`memoryStore`, `redisStore` and `resilient`, and the options of each.',
    sections: [
      { name: 'memoryStore' },
      { name: 'redisStore' },
      { name: 'recommendedRedisOptions' },
      { name: 'recommendedClusterOptions' },
      { name: 'RedisLike' },
      { name: 'resilient' },
      { name: 'ResilientStore' },
      { name: 'StoreHealth' },
      { name: 'StoreEvents' },
      { name: 'Clock' },
    ],
  },
  {
    file: 'store-contract.md',
    title: 'The contract of a store',
    about: 'what a store of your own is asked, and what it answers.',
    sections: [
      { name: 'Store', from: 'store' },
      { name: 'StoreRequest', from: 'store' },
      { name: 'StoreResult', from: 'store' },
      { name: 'Target', from: 'store' },
      { name: 'PolicySet', from: 'store' },
      { name: 'OwnKey', from: 'store' },
      { name: 'Mode', from: 'store' },
    ],
  },
  {
    file: 'testing.md',
    title: 'Testing',
    about: 'a clock for tests, and the checks for a store.',
    sections: [
      { name: 'fakeClock', from: 'testing' },
      { name: 'FakeClock', from: 'testing' },
      { name: 'storeConformance', from: 'testing' },
      { name: 'replayTrace', from: 'testing' },
    ],
  },
  {
    file: 'codes.md',
    title: 'Codes of errors and warnings',
    about: 'the list of all codes.',
    intro: 'Every code is explained in [Errors and warnings](../errors.md).',
    sections: [
      { name: 'ErrorCode' },
      { name: 'WarningCode' },
      { name: 'CodedError', members: false },
      { name: 'StoreError', members: false },
    ],
  },
]
