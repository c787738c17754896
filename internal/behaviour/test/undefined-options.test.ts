// An undefined option counts as omitted, so missing settings, and spreads of them, need no
// conditions. The types check that no option is missing here.

import {
  type DecideOptions,
  duration,
  type FixedWindowOptions,
  fixedWindow,
  type GcraOptions,
  gcra,
  type LeakyBucketOptions,
  leakyBucket,
  type MemoryStoreOptions,
  memoryStore,
  type PolicyUse,
  RateLimiter,
  type RateLimiterOptions,
  type RedisStoreOptions,
  redisStore,
  type SlidingWindowOptions,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type TokenBucketOptions,
  tokenBucket,
  unlimited,
  type WindowOptions,
} from '@weir/core'
import {
  type AdaptiveOptions,
  adaptive,
  type EventLoopDelayOptions,
  type EventLoopUtilizationOptions,
  eventLoopDelay,
  eventLoopUtilization,
  type ResponsesOptions,
  responses,
} from '@weir/core/adaptive'
import {
  addressKey,
  type HttpOptions,
  type OverloadOptions,
  overload,
  type ProxyOptions,
} from '@weir/core/http'
import {
  type LimitsFromOptions,
  type LivePoliciesOptions,
  limitsFrom,
  livePolicies,
} from '@weir/core/live'
import { type RedisLike, type ResilientOptions, resilient } from '@weir/core/store'
import type { AddressOptions } from '@weir/express'
import { MetricsModule, type MetricsModuleOptions } from '@weir/metrics/nest'
import { type OtelOptions, observe } from '@weir/metrics/otel'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, serve } from './client.js'
import type { Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

/** The names of the optional options. */
type Optional<Options> = keyof {
  [Name in keyof Options as undefined extends Options[Name] ? Name : never]: true
}
type Undefined<Options> = Readonly<Record<Optional<Options>, undefined>>

const bucket: Undefined<TokenBucketOptions & LeakyBucketOptions> = {
  name: undefined,
  unit: undefined,
  maxWait: undefined,
}
const windowed: Undefined<WindowOptions> = { name: undefined, unit: undefined }
const numbers = { limit: 5, window: '1m' } as const

test.each([
  [() => tokenBucket({ capacity: 5, refill: 1, every: '1s', ...bucket }), 'token-bucket-5-per-5s'],
  [() => leakyBucket({ capacity: 5, leak: 1, every: '1s', ...bucket }), 'leaky-bucket-5-per-5s'],
  [
    () => {
      const none: Undefined<GcraOptions> = {
        name: undefined,
        unit: undefined,
        burst: undefined,
        maxWait: undefined,
      }
      return gcra({ limit: 5, period: '1s', ...none })
    },
    'gcra-5-per-1s',
  ],
  [
    () => {
      const none: Undefined<FixedWindowOptions> = {
        name: undefined,
        unit: undefined,
        aligned: undefined,
        timeZone: undefined,
        weekStart: undefined,
      }
      return fixedWindow({ ...numbers, ...none })
    },
    'fixed-window-5-per-1m',
  ],
  [
    () => {
      const none = { aligned: undefined, timeZone: undefined, weekStart: undefined }
      return fixedWindow({ limit: 5, window: 'week', ...none })
    },
    'fixed-window-5-per-week-monday-UTC',
  ],
  [
    () => {
      const none: Undefined<SlidingWindowOptions> = {
        name: undefined,
        unit: undefined,
        parts: undefined,
      }
      return slidingWindow({ ...numbers, ...none })
    },
    'sliding-window-5-per-1m',
  ],
  [() => slidingLog({ ...numbers, ...windowed }), 'sliding-log-5-per-1m'],
  [() => slidingCounter({ ...numbers, ...windowed }), 'sliding-counter-5-per-1m'],
  [() => unlimited({ name: undefined }), 'unlimited'],
])('of a policy: %o is %s', (make, name) => {
  expect(make().name).toBe(name)
})

test('of stores', async () => {
  const memory: Undefined<MemoryStoreOptions> = {
    maxKeys: undefined,
    keys: undefined,
    clock: undefined,
  }
  const shared: Undefined<ResilientOptions> = {
    deadlineMs: undefined,
    whenUnavailable: undefined,
    maxLocalKeys: undefined,
    instances: undefined,
    log: undefined,
  }
  const redis: Undefined<RedisStoreOptions> = {
    ...shared,
    prefix: undefined,
    clock: undefined,
    hashTags: undefined,
    hashKeys: undefined,
    maxInFlight: undefined,
    denyCache: undefined,
    leases: undefined,
  }
  const client: RedisLike = { callBuffer: () => Promise.reject(new Error('no server')) }
  const stores = [resilient(memoryStore(memory), shared), redisStore(client, redis)]
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  const limiter = new RateLimiter({ store: stores[0], policy: slidingWindow(numbers) })
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: false })
})

test('of metrics', () => {
  const otel: Undefined<OtelOptions> = { meter: undefined }
  const nest: Undefined<MetricsModuleOptions> = {
    path: undefined,
    version: undefined,
    decorators: undefined,
    imports: undefined,
    also: undefined,
  }
  const limiter = new RateLimiter({ policy: slidingWindow(numbers) })
  observe([limiter], otel)()
  expect(MetricsModule.forRoot(nest).controllers).toHaveLength(1)
})

test('of a limiter, of its policies and of its methods', async () => {
  const none: Undefined<RateLimiterOptions> = {
    name: undefined,
    store: undefined,
    whenPolicyFails: undefined,
    whenUnavailable: undefined,
    onDecision: undefined,
    shared: undefined,
    maxWaiting: undefined,
    reserve: undefined,
  }
  const use: Undefined<PolicyUse> = {
    key: undefined,
    cost: undefined,
    whenUnavailable: undefined,
    tag: undefined,
  }
  const call: Undefined<DecideOptions> = { cost: undefined, policy: undefined, priority: undefined }
  const limiter = new RateLimiter({ policy: [{ policy: fixedWindow(numbers), ...use }], ...none })
  expect(limiter.name).toBe('default')
  const decision = await limiter.consume('k', call)
  expect(decision).toMatchObject({ remaining: 4, key: 'k' })
  await limiter.refund(decision, { cost: undefined })
  const correction = { cost: undefined, policy: undefined }
  expect(await limiter.penalty('k', correction)).toMatchObject({ remaining: 4 })
  await limiter.refund('k', correction)
  await limiter.consume('k')
  await limiter.reset('k', { policy: undefined })
  expect(await limiter.peek('k', call)).toMatchObject({ remaining: 5 })
})

test('of policies that change', async () => {
  const byDefault = fixedWindow({ name: 'a', ...numbers })
  const none: Undefined<LivePoliciesOptions> = { onChange: undefined, onFailure: undefined }
  const live = livePolicies(memoryStore(), { name: 'plans', defaults: { byDefault }, ...none })
  expect(live.policy('byDefault')(undefined)).toBe(byDefault)
  expect(live.for('byDefault', undefined)).toBe(byDefault)
  await expect(live.remove('k', undefined)).resolves.toMatchObject({ isChanged: false })
  live.close()
  const others: Undefined<LimitsFromOptions> = {
    ttl: undefined,
    maxKeys: undefined,
    deadlineMs: undefined,
    onFailure: undefined,
  }
  const limits = limitsFrom({ load: () => undefined, default: byDefault, ...others })
  expect(await limits.for('k')).toBe(byDefault)
  limits.forget(undefined)
})

test('of addresses', () => {
  const none: Undefined<AddressOptions> = { ipv6Prefix: undefined, nat64: undefined }
  expect(addressKey(none)('2001:db8::1')).toBe('2001:db8::/56')
})

test('of overload protection, adaptive policies and signals', () => {
  const guard: Undefined<OverloadOptions> = {
    target: undefined,
    reserve: undefined,
    priority: undefined,
  }
  expect(overload(guard).limit).toBe(overload().limit)
  const none: Undefined<AdaptiveOptions> = {
    signal: undefined,
    min: undefined,
    max: undefined,
    warmUp: undefined,
    onChange: undefined,
  }
  const policy = slidingWindow(numbers)
  expect(adaptive(policy, { ...none, signal: () => 0 }).factor).toBe(1)
  expect(adaptive(policy, { ...none, warmUp: '1s' }).factor).toBe(1 / 8)
  const delay: Undefined<EventLoopDelayOptions> = { target: undefined }
  const busy: Undefined<EventLoopUtilizationOptions> = { target: undefined }
  const seen: Undefined<ResponsesOptions> = { latency: undefined, errors: undefined }
  const signals = [
    eventLoopDelay(delay),
    eventLoopUtilization(busy),
    responses({ ...seen, errors: 1 }),
  ]
  for (const signal of signals) expect(['number', 'undefined']).toContain(typeof signal())
})

const ALL: Undefined<HttpOptions<never>> = {
  name: undefined,
  store: undefined,
  whenPolicyFails: undefined,
  whenUnavailable: undefined,
  onDecision: undefined,
  shared: undefined,
  maxWaiting: undefined,
  reserve: undefined,
  priority: undefined,
  key: undefined,
  onMissingKey: undefined,
  cost: undefined,
  wait: undefined,
  skip: undefined,
  allow: undefined,
  deny: undefined,
  preflight: undefined,
  requestProperty: undefined,
  headers: undefined,
  hide: undefined,
  status: undefined,
  body: undefined,
  mediaType: undefined,
  onDenied: undefined,
  refundWhen: undefined,
  settle: undefined,
  refundWhenRefused: undefined,
  maxHold: undefined,
  onExpiry: undefined,
  shadow: undefined,
  proxies: undefined,
  ipv6Prefix: undefined,
  nat64: undefined,
}

describe.each(servers)('$name', (kind) => {
  test('every option of HTTP', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const answers: unknown[] = []
    for (const none of [{}, ALL]) {
      const allowance = { policy: undefined, limit: 1, window: duration('1m') }
      const settings: Settings = { ...none, ...allowance }
      const { url } = await serve(kind, { limiters: [settings] })
      for (let i = 0; i < 2; i += 1) {
        const { status, headers, body } = await ask(url)
        const { date: _, ...others } = headers
        answers.push({ status, others, body })
      }
    }
    expect(answers.slice(2)).toEqual(answers.slice(0, 2))
    expect(answers.map((answer) => (answer as { status: number }).status)).toEqual([
      200, 429, 200, 429,
    ])
  })

  test('the proxies’ header', async () => {
    const none: Undefined<ProxyOptions> = { header: undefined }
    const proxies = { trusted: ['loopback'], ...none }
    const { url } = await serve(kind, { limiters: [{ limit: 1, window: '1m', proxies }] })
    const from = { headers: { 'x-forwarded-for': '9.9.9.9' } }
    expect([(await ask(url, from)).status, (await ask(url)).status]).toEqual([200, 200])
  })
})
