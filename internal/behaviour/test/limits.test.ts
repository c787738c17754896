// How much gets through: the same in every framework.

import { fixedWindow, memoryStore, RateLimiter, type Store } from '@weir/core'
import type { RequestDecision } from '@weir/core/http'
import { type FakeClock, fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'
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
})

const teapot = () => ({ status: 418, body: '' })
const keyOf = ({ header }: Exchange) => header('x-user')
const as = (user: string) => ({ headers: { 'x-user': user } })
