// An undefined option counts as omitted, so missing settings, and spreads of them, need no
// conditions. The types check that no option is missing here.

import {
  type DecideOptions,
  duration,
  fixedWindow,
  type MemoryStoreOptions,
  memoryStore,
  type PolicyUse,
  RateLimiter,
  type RateLimiterOptions,
  type RedisStoreOptions,
  redisStore,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import type { HttpOptions, ProxyOptions } from '@weir/core/http'
import { type RedisLike, type ResilientOptions, resilient } from '@weir/core/store'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, serve } from './client.js'
import type { Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

/** The names of the optional options. */
type Optional<Options> = keyof {
  [Name in keyof Options as undefined extends Options[Name] ? Name : never]: true
}
type Undefined<Options> = Readonly<Record<Optional<Options>, undefined>>

const numbers = { limit: 5, window: '1m' } as const

test('of policies', () => {
  const none = { name: undefined, unit: undefined }
  const zone = { aligned: undefined, timeZone: undefined, weekStart: undefined }
  const bucket = { capacity: 5, refill: 1, every: '1s', maxWait: undefined } as const
  const made = [
    tokenBucket({ ...bucket, ...none }),
    fixedWindow({ ...numbers, ...none, ...zone }),
    slidingWindow({ ...numbers, ...none, parts: undefined }),
  ]
  const names = ['token-bucket-5-per-5s', 'fixed-window-5-per-1m', 'sliding-window-5-per-1m']
  expect(made.map(({ name }) => name)).toEqual(names)
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

test('of a limiter, of its policies and of its methods', async () => {
  const none: Undefined<RateLimiterOptions> = {
    name: undefined,
    store: undefined,
    whenPolicyFails: undefined,
    whenUnavailable: undefined,
    onDecision: undefined,
    onCrossing: undefined,
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

const ALL: Undefined<HttpOptions<never>> = {
  name: undefined,
  store: undefined,
  whenPolicyFails: undefined,
  whenUnavailable: undefined,
  onDecision: undefined,
  onCrossing: undefined,
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
