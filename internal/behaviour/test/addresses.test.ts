// Who a client is. What a client writes never changes that, unless the setup trusts everybody. How
// addresses and headers are read is tested in core (test/http, test/base/address.test.ts).

import { createServer } from 'node:net'
import { memoryStore, type Store } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Ask, ask, serve, statuses, times } from './client.js'
import type { OwnTrust, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

const loopback = { trusted: ['loopback'] }
const forwarded = (value: string, header = 'x-forwarded-for'): Ask => ({
  headers: { [header]: value },
})

const hasIpv6 = await listensOnBoth()

// Many of these settings are unsafe and cause warnings: core/test/http/client/warnings.test.ts.
beforeEach(() => void vi.spyOn(process, 'emitWarning').mockImplementation(() => {}))
afterEach(() => void vi.restoreAllMocks())

describe.each(servers)('$name', (kind) => {
  let store: Store
  beforeEach(() => {
    store = memoryStore({ clock: fakeClock() })
  })

  /** Sends one request per client. */
  async function one(trust: OwnTrust, options: Partial<Settings> = {}): Promise<string> {
    const limiters = [{ store, limit: 1, window: '1m', ...options } as Settings]
    return (await serve(kind, { limiters, trust })).url
  }

  describe('a forged address does not help', () => {
    const forged = [
      '1.1.1.1',
      '2.2.2.2',
      'garbage',
      '::ffff:3.3.3.3',
      '2001:db8::1',
      '4.4.4.4, 5.5.5.5',
    ]

    test.each<[string, OwnTrust, Partial<Settings>]>([
      ['no proxy is trusted', 'nobody', {}],
      ['other proxies are trusted', 'nobody', { proxies: { trusted: ['10.0.0.0/8'] } }],
      ['other proxies are trusted, by a function', 'nobody', { proxies: { trusted: () => false } }],
      [
        'the framework believes all, and other proxies are trusted',
        'everybody',
        { proxies: { trusted: ['10.0.0.0/8'] } },
      ],
    ])('where %s', async (_, trust, options) => {
      const url = await one(trust, options)
      const names = [
        'x-forwarded-for',
        'forwarded',
        'x-real-ip',
        'cf-connecting-ip',
        'true-client-ip',
      ]
      const asks = forged.flatMap((value) => names.map((name) => forwarded(value, name)))
      expect(await statuses(url, times(1))).toEqual([200])
      expect(new Set(await statuses(url, asks))).toEqual(new Set([429]))
    })

    test.each<[string, OwnTrust, Partial<Settings>]>([
      ['the framework trusts the last hop', 'hop', {}],
      ['this proxy is trusted', 'nobody', { proxies: loopback }],
      ['this proxy is trusted, and the framework believes all', 'everybody', { proxies: loopback }],
    ])('in front of what a proxy added, where %s', async (_, trust, options) => {
      const url = await one(trust, options)
      expect(await statuses(url, [forwarded('9.9.9.9')])).toEqual([200])
      const asks = forged.map((value) => forwarded(`${value}, 9.9.9.9`))
      expect(new Set(await statuses(url, asks))).toEqual(new Set([429]))
      expect(await statuses(url, [forwarded('8.8.8.8')])).toEqual([200])
    })

    test('nor does it put a client onto a list of allowed ones', async () => {
      const url = await one('nobody', { allow: ['1.1.1.1'] })
      expect(await statuses(url, times(2, forwarded('1.1.1.1')))).toEqual([200, 429])
    })
  })

  test('if the framework trusts everybody, any client can appear as a new one', async () => {
    const url = await one('everybody')
    expect(await statuses(url, [forwarded('1.1.1.1'), forwarded('2.2.2.2')])).toEqual([200, 200])
  })

  test.each([
    ['cf-connecting-ip', '9.9.9.9', '8.8.8.8'],
    ['forwarded', 'for=1.1.1.1, for="9.9.9.9:1234"', 'for=9.9.9.9, for=8.8.8.8'],
    ['x-forwarded-for', '9.9.9.9, 127.0.0.1', '9.9.9.9, 8.8.8.8, ::1'],
  ])('reads %s of a trusted proxy', async (header, nine, eight) => {
    const url = await one('nobody', { proxies: { ...loopback, header } })
    const asks = [nine, nine, eight, eight].map((value) => forwarded(value, header))
    expect(await statuses(url, asks)).toEqual([200, 429, 200, 429])
  })

  test('clients whom a trusted proxy does not name are one client, or none with onMissingKey', async () => {
    const asks = ['unknown', '_hidden', 'unknown'].map((value) => forwarded(value))
    const url = await one('nobody', { proxies: loopback, onMissingKey: 'shared' })
    expect(await statuses(url, asks)).toEqual([200, 429, 429])
    const free = await one('nobody', { proxies: loopback, onMissingKey: 'skip' })
    expect(await statuses(free, asks)).toEqual([200, 200, 200])
  })

  test.skipIf(!hasIpv6)('a server on both families keeps its IPv4 clients apart', async () => {
    const { url } = await serve(kind, { limiters: [{ store, limit: 1, window: '1m' }], host: '::' })
    expect(await statuses(url, times(2, { from: '127.0.0.1' }))).toEqual([200, 429])
    expect(await statuses(url, times(2, { from: '127.0.0.2' }))).toEqual([200, 429])
    const six = url.replace('127.0.0.1', '[::1]')
    expect((await ask(six)).status).toBe(200)
  })
})

/** False on a machine without IPv6. */
function listensOnBoth(): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(0, '::', () => server.close(() => resolve(true)))
  })
}
