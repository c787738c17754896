// How much gets through: the same in every framework.

import {
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '@weir/core'
import type { RequestDecision } from '@weir/core/http'
import { type FakeClock, fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, serve, statuses, times } from './client.js'
import type { Exchange, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

describe.each(servers)('$name', (kind) => {
  let clock: FakeClock
  let store: Store
  beforeEach(() => {
    clock = fakeClock()
    store = memoryStore({ clock })
  })

  test('a limit holds, and ends with its window', async () => {
    const { url } = await serve(kind, { limiters: [{ store, limit: 2, window: '1m' }] })
    expect(await statuses(url, times(3))).toEqual([200, 200, 429])
    clock.advance(61_000)
    expect(await statuses(url, times(1))).toEqual([200])
  })

  test('an allowed request gets its present state', async () => {
    const { url } = await serve(kind, {
      limiters: [{ store, name: 'api', limit: 5, window: '1m' }],
    })
    const { headers, body } = await ask(`${url}/a?b=c`)
    expect(headers['ratelimit-policy']).toBe('"api";q=5;w=60')
    expect(headers.ratelimit).toBe('"api";r=4;t=60')
    expect(headers['retry-after']).toBeUndefined()
    expect(headers['cache-control']).toBeUndefined()
    expect(JSON.parse(body)).toEqual({ url: '/a?b=c', left: 4, decisions: 1 })
  })

  test('several policies are one decision: a denied request takes nothing from any', async () => {
    const policy = [
      tokenBucket({ name: 'burst', capacity: 2, refill: 1, every: '1s' }),
      fixedWindow({ name: 'daily', limit: 10, window: '1d' }),
    ]
    const { url } = await serve(kind, { limiters: [{ store, policy }] })
    const answers = []
    for (const one of times(4)) answers.push(await ask(url, one))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429])
    expect(answers[3]?.headers.ratelimit).toMatch(/^"burst";r=0;t=1, "daily";r=8;t=\d+$/)
    expect(answers[3]?.headers['retry-after']).toBe('1')
  })

  test('several limiters on one request: each counts, and the first that denies answers', async () => {
    const limiters = [
      { store, name: 'all', limit: 3, window: '1m' },
      { store, name: 'mine', limit: 1, window: '1m', key: keyOf },
    ] as const
    const { url } = await serve(kind, { limiters })
    const [a, b, c, d] = [
      await ask(url, as('a')),
      await ask(url, as('a')),
      await ask(url, as('b')),
      await ask(url, as('c')),
    ]
    expect([a, b, c, d].map(({ status }) => status)).toEqual([200, 429, 200, 429])
    expect(JSON.parse(a.body)).toMatchObject({ left: 0, decisions: 2 })
    expect(JSON.parse(b.body)['violated-policies']).toEqual(['mine'])
    expect(b.headers.ratelimit).toMatch(/^"all";r=1;t=60, "mine";r=0;t=\d+$/)
    // The second limiter was never asked.
    expect(d.headers.ratelimit).toMatch(/^"all";r=0;t=\d+$/)
  })

  test('limits with different keys and costs are one decision: a denied request takes nothing from any', async () => {
    const ofAddress = fixedWindow({ name: 'address', limit: 10, window: '1h' })
    const ofAccount = fixedWindow({ name: 'account', limit: 5, window: '1h' })
    const policy = (exchange: Exchange) => [
      ofAddress,
      {
        policy: ofAccount,
        key: exchange.header('x-user') ?? 'nobody',
        cost: Number(exchange.url.slice(1)),
      },
    ]
    const { url } = await serve(kind, { limiters: [{ store, name: 'search', policy }] })
    const sent = [
      [3, 'a'],
      [3, 'a'],
      [3, 'a'],
      [2, 'a'],
      [5, 'b'],
    ] as const
    const answers = []
    for (const [cost, user] of sent) answers.push(await ask(`${url}/${cost}`, as(user)))
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429, 200, 200])
    expect(JSON.parse(answers[1]?.body ?? '')['violated-policies']).toEqual(['account'])
    expect(answers.at(-1)?.headers.ratelimit).toBe('"address";r=7;t=3600, "account";r=0;t=3600')
  })

  describe('of stacked limiters, one with refundWhenRefused', () => {
    const all = fixedWindow({ name: 'all', limit: 5, window: '1h' })
    const first = () => ({
      store,
      name: 'all',
      policy: all,
      key: () => 'k',
      refundWhenRefused: true,
    })
    const left = async () =>
      (await new RateLimiter({ store, name: 'all', policy: all, shared: true }).peek('k')).remaining

    test.each<[string, number, Partial<Settings>]>([
      ['denies', 429, { limit: 0, window: '1m' }],
      ['has the client on its deny list', 403, { deny: ['127.0.0.0/8'] }],
      ['cannot identify the client', 403, { key: () => undefined, onMissingKey: 'deny' }],
      ['gets no valid cost', 400, { cost: () => -1, refundWhenRefused: true }],
      ['denies and answers itself', 418, { limit: 0, window: '1m', onDenied: teapot }],
    ])('refunds when a later one %s', async (_, status, options) => {
      const second = { store, name: 'second', limit: 99, window: '1m', ...options } as Settings
      const { url } = await serve(kind, { limiters: [first(), second] })
      expect(new Set(await statuses(url, times(10)))).toEqual(new Set([status]))
      expect(await left()).toBe(5)
    })

    test('keeps what was taken by requests that go on, including those in shadow mode, and by its own denials', async () => {
      const shadow = { store, name: 'shadow', limit: 0, window: '1m', shadow: true } as const
      const { url } = await serve(kind, { limiters: [first(), shadow] })
      expect(await statuses(url, times(3))).toEqual([200, 200, 200])
      expect(await left()).toBe(2)
      expect(await statuses(url, times(4))).toEqual([200, 200, 429, 429])
      expect(await left()).toBe(0)
    })

    test('gives back nothing without the option', async () => {
      const second = { store, name: 'second', limit: 0, window: '1m' } as const
      const limiters = [{ ...first(), refundWhenRefused: false }, second]
      const { url } = await serve(kind, { limiters })
      expect(await statuses(url, times(2))).toEqual([429, 429])
      expect(await left()).toBe(3)
    })
  })

  test('a handler finds the decision of each limiter by name', async () => {
    const { url } = await serve(kind, {
      limiters: [
        { store, name: 'all', limit: 3, window: '1m' },
        { store, name: 'mine', limit: 2, window: '1m', key: keyOf },
        { store, name: 'health', limit: 1, window: '1m', skip: () => true },
      ],
      handler: ({ placed }) => {
        const names = ['all', 'mine', 'health', 'other'].map((name) => placed?.of(name)?.limiter)
        const left = [placed?.of('all')?.remaining, placed?.of('mine')?.remaining]
        return { body: JSON.stringify([placed?.limiter, names, left]) }
      },
    })
    const { body } = await ask(url, as('a'))
    expect(JSON.parse(body)).toEqual(['mine', ['all', 'mine', null, null], [2, 1]])
  })

  test('the decision is placed under the name in requestProperty', async () => {
    const { url } = await serve(kind, {
      limiters: [
        { store, name: 'one', limit: 3, window: '1m', requestProperty: 'quota' },
        { store, name: 'two', limit: 2, window: '1m' },
        { store, name: 'three', limit: 9, window: '1m', requestProperty: 'quota' },
      ],
      // From another library.
      around: (exchange, next) => {
        Object.assign((exchange.raw as { state?: object }).state ?? exchange.raw, {
          quota: 'theirs',
        })
        return next()
      },
      handler: ({ placedAs }) => {
        const [quota, usual] = [placedAs('quota'), placedAs('rateLimit')] as RequestDecision[]
        const all = [quota, usual].map((found) => found?.all.map(({ limiter }) => limiter))
        return { body: JSON.stringify([quota?.limiter, all]) }
      },
    })
    const { body, headers } = await ask(url)
    expect(JSON.parse(body)).toEqual([
      'two',
      [
        ['one', 'two', 'three'],
        ['one', 'two'],
      ],
    ])
    expect(headers.ratelimit).toBe('"one";r=2;t=60, "two";r=1;t=60, "three";r=8;t=60')
  })

  test('preflights are not counted, other OPTIONS are', async () => {
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m' }] })
    const headers = { origin: 'https://page.example', 'access-control-request-method': 'PUT' }
    expect(await statuses(url, times(3, { method: 'OPTIONS', headers }))).toEqual([200, 200, 200])
    expect((await ask(url, { method: 'OPTIONS', headers })).headers.ratelimit).toBeUndefined()
    expect(await statuses(url, times(2, { method: 'OPTIONS' }))).toEqual([200, 429])
    // The headers of a preflight do not make a request with another method one.
    expect(await statuses(url, [{ headers }])).toEqual([429])
  })

  test('the policy may depend on the request', async () => {
    const plans: Record<string, Policy> = {
      free: slidingWindow({ name: 'free', limit: 1, window: '1m' }),
      pro: slidingWindow({ name: 'pro', limit: 3, window: '1m' }),
      own: unlimited(),
    }
    const policy = async (exchange: Exchange) =>
      plans[exchange.header('x-plan') ?? 'free'] as Policy
    const { url } = await serve(kind, { limiters: [{ store, policy, key: keyOf }] })
    const of = (plan: string) => times(4, { headers: { 'x-user': plan, 'x-plan': plan } })
    expect(await statuses(url, of('free'))).toEqual([200, 429, 429, 429])
    expect(await statuses(url, of('pro'))).toEqual([200, 200, 200, 429])
    expect(await statuses(url, of('own'))).toEqual([200, 200, 200, 200])
  })

  test('if the policy cannot be looked up, whenPolicyFails decides', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const policy = () => Promise.reject(new Error('no database'))
    const spare = slidingWindow({ name: 'spare', limit: 1, window: '1m' })
    const statusesWith = async (whenPolicyFails: Settings['whenPolicyFails']) => {
      const limiters = [{ store, policy, whenPolicyFails, shared: true }]
      return statuses((await serve(kind, { limiters })).url, times(2))
    }
    expect(await statusesWith(undefined)).toEqual([500, 500])
    expect(await statusesWith('allow')).toEqual([200, 200])
    expect(await statusesWith('deny')).toEqual([503, 503])
    expect(await statusesWith(spare)).toEqual([200, 429])
    const limiters = [{ store, policy, whenPolicyFails: 'deny' }] as const
    const { headers, body } = await ask((await serve(kind, { limiters })).url)
    expect(headers['retry-after']).toBe('1')
    expect(JSON.parse(body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
    })
  })

  test('a limit and a window may depend on the request', async () => {
    const limit = ({ url }: Exchange) => Number(url.slice(1))
    const { url } = await serve(kind, {
      limiters: [{ store, limit, window: async () => '1m' as const, key: keyOf }],
    })
    expect(await statuses(`${url}/1`, times(2, as('a')))).toEqual([200, 429])
    expect(await statuses(`${url}/3`, times(3, as('b')))).toEqual([200, 200, 200])
  })
})

const teapot = () => ({ status: 418, body: '' })
const keyOf = ({ header }: Exchange) => header('x-user')
const as = (user: string) => ({ headers: { 'x-user': user } })
