// Which key is counted, and for how many units: the same in every framework.

import { memoryStore, type Store } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, serve, statuses, times } from './client.js'
import type { Exchange } from './servers/kind.js'
import { servers } from './servers/table.js'

describe.each(servers)('$name', (kind) => {
  let store: Store
  beforeEach(() => {
    store = memoryStore({ clock: fakeClock() })
  })

  test.each([
    ['sync', (yes: boolean) => yes],
    ['async', async (yes: boolean) => yes],
  ])('skipped requests are not counted (%s)', async (_, wrap) => {
    const skip = ({ url }: Exchange) => wrap(url === '/health')
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m', skip }] })
    expect(await statuses(`${url}/health`, times(3))).toEqual([200, 200, 200])
    expect(await statuses(url, times(2))).toEqual([200, 429])
  })

  test('a request takes its cost', async () => {
    const cost = (exchange: Exchange) => Number(exchange.header('x-cost'))
    const { url } = await serve(kind, { limiters: [{ store, limit: 10, window: '1m', cost }] })
    const costs = ['7', '4', '3', '0', '1'].map((units) => ({ headers: { 'x-cost': units } }))
    expect(await statuses(url, costs)).toEqual([200, 429, 200, 200, 429])
  })

  test('a cost that can never pass has no wait', async () => {
    const { url } = await serve(kind, {
      limiters: [{ store, limit: 3, window: '1m', cost: () => 4 }],
    })
    const { status, headers, body } = await ask(url)
    expect(status).toBe(429)
    expect(headers['retry-after']).toBeUndefined()
    expect(JSON.parse(body).detail).toMatch(/trying again does not help/)
  })

  test.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY])(
    'a computed cost of %d gets 400 and is charged as 1',
    async (units) => {
      const { url } = await serve(kind, {
        limiters: [{ store, limit: 2, window: '1m', cost: () => units }],
      })
      const { status, headers, body } = await ask(url)
      expect(status).toBe(400)
      expect(headers['content-type']).toBe('application/problem+json')
      expect(JSON.parse(body)).toMatchObject({ type: 'about:blank', status: 400 })
      expect(headers.ratelimit).toMatch(/;r=1;/)
      expect(await statuses(url, times(2))).toEqual([400, 429])
    },
  )

  test.each([
    ['a whole number', (id: number) => id],
    ['a bigint', (id: number) => BigInt(id)],
    ['a whole number that is waited for', async (id: number) => id],
  ])('%s is a key, like an id from a database', async (_, idOf) => {
    const key = ({ header }: Exchange) => idOf(Number(header('x-user')))
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m', key }] })
    expect(await statuses(url, [as('1'), as('2'), as('1')])).toEqual([200, 200, 429])
  })

  describe('a missing key', () => {
    const key = ({ header }: Exchange) => header('x-user')
    const without = times(3)

    test('shares a bucket with others by default, with a warning', async () => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warn.mockRestore())
      const { url } = await serve(kind, {
        limiters: [
          { store, name: `shared-${kind.name.replaceAll(' ', '')}`, limit: 2, window: '1m', key },
        ],
      })
      expect(await statuses(url, without)).toEqual([200, 200, 429])
      expect(await statuses(url, [as('a')])).toEqual([200])
      expect(warn).toHaveBeenCalledExactlyOnceWith(
        expect.stringContaining('gave undefined'),
        expect.objectContaining({ code: 'WEIR_NO_KEY' }),
      )
    })

    test.each([
      ['skip', [200, 200, 200]],
      ['deny', [403, 403, 403]],
      ['shared', [200, 200, 429]],
    ] as const)('%s', async (onMissingKey, expected) => {
      const { url } = await serve(kind, {
        limiters: [{ store, limit: 2, window: '1m', key, onMissingKey }],
      })
      expect(await statuses(url, without)).toEqual(expected)
    })

    test('a function gives another', async () => {
      const onMissingKey = ({ url }: Exchange) => url
      const { url } = await serve(kind, {
        limiters: [{ store, limit: 2, window: '1m', key, onMissingKey }],
      })
      expect(await statuses(`${url}/x`, without)).toEqual([200, 200, 429])
      expect(await statuses(`${url}/y`, times(1))).toEqual([200])
    })
  })

  test('lists by address: denied clients are refused first, allowed ones have no limit', async () => {
    const limiters = [
      { store, limit: 1, window: '1m', allow: ['127.0.0.2'], deny: ['127.0.0.3/32'] },
    ] as const
    const { url } = await serve(kind, { limiters })
    expect(await statuses(url, times(3, { from: '127.0.0.2' }))).toEqual([200, 200, 200])
    expect(await statuses(url, times(2, { from: '127.0.0.3' }))).toEqual([403, 403])
    expect(await statuses(url, times(2))).toEqual([200, 429])
  })
})
const as = (user: string) => ({ headers: { 'x-user': user } })
