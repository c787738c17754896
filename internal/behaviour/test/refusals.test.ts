// The response to a refused request, and the handling of failures: the same in every framework.

import { memoryStore, type Policy, type Store, StoreError } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { ask, serve, statuses, times } from './client.js'
import type { Exchange } from './servers/kind.js'
import { servers } from './servers/table.js'

describe.each(servers)('$name', (kind) => {
  let store: Store
  beforeEach(() => {
    store = memoryStore({ clock: fakeClock() })
  })

  test('HEAD counts as GET, and a refused HEAD has no body', async () => {
    const { url } = await serve(kind, { limiters: [{ store, limit: 2, window: '1m' }] })
    expect(await statuses(url, [{ method: 'HEAD' }, { method: 'GET' }])).toEqual([200, 200])
    const { status, headers, body } = await ask(url, { method: 'HEAD' })
    expect([status, body]).toEqual([429, ''])
    expect(headers['retry-after']).toBeDefined()
    expect(headers['content-type']).toBe('application/problem+json')
  })

  test.each([
    ['rejects', () => Promise.reject(new StoreError('WEIR_STORE_FAILED', 'gone'))],
    [
      'throws',
      () => {
        throw new StoreError('WEIR_STORE_FAILED', 'gone')
      },
    ],
  ] as const)(
    'a store that %s is an error of the server, and the request goes no further',
    async (_, decide) => {
      const handler = vi.fn(() => ({ body: 'reached' }))
      const { url } = await serve(kind, {
        limiters: [{ store: { ...broken, decide } as Store, limit: 1, window: '1m' }],
        handler,
      })
      const { status, body } = await ask(url)
      expect(status).toBe(500)
      expect(body).not.toContain('reached')
      expect(handler).not.toHaveBeenCalled()
    },
  )

  test('status, body and media type can be set', async () => {
    const own = { status: 503, body: { error: 'busy' }, mediaType: 'application/vnd.api+json' }
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m', ...own }] })
    await ask(url)
    const { status, headers, body } = await ask(url)
    expect([status, headers['content-type'], body]).toEqual([
      503,
      own.mediaType,
      '{"error":"busy"}',
    ])
    expect(headers['retry-after']).toBeDefined()
  })

  test('a body made for the request', async () => {
    const body = ({ policy }: { policy: Policy }, { url }: Exchange) =>
      `${url} is limited by ${policy.name}`
    const { url } = await serve(kind, {
      limiters: [{ store, name: 'n', limit: 1, window: '1m', body }],
    })
    await ask(url)
    const answer = await ask(`${url}/x`)
    expect(answer.body).toBe('/x is limited by n')
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
  })

  test('onDenied answers in place of the limiter, with the headers set', async () => {
    const { url } = await serve(kind, {
      limiters: [
        {
          store,
          limit: 1,
          window: '1m',
          onDenied: async ({ reason }, exchange) => ({
            status: 418,
            headers: { 'content-type': 'text/plain' },
            body: `${reason} at ${exchange.url}`,
          }),
        },
      ],
    })
    await ask(url)
    const { status, headers, body } = await ask(`${url}/tea`)
    expect([status, body]).toEqual([418, 'limit at /tea'])
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['retry-after']).toBeDefined()
    expect(headers.ratelimit).toMatch(/;r=0;/)
  })

  test('an error that onDenied throws is an error of the server', async () => {
    const onDenied = () => Promise.reject(new Error('broken'))
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m', onDenied }] })
    expect(await statuses(url, times(2))).toEqual([200, 500])
  })
})

const broken: Store = {
  local: false,
  decide: () => Promise.reject(new StoreError('WEIR_STORE_FAILED', 'gone')),
  reset: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
