// The response to a refused request, and the handling of failures: the same in every framework.

import { fixedWindow, memoryStore, type Policy, type Store, StoreError } from '@weir/core'
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

  test('a refusal is a problem document with a wait, and must not be cached', async () => {
    const policy = fixedWindow({ name: 'hourly', limit: 1, window: '1h' })
    const { url } = await serve(kind, { limiters: [{ store, policy }] })
    await ask(url)
    const { status, headers, body } = await ask(url)
    expect(status).toBe(429)
    expect(headers['content-type']).toBe('application/problem+json')
    expect(headers['cache-control']).toBe('no-store')
    expect(headers.etag).toBeUndefined()
    const wait = Number(headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(headers.ratelimit).toBe(`"hourly";r=0;t=${wait}`)
    expect(Number(headers['content-length'])).toBe(body.length)
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: `Try again in ${wait} seconds.`,
      'violated-policies': ['hourly'],
    })
  })

  test('HEAD counts as GET, and a refused HEAD has no body', async () => {
    const { url } = await serve(kind, { limiters: [{ store, limit: 2, window: '1m' }] })
    expect(await statuses(url, [{ method: 'HEAD' }, { method: 'GET' }])).toEqual([200, 200])
    const { status, headers, body } = await ask(url, { method: 'HEAD' })
    expect([status, body]).toEqual([429, ''])
    expect(headers['retry-after']).toBeDefined()
    expect(headers['content-type']).toBe('application/problem+json')
  })

  test('shadow mode counts and reports, but never refuses', async () => {
    const { url } = await serve(kind, {
      limiters: [{ store, name: 'trial', limit: 1, window: '1m', shadow: true }],
    })
    expect(await statuses(url, times(3))).toEqual([200, 200, 200])
    const { headers, body } = await ask(url)
    expect(headers.ratelimit).toMatch(/^"trial";r=0;t=\d+$/)
    expect(headers['retry-after']).toBeUndefined()
    expect(JSON.parse(body)).toMatchObject({ left: 0, decisions: 1 })
  })

  test('shadow mode protects from a store that throws', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { url } = await serve(kind, {
      limiters: [{ store: broken, limit: 1, window: '1m', shadow: true }],
    })
    expect(await statuses(url, times(2))).toEqual([200, 200])
    vi.restoreAllMocks()
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

  test('a key function that throws is an error of the server', async () => {
    const key = () => {
      throw new Error('no session')
    }
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m', key }] })
    expect(await statuses(url, times(2))).toEqual([500, 500])
  })

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
