// What a limit means to a request: options, refusals, and the decision on the request. Without a
// framework.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { httpLimiterIn } from '../../src/http/http-limiter.js'
import {
  httpLimiter,
  type LimitOptions,
  type Refusal,
  type RequestDecision,
} from '../../src/http/index.js'
import {
  type Decision,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type PolicyInput,
  RateLimiter,
  type Store,
  slidingLog,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { memoryStoreOf } from '../../src/memory/store.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { virtualTime } from '../virtual-time.js'
import { catchWarnings } from '../warnings.js'
import { type FakeRequest, FakeResponse, fake, limitOn } from './exchange.js'

const refused = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })
const once = fixedWindow({ name: 'once', limit: 1, window: '1m' })

/** The first part of a test's name separates warnings that are given once per limiter. */
const warnings = catchWarnings()

/** A memory store that answers later, as Redis does. */
function slowStore(): Store {
  const store = memoryStore({ clock: fakeClock() })
  return { decide: async (group) => store.decide(group), reset: (subject) => store.reset(subject) }
}

const failing: Store = {
  decide: () => Promise.reject(new Error('no store')),
  reset: () => undefined,
}

describe('options', () => {
  test.each([
    undefined,
    null,
    'x',
    { limit: 1, windowMs: 60_000 },
    { max: 1 },
    { key: 'ip' },
    { skip: true },
    { onDenied: 'x' },
    { refundWhen: 500 },
    { onMissingKey: 'allow' },
    { headers: 'draft-9' },
    { headers: ['draft-8', null] },
    { headers: true },
    { status: 200 },
    { status: '429' },
    { shadow: 'yes' },
    { refundWhenRefused: 1 },
    { preflight: true },
    { requestProperty: '' },
    { requestProperty: 7 },
    { requestProperty: '__proto__' },
    ...['headers', 'url', 'method', 'socket', 'ip', 'query', 'res', 'raw'].map(
      (requestProperty) => ({
        requestProperty,
      }),
    ),
    { preflight: 'deny' },
    { mediaType: 7 },
    { mediaType: 'text/plain\r\nX: y' },
    { mediaType: 'text/html' },
    { body: 5 },
    { body: null },
    { hide: 'once' },
    { hide: [1] },
    { policy: () => once, hide: ['once', 1] },
    { hide: ['onec'] },
    { nat64: '64:ff9b::/96' },
    { nat64: null },
    { proxies: null },
    { proxies: 'loopback' },
    { proxies: { trusted: ['loopback'], heder: 'forwarded' } },
    { cost: -1 },
    { cost: 1.5 },
    { cost: '1' },
    { store: {} },
    { whenUnavailable: 'open' },
    { onDecision: 1 },
  ])('%o are refused', (options) => {
    const allowed =
      options && typeof options === 'object' && !('limit' in options) ? { policy: once } : {}
    const given = options && typeof options === 'object' ? { ...allowed, ...options } : options
    expect(() => httpLimiter(given as never, fake)).toThrow(refused)
  })

  test('key together with ipv6Prefix is refused, since the prefix would have no effect', () => {
    expect(() => limitOn({ key: () => 'k', ipv6Prefix: 64 })).toThrow(
      /ipv6Prefix is 64 beside key, .* addressKey\(\{ ipv6Prefix \}\)/,
    )
    limitOn({ key: () => 'k', ipv6Prefix: undefined, nat64: ['2001:db8:64::/96'] })
  })

  test.each([
    // express-rate-limit
    ['windowMs', 'window'],
    ['max', 'limit'],
    ['keyGenerator', 'key'],
    ['handler', 'onDenied'],
    ['message', 'body'],
    ['statusCode', 'status'],
    ['standardHeaders', 'headers'],
    ['skipSuccessfulRequests', 'refundWhen'],
    ['passOnStoreError', 'whenUnavailable'],
    ['ipv6Subnet', 'ipv6Prefix'],
    // @fastify/rate-limit
    ['timeWindow', 'window'],
    ['ban', 'policy'],
    ['exponentialBackoff', 'policy'],
    ['nameSpace', 'name'],
    ['groupId', 'name'],
    ['cache', 'store'],
    ['addHeaders', 'headers'],
    ['onBanReach', 'onDenied'],
    // rate-limiter-flexible
    ['points', 'limit'],
    ['duration', 'window'],
    ['storeClient', 'store'],
    ['keyPrefix', 'name'],
    // koa-ratelimit
    ['db', 'store'],
    ['id', 'key'],
    ['whitelist', 'allow'],
    ['throw', 'onDenied'],
    // @nestjs/throttler
    ['ttl', 'window'],
    ['getTracker', 'key'],
    ['storage', 'store'],
    ['skipIf', 'skip'],
  ])('%s of other limiters is answered with %s and a link', (name, here) => {
    const options = { limit: 1, window: '1m', [name]: 1 }
    const message = `a rate limit does not know the option "${name}"; here that is ${here}: see docs/migrating.md`
    expect(() => httpLimiter(options as never, fake)).toThrow(message)
  })

  test.each([
    ['Headers', 'did you mean headers?'],
    ['widnow', 'did you mean window?'],
    ['headrs', 'did you mean headers?'],
    ['blockDuration', 'see docs/migrating.md, or the options in the README of the package'],
  ])('%s: %s', (name, right) => {
    const message = `a rate limit does not know the option "${name}"; ${right}`
    const options = { limit: 1, window: '1m', [name]: 1 }
    expect(() => httpLimiter(options as never, fake)).toThrow(message)
  })

  test('the lists of @nestjs/throttler are answered with what to use instead', () => {
    const throttlers = [{ ttl: 60_000, limit: 10 }]
    expect(() => httpLimiter({ throttlers } as never, fake)).toThrow(
      'the option "throttlers"; here that is policy: see docs/migrating.md',
    )
    expect(() => httpLimiter(throttlers as never, fake)).toThrow(
      'a rate limit was given [{ ttl, limit }]; give an object of options',
    )
  })

  test('the same holds in policies', () => {
    expect(() => fixedWindow({ limit: 1, windowMs: 1 } as never)).toThrow(/here that is window:/)
    expect(() => fixedWindow({ max: 1, window: 1 } as never)).toThrow(/here that is limit:/)
    expect(() => tokenBucket({ bucketSize: 1, refill: 1, every: 1 } as never)).toThrow(
      /here that is capacity:/,
    )
    expect(() => tokenBucket({ capacity: 1, refill: 1, interval: 1 } as never)).toThrow(
      /here that is every:/,
    )
    expect(() => fixedWindow({ limit: 1, window: 1, blockDuration: 1 } as never)).toThrow(
      /it knows name, unit, limit, window, aligned/,
    )
  })

  test.each([400, 599])('status %d is not refused', async (status) => {
    const { send } = limitOn({ limit: 0, window: '1m', status })
    expect(await send()).toMatchObject({ status })
  })

  test('neither a policy nor a limit, or both, are refused', () => {
    expect(() => httpLimiter({} as never, fake)).toThrow(refused)
    expect(() => httpLimiter({ policy: once, limit: 1, window: '1m' } as never, fake)).toThrow(
      refused,
    )
    expect(() => httpLimiter({ limit: 1 } as never, fake)).toThrow(/window is undefined/)
    expect(() => httpLimiter({ window: '1m' } as never, fake)).toThrow(/limit is undefined/)
  })

  test('invalid limits, windows and names are refused with their own codes', () => {
    expect(() => limitOn({ limit: -1, window: '1m' })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }),
    )
    expect(() => limitOn({ limit: 1, window: '1x' as never })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_DURATION' }),
    )
    expect(() => limitOn({ name: 'a b', policy: once })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_NAME' }),
    )
  })

  test('limit and window are a strict sliding window, named after the limiter', async () => {
    const [named, plain] = [{}, {}] as [FakeRequest, FakeRequest]
    await limitOn({ name: 'api', limit: 5, window: '1m' }).send(named)
    await limitOn({ limit: 5, window: '1m' }).send(plain)
    expect(named.rateLimit?.policy).toMatchObject({
      name: 'api',
      algorithm: 'sliding-window',
      limit: 5,
      windowMs: 60_000,
    })
    expect(plain.rateLimit?.policy.name).toBe('sliding-window-5-per-1m')
  })
})

describe('policies that depend on the request', () => {
  const tiers: Record<string, PolicyInput> = {
    free: fixedWindow({ name: 'tier', limit: 1, window: '1m' }),
    paid: [
      fixedWindow({ name: 'tier', limit: 3, window: '1m' }),
      fixedWindow({ name: 'day', limit: 10, window: '1d' }),
    ],
    partner: unlimited(),
  }
  const policyOf = ({ user = 'free' }: FakeRequest) => tiers[user] as PolicyInput

  test.each<[string, (request: FakeRequest) => PolicyInput | PromiseLike<PolicyInput>]>([
    ['at once', policyOf],
    ['later', async (request) => policyOf(request)],
    [
      'by a thenable that is no promise',
      (request) => {
        // biome-ignore lint/suspicious/noThenProperty: what query builders return
        return { then: (done: (policy: PolicyInput) => void) => done(policyOf(request)) } as never
      },
    ],
  ])('%s', async (_, policy) => {
    const { send } = limitOn({ policy })
    const allowed = async (user: string) => (await send({ user })) === undefined
    expect([await allowed('free'), await allowed('free')]).toEqual([true, false])
    // One name, one count: the paid tier continues from what the free tier has used.
    expect([await allowed('paid'), await allowed('paid'), await allowed('paid')]).toEqual([
      true,
      true,
      false,
    ])
    expect([await allowed('partner'), await allowed('partner')]).toEqual([true, true])
  })

  test.each([
    ['at once', ({ user }: FakeRequest) => (user === 'paid' ? 3 : 1)],
    ['later', async ({ user }: FakeRequest) => (user === 'paid' ? 3 : 1)],
  ])('limit and window as functions, %s, share one count', async (_, limit) => {
    const { send } = limitOn({ limit, window: async () => '1m' as const, name: 'api' })
    const request: FakeRequest = { user: 'paid' }
    expect(await send(request)).toBeUndefined()
    expect(request.rateLimit?.policy).toMatchObject({ name: 'api', limit: 3 })
    expect(await send({ user: 'free' })).toMatchObject({ status: 429 })
    expect(await send({ user: 'paid' })).toBeUndefined()
  })

  test('a limit function that returns an invalid value fails its request, whatever came before', async () => {
    const limits: unknown[] = [10, '10', Number.NaN]
    const { send } = limitOn({
      limit: () => limits.shift() as number,
      window: '1m',
      key: () => String(limits.length),
    })
    expect(await send()).toBeUndefined()
    await expect(send()).rejects.toMatchObject({ code: 'WEIR_POLICY_FAILED' })
    await expect(send()).rejects.toMatchObject({ code: 'WEIR_POLICY_FAILED' })
  })
})

describe('keys', () => {
  test('CVE-2026-30827: IPv4 clients of a dual-stack server do not share a bucket; spellings of one do', async () => {
    const { send } = limitOn({ policy: once })
    expect(await send({ address: '::ffff:127.0.0.1' })).toBeUndefined()
    expect(await send({ address: '::ffff:127.0.0.2' })).toBeUndefined()
    for (const address of [
      '127.0.0.1',
      '::FFFF:127.0.0.1',
      '::ffff:7f00:1',
      '64:ff9b::127.0.0.1',
      '127.0.0.1:80',
    ]) {
      expect(await send({ address })).toMatchObject({ status: 429 })
    }
  })

  const MISSING = [undefined, null, '', 7.5, {}, Number.NaN, true] as never[]

  test.each(MISSING)(
    'without a usable one (%s): one shared bucket, and a warning once',
    async (key) => {
      const { send } = limitOn({
        name: `shared-${typeof key}-${MISSING.indexOf(key)}`,
        policy: once,
        key: () => key,
      })
      expect(await send()).toBeUndefined()
      expect(await send({ address: '9.9.9.9' })).toMatchObject({ status: 429 })
      expect(warnings.codes).toEqual(['WEIR_NO_KEY'])
    },
  )

  test.each([undefined, '', 'unknown', '1.2.3.355', 'x'.repeat(8_192)])(
    'without a usable address (%s): one shared bucket, and a warning once',
    async (address) => {
      const { send } = limitOn({ name: `address-${address?.length}`, policy: once })
      expect(await send({ address })).toBeUndefined()
      expect(await send({ address: 'garbage' })).toMatchObject({ status: 429 })
      expect(await send({ address: '192.0.2.1' })).toBeUndefined()
      expect(warnings.codes).toEqual(['WEIR_NO_ADDRESS'])
    },
  )

  test("onMissingKey 'shared' does not warn, 'skip' does not limit, 'deny' refuses", async () => {
    const key = () => undefined
    const shared = limitOn({ policy: once, key, onMissingKey: 'shared' })
    expect([await shared.send(), (await shared.send())?.status]).toEqual([undefined, 429])
    const skip = limitOn({ policy: once, key, onMissingKey: 'skip' })
    expect([await skip.send(), await skip.send()]).toEqual([undefined, undefined])
    const response = new FakeResponse()
    expect(
      await limitOn({ policy: once, key, onMissingKey: 'deny' }).send({}, response),
    ).toMatchObject({
      status: 403,
    })
    expect(response.headers).toEqual({ 'Cache-Control': 'no-store' })
    expect(warnings.codes).toEqual([])
  })

  test.each([
    ['at once', ({ user }: FakeRequest) => user],
    ['later', async ({ user }: FakeRequest) => user],
  ])('onMissingKey as a function, %s', async (_, onMissingKey) => {
    const { send } = limitOn({ policy: once, key: () => null, onMissingKey })
    expect(await send({ user: 'ann' })).toBeUndefined()
    expect(await send({ user: 'bob' })).toBeUndefined()
    expect(await send({ user: 'ann' })).toMatchObject({ status: 429 })
    expect(await send()).toBeUndefined()
    expect(await send()).toMatchObject({ status: 429 })
  })

  test('a key that is a full IPv6 address causes a warning', async () => {
    const { send } = limitOn({ name: 'raw', policy: once, key: ({ user }) => user })
    const others = ['user:7', 'a:b', '12:34', 'urn:isbn:123', '10:20:30', '10.0.0.1', '10.0.0.1:80']
    for (const user of others) await send({ user })
    expect(warnings.codes).toEqual([])
    await send({ user: '2001:db8::1' })
    await send({ user: '::ffff:1.2.3.4' })
    expect(warnings.codes).toEqual(['WEIR_RAW_ADDRESS'])
  })

  // It takes milliseconds. In quadratic time it would take longer than a test may.
  test.each(['1', ':', 'a:', '1.', '%', ' '])(
    'a key of 500 kB is handled in linear time: many %j',
    async (part) => {
      const { send } = limitOn({ policy: once, key: ({ user }) => user })
      const key = `1:1:${part.repeat(500_000 / part.length)}z`
      expect(await send({ user: key })).toMatchObject({ status: 400 })
    },
  )

  describe('a key of more than 8,192 characters gets 400, and is neither free nor shared', () => {
    const user = 'k'.repeat(8_193)
    const refused = {
      status: 400,
      mediaType: 'application/problem+json',
      content: { title: 'Bad request', detail: 'The key of this request is too long.' },
      decision: undefined,
    }
    const policyOfUser = ({ user: key }: FakeRequest) => [{ policy: once, key }]

    test.each<[string, Partial<LimitOptions<FakeRequest>>]>([
      ['of a function', { key: ({ user: key }) => key }],
      ['of one that answers later', { key: async ({ user: key }) => key }],
      ['where others are skipped', { key: ({ user: key }) => key, onMissingKey: 'skip' }],
      ['of a request that would wait', { key: ({ user: key }) => key, wait: '1s' }],
      ['of onMissingKey', { key: () => null, onMissingKey: ({ user: key }) => key }],
      ['of a policy', { policy: policyOfUser }],
      ['of a policy that is found later', { policy: async (request) => policyOfUser(request) }],
      ['of a policy, waiting', { policy: policyOfUser, wait: '1s', whenPolicyFails: 'allow' }],
      ['beside a cost that is none', { policy: policyOfUser, cost: () => -1 }],
    ])('%s', async (_, options) => {
      const all = { policy: once, ...options } as Partial<LimitOptions<FakeRequest>>
      const { send, limiter } = limitOn(all)
      const response = new FakeResponse()
      expect(await send({ user }, response)).toMatchObject(refused)
      expect(response.headers).toEqual({ 'Cache-Control': 'no-store' })
      const { undecided, decisions } = limiter.stats()
      expect(undecided.noKey).toBe(1)
      expect(decisions.reduce((sum, { count }) => sum + count, 0)).toBe(0)
      expect((await send({ user: user.slice(1) }))?.status).toBe(options.cost && 400)
      expect(warnings.codes).toEqual([])
    })

    test('and passes in shadow mode', async () => {
      const watching = { shadow: true, key: ({ user: key }: FakeRequest) => key }
      const { send, limiter } = limitOn({ policy: once, ...watching })
      expect(await send({ user })).toBeUndefined()
      expect(limiter.stats().undecided.noKey).toBe(1)
    })
  })
})

describe('cost', () => {
  const ten = fixedWindow({ name: 'ten', limit: 10, window: '1m' })

  test('0 is free', async () => {
    const { send } = limitOn({ policy: once, cost: () => 0 })
    for (let i = 0; i < 3; i += 1) expect(await send()).toBeUndefined()
  })

  test.each([Number.NaN, -5, 1.5, Number.POSITIVE_INFINITY, 2 ** 53, '1', null, undefined, {}])(
    'that is none (%s) is charged as 1 and answered 400, never free',
    async (cost) => {
      const { send, limiter } = limitOn({
        policy: fixedWindow({ limit: 2, window: '1m' }),
        cost: () => cost as number,
        refundWhen: () => true,
      })
      const response = new FakeResponse()
      const refusal = await send({}, response)
      expect(refusal).toMatchObject({
        status: 400,
        mediaType: 'application/problem+json',
        content: { type: 'about:blank', status: 400 },
      })
      expect(response.headers['Cache-Control']).toBe('no-store')
      expect(response.headers['Retry-After']).toBeUndefined()
      await response.end(400)
      expect((await limiter.peek('192.0.2.1')).remaining).toBe(1)
      expect(await send()).toMatchObject({ status: 400 })
      expect(await send()).toMatchObject({ status: 429 })
    },
  )

  test('above what can ever pass: no Retry-After, and no charge', async () => {
    const { send, limiter } = limitOn({ policy: ten, cost: 11 })
    const response = new FakeResponse()
    const refusal = await send({}, response)
    expect(refusal?.decision).toMatchObject({ reason: 'cost-exceeds-limit' })
    expect(response.headers).not.toHaveProperty('Retry-After')
    expect(refusal?.content).toMatchObject({ detail: expect.stringContaining('does not help') })
    expect((await limiter.peek('192.0.2.1')).remaining).toBe(10)
  })
})

describe('skip', () => {
  test.each([
    ['at once', ({ user }: FakeRequest) => user === 'ann'],
    ['later', async ({ user }: FakeRequest) => user === 'ann'],
  ])('%s', async (_, skip) => {
    const { send } = limitOn({ policy: once, skip })
    for (let i = 0; i < 3; i += 1) expect(await send({ user: 'ann' })).toBeUndefined()
    expect(await send({ user: 'bob' })).toBeUndefined()
    expect(await send({ user: 'bob' })).toMatchObject({ status: 429 })
  })
})

describe('methods', () => {
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }

  test('real preflights are not counted; other OPTIONS and HEAD count like GET', async () => {
    const { send } = limitOn({ policy: fixedWindow({ limit: 3, window: '1m' }) })
    for (let i = 0; i < 5; i += 1)
      expect(await send({ method: 'OPTIONS', headers: preflight })).toBeUndefined()
    expect(await send({ method: 'HEAD' })).toBeUndefined()
    expect(
      await send({ method: 'OPTIONS', headers: { origin: 'https://a.example' } }),
    ).toBeUndefined()
    expect(await send({ method: 'GET', headers: preflight })).toBeUndefined()
    for (const method of ['HEAD', 'OPTIONS', 'GET'])
      expect(await send({ method })).toMatchObject({ status: 429 })
  })
})

describe('a refusal', () => {
  const two = [
    fixedWindow({ name: 'a', limit: 1, window: '1m' }),
    tokenBucket({ name: 'b', capacity: 5, refill: 1, every: '1s' }),
  ]

  test('is 429 with a problem document and the wait, and must not be stored', async () => {
    const { send, clock } = limitOn({ policy: two })
    await send()
    clock.advance(19_500)
    const response = new FakeResponse()
    const refusal = await send({}, response)
    expect(refusal).toMatchObject({ status: 429, mediaType: 'application/problem+json' })
    expect(JSON.parse(refusal?.body ?? '')).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Try again in 41 seconds.',
      'violated-policies': ['a'],
    })
    expect(response.headers).toMatchObject({
      'Retry-After': '41',
      'Cache-Control': 'no-store',
      RateLimit: '"a";r=0;t=41, "b";r=5;t=5',
    })
  })

  test('names only the policies that refused', async () => {
    const { send } = limitOn({
      policy: [
        fixedWindow({ name: 'a', limit: 6, window: '1m' }),
        fixedWindow({ name: 'b', limit: 5, window: '1m' }),
      ],
      cost: 3,
    })
    await send()
    expect((await send())?.content).toMatchObject({ 'violated-policies': ['b'] })
  })

  test('does not name hidden policies', async () => {
    const { send } = limitOn({ policy: two, hide: ['a'] })
    await send()
    const response = new FakeResponse()
    const refusal = await send({}, response)
    expect(JSON.stringify([refusal?.body, response.headers])).not.toMatch(/"a\\?"/)
    expect(refusal?.content).not.toHaveProperty('violated-policies')
    expect(response.headers['Retry-After']).toBe('60')
  })

  test.each([
    [{ status: 503 }, 503, 'application/problem+json', expect.stringContaining('"status":503')],
    [{ body: 'slow down' }, 429, 'text/plain; charset=utf-8', 'slow down'],
    [{ body: { error: 'slow down' } }, 429, 'application/json', '{"error":"slow down"}'],
    [{ body: '<p>slow down</p>', mediaType: 'text/html' }, 429, 'text/html', '<p>slow down</p>'],
    [
      {
        status: 420,
        body: (decision: Decision, request: FakeRequest) =>
          `${request.user}: ${decision.policy.name}`,
      },
      420,
      'text/plain; charset=utf-8',
      'ann: once',
    ],
  ])('with %o', async (options, status, mediaType, body) => {
    const { send } = limitOn({ policy: once, ...options })
    await send()
    expect(await send({ user: 'ann' })).toMatchObject({ status, mediaType, body })
  })

  test('by a store that cannot decide is 503, whatever the status of denials', async () => {
    const store: Store = {
      decide: ({ target }: StoreRequest): StoreResult => ({
        granted: 0,
        nowUs: 0,
        untilUs: [0],
        policies: target.policySet.policies.map((policy) => ({
          policy,
          cost: 1,
          limit: 1,
          remaining: 1,
          retryAfterMs: 0,
          resetAfterMs: 0,
        })),
        source: 'local',
        degraded: true,
        unavailableMs: 1_500,
      }),
      reset: () => undefined,
    }
    const response = new FakeResponse()
    const refusal = await limitOn({ policy: once, store, status: 420, body: 'x' }).send(
      {},
      response,
    )
    expect(refusal).toMatchObject({ status: 503, mediaType: 'application/problem+json' })
    expect(refusal?.content).toMatchObject({
      type: expect.stringContaining('#temporary-reduced-capacity'),
      status: 503,
    })
    expect(response.headers['Retry-After']).toBe('2')
  })

  test('a policy name that two limiters share was violated under one name and reported under another', async () => {
    const [request, response] = [{}, new FakeResponse()]
    await limitOn({ name: 'a', policy: fixedWindow({ name: 'p', limit: 9, window: '1m' }) }).send(
      request,
      response,
    )
    const { send } = limitOn({
      name: 'b',
      policy: fixedWindow({ name: 'p', limit: 0, window: '1m' }),
    })
    const refusal = await send(request, response)
    expect(response.headers.RateLimit).toBe('"p";r=8;t=60, "b.p";r=0')
    expect(refusal?.content).toMatchObject({ 'violated-policies': ['b.p'] })
  })

  test('of a limiter without headers names its policies by their plain names', async () => {
    const refusal = await limitOn({
      headers: false,
      policy: fixedWindow({ name: 'p', limit: 0, window: '1m' }),
    }).send()
    expect(refusal?.content).toMatchObject({ 'violated-policies': ['p'] })
  })

  test('an async body was answered as {}', async () => {
    const body = async (_: Decision, { user }: FakeRequest) => `slow down, ${user}`
    const { send } = limitOn({ limit: 0, window: '1m', body })
    const response = new FakeResponse()
    expect(await send({ user: 'ann' }, response)).toMatchObject({ body: 'slow down, ann' })
    expect(response.headers['Cache-Control']).toBe('no-store')
  })

  test.each([undefined, null, 7])(
    'a body function that gives %s fails its request',
    async (body) => {
      const { send } = limitOn({ limit: 0, window: '1m', body: () => body as never })
      await expect(send()).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
    },
  )

  test('draft 8.2: the wait told a stranger when others had tried the account; for a hidden policy it is the window', async () => {
    const policy = [
      fixedWindow({ name: 'address', limit: 9, window: '1m' }),
      { policy: slidingLog({ name: 'account', limit: 1, window: '15m' }), key: 'account:ann' },
    ]
    const { send, clock } = limitOn({ policy, hide: ['account'] })
    await send({ address: '1.1.1.1' })
    for (const elapsed of [0, 60_000, 300_000]) {
      clock.advance(elapsed)
      const response = new FakeResponse()
      const refusal = await send({ address: '6.6.6.6' }, response)
      expect(response.headers['Retry-After']).toBe('900')
      expect(refusal).toMatchObject({
        retryAfterMs: 900_000,
        body: expect.stringContaining('900 seconds'),
      })
    }
    // A visible policy that refuses for longer is reported.
    const longer = fixedWindow({ name: 'address', limit: 1, window: '1h' })
    const both = limitOn({ policy: [longer, policy[1]] as never, hide: ['account'] })
    await both.send()
    const response = new FakeResponse()
    await both.send({}, response)
    expect(response.headers['Retry-After']).toBe('3600')
  })

  test('a hidden debt is reported in whole windows, so that no wait is too short', async () => {
    const hidden = tokenBucket({ name: 'b', capacity: 1, refill: 1, every: '1m' })
    const { send, limiter, clock } = limitOn({ policy: hidden, hide: ['b'] })
    await limiter.penalty('192.0.2.1', { cost: 3 })
    clock.advance(100)
    const { decision, retryAfterMs = 0 } = (await send()) as Refusal
    expect(retryAfterMs % 60_000).toBe(0)
    const wait = decision?.allowed === false ? decision.retryAfterMs : Number.NaN
    expect(wait).toBeGreaterThan(60_000)
    expect(retryAfterMs - wait).toBe(100)
  })

  test('Retry-After shrank to the wait of the last limiter that refused', async () => {
    const once = (window: '1h' | '1m', shadow = false) =>
      limitOn({ policy: fixedWindow({ limit: 1, window }), name: `n${window}`, shadow })
    const [hour, minute, day] = [once('1h'), once('1m'), once('1h', true)]
    for (const { send } of [hour, minute, day]) await send()
    const [request, response] = [{}, new FakeResponse()]
    // An `onDenied` let the request go on.
    expect(await hour.send(request, response)).toMatchObject({ status: 429 })
    expect(await minute.send(request, response)).toMatchObject({ status: 429 })
    expect(response.headers['Retry-After']).toBe('3600')
    // What shadow mode would have refused is no reason to wait.
    const [other, another] = [{}, new FakeResponse()]
    await day.send(other, another)
    expect(await minute.send(other, another)).toMatchObject({ status: 429 })
    expect(another.headers['Retry-After']).toBe('60')
  })

  test('contains neither key nor address', async () => {
    const { send } = limitOn({ policy: once, key: () => 'secret-key' })
    await send({ address: '203.0.113.77' })
    const response = new FakeResponse()
    const refusal = await send({ address: '203.0.113.77' }, response)
    expect(JSON.stringify([refusal?.body, response.headers])).not.toMatch(/secret|203\.0\.113/)
  })
})

describe('the decision on the request', () => {
  const a = fixedWindow({ name: 'a', limit: 10, window: '1m' })
  const b = fixedWindow({ name: 'b', limit: 2, window: '1m' })

  test('is the binding one, with all others', async () => {
    const request: FakeRequest = {}
    for (const policy of [a, b, a]) await limitOn({ policy }).send(request)
    const { rateLimit } = request as { rateLimit: RequestDecision }
    expect(rateLimit).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
    expect(rateLimit.all.map(({ limit, remaining }) => [limit, remaining])).toEqual([
      [10, 9],
      [2, 1],
      [10, 9],
    ])
    expect(() => JSON.stringify(rateLimit)).not.toThrow()
    expect(structuredClone(rateLimit)).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
  })

  test.each([
    { limit: 10, used: 1, remaining: 9, resetTime: new Date(0), key: 'k' },
    { all: [] },
    'x',
    null,
  ])(
    'express-rate-limit before Weir, or whoever else left %o there, was a 500',
    async (foreign) => {
      for (const shadow of [false, true]) {
        const request = { rateLimit: foreign } as unknown as FakeRequest
        const response = new FakeResponse()
        expect(await limitOn({ policy: a, shadow }).send(request, response)).toBeUndefined()
        expect(request.rateLimit).toMatchObject({ allowed: true, remaining: 9 })
        expect(request.rateLimit?.all).toHaveLength(1)
        expect(response.headers.RateLimit).toBe('"a";r=9;t=60')
      }
    },
  )

  test('the second of two copies of Weir on one request, ESM and CommonJS, caused a 500', async () => {
    vi.resetModules()
    const copy: typeof import('./exchange.js') = await import('./exchange.js')
    expect(copy.limitOn).not.toBe(limitOn)
    const [request, response] = [{} as FakeRequest, new FakeResponse()]
    await limitOn({ policy: a }).send(request, response)
    await copy.limitOn({ policy: b }).send(request, response)
    await limitOn({ policy: a, name: 'more' }).send(request, response)
    expect(request.rateLimit?.all).toHaveLength(3)
    expect(response.headers.RateLimit).toBe('"a";r=9;t=60, "b";r=1;t=60, "more.a";r=9;t=60')
  })

  test('GraphQL aliases asked one limiter many times, each at a higher cost than the one before: each costs the same', async () => {
    const [request, response] = [{} as FakeRequest, new FakeResponse()]
    const { send } = limitOn({
      policy: [b, { policy: a, cost: 0 }],
      refundWhen: () => true,
      name: 'aliases',
    })
    const set = vi.spyOn(fake, 'setHeader')
    onTestFinished(() => set.mockRestore())
    const callsOf = async (count: number) => {
      set.mockClear()
      for (let i = 0; i < count; i += 1) await send(request, response)
      return set.mock.calls.length
    }
    await callsOf(100)
    const calls = await callsOf(100)
    expect(calls).toBe(await callsOf(100))
    // Of each limiter there is one decision, the binding one.
    expect(request.rateLimit?.all).toHaveLength(1)
    expect(request.rateLimit).toMatchObject({ allowed: false, limit: 2 })
    expect(response.headers.RateLimit).toBe('"b";r=0;t=60, "a";r=10;t=60')
  })
})

describe('the synchronous path', () => {
  test('answers in the same turn if there is nothing to wait for', () => {
    const { sendNow } = limitOn({
      policy: () => once,
      key: () => 'k',
      cost: () => 1,
      skip: () => false,
    })
    expect(sendNow()).toBeUndefined()
    expect(sendNow()).toMatchObject({ status: 429 })
  })

  test.each(['skip', 'key', 'cost', 'policy', 'store'])('waits only for %s', async (which) => {
    const late =
      <Value>(name: string, value: Value) =>
      () =>
        name === which ? Promise.resolve(value) : value
    const { limiter, send } = limitOn({
      skip: late('skip', false) as never,
      key: late('key', 'k') as never,
      cost: late('cost', 1) as never,
      policy: late('policy', once) as never,
      store: which === 'store' ? slowStore() : memoryStore({ clock: fakeClock() }),
    })
    expect(limiter).toBeInstanceOf(RateLimiter)
    expect(await send()).toBeUndefined()
    expect(await send()).toMatchObject({ status: 429 })
  })

  test('errors that options throw are thrown, synchronously or later', async () => {
    const error = new Error('bug')
    const thrower = () => {
      throw error
    }
    for (const name of ['skip', 'key', 'cost', 'body', 'onMissingKey'] as const) {
      const key = name === 'onMissingKey' ? { key: () => null } : {}
      const policy = fixedWindow({ limit: name === 'body' ? 0 : 1, window: '1m' })
      expect(() => limitOn({ policy, ...key, [name]: thrower }).sendNow()).toThrow(error)
      if (name === 'body') continue
      await expect(limitOn({ policy, ...key, [name]: async () => thrower() }).send()).rejects.toBe(
        error,
      )
    }
    await expect(limitOn({ policy: once, store: failing }).send()).rejects.toThrow('no store')
  })
})

describe('thrown values that are not errors', () => {
  test.each([undefined, null, false, 0, '', 'route', 'router'])(
    '%o, thrown or rejected with, let a request through in Express and hung it in Koa',
    async (thrown) => {
      const thrower = () => {
        throw thrown
      }
      const error = expect.objectContaining({ code: 'WEIR_INVALID_OPTION', cause: thrown })
      expect(() => limitOn({ policy: once, key: thrower }).sendNow()).toThrow(error)
      await expect(limitOn({ policy: once, key: async () => thrower() }).send()).rejects.toEqual(
        error,
      )
    },
  )

  test('a thrown object stays what it is', async () => {
    const thrown = { status: 418 }
    const key = () => Promise.reject(thrown)
    await expect(limitOn({ policy: once, key }).send()).rejects.toBe(thrown)
  })
})

test('a client that left while skip was in progress had no address, and counted with all others without one', async () => {
  let address: string | undefined = '1.2.3.4'
  const { check, limiter } = httpLimiter<FakeRequest, FakeResponse>(
    {
      name: 'left',
      policy: once,
      store: memoryStore({ clock: fakeClock() }),
      skip: async () => {
        address = undefined
        return false
      },
    },
    { ...fake, address: () => address },
  )
  await check({}, new FakeResponse())
  expect((await limiter.peek('1.2.3.4')).remaining).toBe(0)
  expect(warnings.codes).toEqual([])
})

describe('headers already sent', () => {
  test('are left alone', async () => {
    const { send } = limitOn({ policy: once, deny: ['9.9.9.9'] })
    const response = new FakeResponse()
    response.headersSent = true
    expect(await send({}, response)).toBeUndefined()
    expect(await send({}, response)).toMatchObject({ status: 429 })
    expect(await send({ address: '9.9.9.9' }, response)).toMatchObject({ status: 403 })
    expect(response.headers).toEqual({})
  })
})

test('without a response, only the decision is made', () => {
  const { check } = httpLimiter<FakeRequest, FakeResponse>(
    { policy: once, refundWhen: () => true },
    fake,
  )
  const request: FakeRequest = {}
  expect(check(request, undefined)).toBeUndefined()
  expect(request.rateLimit).toMatchObject({ allowed: true })
  expect(check(request, undefined)).toMatchObject({ status: 429, decision: { allowed: false } })
})

describe('shadow', () => {
  test('counts and reports, and refuses nothing', async () => {
    const seen: boolean[] = []
    const { send } = limitOn({
      policy: once,
      shadow: true,
      onDecision: ({ allowed }) => void seen.push(allowed),
      deny: ['9.9.9.9'],
      cost: () => 1,
    })
    const response = new FakeResponse()
    const request: FakeRequest = {}
    expect([
      await send(),
      await send(request, response),
      await send({ address: '9.9.9.9' }),
    ]).toEqual([undefined, undefined, undefined])
    expect(seen).toEqual([true, false, true])
    expect(request.rateLimit).toMatchObject({ allowed: false, reason: 'limit' })
    expect(response.headers).toEqual({
      'RateLimit-Policy': '"once";q=1;w=60',
      RateLimit: '"once";r=0;t=60',
    })
  })

  test.each([
    ['a store that fails', { store: failing }],
    ['a cost that is none', { cost: () => -1 }],
    ['no key', { key: (): null => null, onMissingKey: 'deny' as const }],
    [
      'a key that throws',
      {
        key: (): string => {
          throw new Error('bug')
        },
      },
    ],
    [
      'a key that rejects',
      {
        key: async (): Promise<string> => {
          throw new Error('bug')
        },
      },
    ],
  ])('lets through with %s', async (name, options) => {
    const { send } = limitOn({
      name: name.replaceAll(' ', '-'),
      policy: once,
      shadow: true,
      ...options,
    })
    expect(await send()).toBeUndefined()
    expect(await send()).toBeUndefined()
    const failed = name.includes('store') || name.includes('a key')
    expect(warnings.codes).toEqual(failed ? ['WEIR_SHADOW_FAILED'] : [])
  })
})

describe('the limiter beneath', () => {
  test.each([
    ['policy', { policy: () => once }],
    ['limit', { limit: () => 1, window: '1m' }],
    ['window', { limit: 1, window: () => '1m' }],
  ] as const)(
    'where requests tell the %s, a key alone tells none, whatever it was asked about before',
    async (_, options) => {
      const { limiter, send } = limitOn({ name: 'by-request', ...options } as never)
      const key = '192.0.2.1'
      for (let request = 0; request < 2; request += 1) {
        const refused = {
          code: 'WEIR_INVALID_POLICY',
          message: expect.stringMatching(/give the policy as well: \w+\(key, \{ policy \}\)/),
        }
        for (const method of ['consume', 'peek', 'penalty', 'refund', 'reset'] as const) {
          await expect(limiter[method](key)).rejects.toMatchObject(refused)
          await expect(limiter[method](key, {})).rejects.toMatchObject(refused)
        }
        expect(() => limiter.decide(key)).toThrow(expect.objectContaining(refused))
        await send()
      }
      expect(warnings.codes).toEqual([])
    },
  )

  test('if requests choose the policy, calls that pass it have the same effect, and decisions can be refunded', async () => {
    const account = fixedWindow({ name: 'account', limit: 3, window: '1m' })
    const { limiter, send } = limitOn({
      policy: ({ user }) => [
        once,
        { policy: account, key: JSON.stringify(['192.0.2.1', user]), cost: 1 },
      ],
      cost: 0,
    })
    const request: FakeRequest = { user: 'ann' }
    await send(request)
    await send({ user: 'bob' })
    const ann = JSON.stringify(['192.0.2.1', 'ann'])
    expect(await limiter.peek(ann, { policy: account })).toMatchObject({ remaining: 2 })
    await limiter.refund(request.rateLimit as Decision)
    expect(await limiter.peek(ann, { policy: account })).toMatchObject({ remaining: 3 })
    await send(request)
    await limiter.reset(ann, { policy: account })
    expect(await limiter.peek(ann, { policy: account })).toMatchObject({ remaining: 3 })
    const bob = JSON.stringify(['192.0.2.1', 'bob'])
    expect(await limiter.peek(bob, { policy: account })).toMatchObject({ remaining: 2 })
  })

  test('a login that resets its account leaves the guesses at another account counted', async () => {
    const guesses = fixedWindow({ name: 'guesses', limit: 3, window: '15m' })
    const { limiter, send } = limitOn({
      policy: ({ user = '' }) => [{ policy: guesses, key: user }],
    })
    let tried = 0
    for (let round = 0; round < 10; round += 1) {
      // The attacker has an account, logs in to it, and goes on guessing at the other one.
      await send({ user: 'mallory' })
      for (let guess = 0; guess < 3; guess += 1) {
        if ((await send({ user: 'victim' })) === undefined) tried += 1
      }
      await limiter.reset('192.0.2.1').catch(() => limiter.reset('mallory', { policy: guesses }))
    }
    expect(tried).toBe(3)
  })
})

test('a limiter with its own clock shows the time of a reset on it', async () => {
  const time = virtualTime(1, Date.UTC(2030, 0, 1))
  const response = new FakeResponse()
  const store = memoryStore({ clock: time })
  const limits = { name: 'own-time', policy: once, store, headers: 'legacy' } as const
  await httpLimiterIn(time, limits, fake).check({}, response)
  expect(response.headers['X-RateLimit-Reset']).toBe(String(Date.UTC(2030, 0, 1) / 1_000 + 60))
})

test('requests to a limiter with its own clock wait for their turns on it', async () => {
  const policy = leakyBucket({ capacity: 1, leak: 1, every: '1h', maxWait: '1d' })
  for (const key of [undefined, () => 'k']) {
    const time = virtualTime()
    const store = memoryStoreOf({ clock: time, time, maxKeys: 10, keys: 'exact', slackMs: 0 })
    const limits = { name: 'own-turns', policy, store, key, wait: '2h' } as const
    const { check } = httpLimiterIn(time, limits, fake)
    await check({}, undefined)
    const passed = vi.fn()
    void Promise.resolve(check({}, undefined)).then(passed)
    await time.advance(3_599_999)
    expect(passed).not.toHaveBeenCalled()
    await time.advance(1)
    expect(passed).toHaveBeenCalledWith(undefined)
  }
})
