// Finding the client behind proxies.

import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { proxyResolver } from '../../../src/http/client/proxies.js'
import { limitOn } from '../exchange.js'

const refused = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })

describe('the client behind proxies', () => {
  const list = proxyResolver({ trusted: ['10.0.0.0/8', 'loopback', '2001:db8:cd::/48'] })

  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['no header: the peer', '10.0.0.1', undefined, '10.0.0.1'],
    ['one proxy', '10.0.0.1', '9.9.9.9', '9.9.9.9'],
    ['one proxy, mapped', '::ffff:10.0.0.1', '9.9.9.9', '9.9.9.9'],
    ['two proxies', '10.0.0.1', '9.9.9.9, 10.0.0.2', '9.9.9.9'],
    ['koa #1413: forged entries in front', '10.0.0.1', '6.6.6.6, 7.7.7.7, 9.9.9.9', '9.9.9.9'],
    ['forged entries that name proxies', '10.0.0.1', '10.0.0.7, 9.9.9.9, 10.0.0.2', '9.9.9.9'],
    ['an untrusted peer', '8.8.8.8', '6.6.6.6', '8.8.8.8'],
    ['an untrusted peer that names a proxy', '8.8.8.8', '6.6.6.6, 10.0.0.1', '8.8.8.8'],
    ['all trusted: the farthest', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['unparsable stops the walk', '10.0.0.1', '9.9.9.9, unknown', 'unknown'],
    ['garbage in front is never reached', '10.0.0.1', '<script>, 9.9.9.9', '9.9.9.9'],
    ['unparsable after a proxy', '10.0.0.1', '_hidden, 10.0.0.2', '_hidden'],
    ['a port', '10.0.0.1', '9.9.9.9:1234', '9.9.9.9:1234'],
    ['IPv6', '2001:db8:cd::1', '2001:db8:1::1, 2001:db8:cd::2', '2001:db8:1::1'],
    ['a Unix socket, not trusted', undefined, '9.9.9.9', undefined],
  ])('%s', (_, peer, header, client) => {
    expect(list(peer, header)).toBe(client)
  })

  test('a trusted Unix socket', () => {
    const resolve = proxyResolver({ trusted: ['unix', 'loopback'] })
    expect(resolve(undefined, '9.9.9.9')).toBe('9.9.9.9')
    expect(resolve('', '9.9.9.9')).toBe('9.9.9.9')
    expect(resolve('8.8.8.8', '9.9.9.9')).toBe('8.8.8.8')
  })

  test.each([
    ['x-forwarded-for', '9.9.9.9,', '10.0.0.1'],
    ['x-forwarded-for', '', '10.0.0.1'],
    ['x-forwarded-for', ',', '10.0.0.1'],
    ['x-forwarded-for', '9.9.9.9, <script>', '10.0.0.1'],
    ['x-forwarded-for', '9.9.9.9, <script>, 10.0.0.2', '10.0.0.2'],
    ['x-forwarded-for', '9.9.9.9, , 10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['forwarded', 'proto=https', '10.0.0.1'],
    ['forwarded', '9.9.9.9', '10.0.0.1'],
    ['forwarded', 'for=9.9.9.9,;', '10.0.0.1'],
    ['forwarded', 'for=9.9.9.9, proto=https;, for=10.0.0.2', '10.0.0.2'],
    ['forwarded', 'for=9.9.9.9, for="10.0.0.2', '10.0.0.1'],
    ['forwarded', 'for=9.9.9.9, for=10.0.0.2"', '10.0.0.1'],
    ['forwarded', 'for=9.9.9.9;for=6.6.6.6', '10.0.0.1'],
    ['forwarded', 'for=9.9.9.9, for=hidden', '10.0.0.1'],
    ['x-real-ip', '<script>', '10.0.0.1'],
  ])(
    'what the nearest trusted hop sends malformed counts by that hop: %s: %s',
    (header, value, hop) => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
      const resolve = proxyResolver({ trusted: ['10.0.0.0/8'], header })
      expect(resolve('10.0.0.1', value)).toBe(hop)
      warn.mockRestore()
    },
  )

  test('garbage from a trusted proxy counts by the proxy, and onMissingKey does not skip it; spellings are one client', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const proxies = { trusted: ['10.0.0.0/8'] }
    const { send } = limitOn({ proxies, onMissingKey: 'skip', limit: 1, window: '1m' })
    const statuses = (...values: string[]) =>
      Promise.all(
        values.map(async (value) => {
          const headers = { 'x-forwarded-for': value }
          return (await send({ peer: '10.0.0.1', headers }))?.status
        }),
      )
    const garbage = ['', '01.2.3.4', '1.2.3.355', 'x'.repeat(8_000), '9.9.9.9, <script>']
    expect(await statuses(...garbage)).toEqual([undefined, 429, 429, 429, 429])
    expect(await statuses('1.2.3.4', '[::ffff:102:304]:80')).toEqual([undefined, 429])
    warn.mockRestore()
  })

  test.each(['6.6.6.6,', '6.6.6.6, , ', '6.6.6.6,, 10.0.0.1', 'for=6.6.6.6, proto=http'])(
    'an empty hop is never taken for a Unix socket: %s',
    (value) => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
      const header = value.startsWith('for') ? 'forwarded' : 'x-forwarded-for'
      const sender = value.endsWith('10.0.0.1') ? '10.0.0.1' : undefined
      const resolve = proxyResolver({ trusted: ['unix', '10.0.0.0/8'], header })
      expect(resolve(undefined, value)).toBe(sender)
      const asked: string[] = []
      const byFunction = proxyResolver({ trusted: (it) => asked.push(it) > 0, header })
      expect(byFunction(undefined, value)).toBe(sender)
      expect(asked.slice(1)).not.toContain('unix')
      warn.mockRestore()
    },
  )

  test('a function gets the canonical spelling of each address', () => {
    const asked: string[] = []
    const resolve = proxyResolver({
      trusted: (address) => asked.push(address) > 0 && address.startsWith('10.'),
    })
    expect(resolve('::ffff:10.0.0.1', '9.9.9.9, [::ffff:a00:2]:80')).toBe('9.9.9.9')
    expect(asked).toEqual(['10.0.0.1', '10.0.0.2', '9.9.9.9'])
    expect(resolve('not an address', '9.9.9.9')).toBe('not an address')
    expect(resolve('2001:DB8::1', '9.9.9.9')).toBe('2001:DB8::1')
    expect(asked.slice(3)).toEqual(['2001:db8::1'])
  })

  test('at most 32 hops are considered', () => {
    const hops = Array.from({ length: 5_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1`)
    expect(list('10.0.0.1', ['6.6.6.6', ...hops].join(', '))).toBe(hops.at(-32))
  })

  test.each([
    ['for=9.9.9.9', '9.9.9.9'],
    ['For="[2001:db8:1::1]:4711"', '[2001:db8:1::1]:4711'],
    ['for=6.6.6.6, for=9.9.9.9;proto=https;by=10.0.0.1', '9.9.9.9'],
    ['for=9.9.9.9, proto=http; for=10.0.0.3 ;host="a,b;c"', '9.9.9.9'],
    ['for="9.9.9.9:_port"', '9.9.9.9'],
    ['for=9.9.9.9;host="quo\\"te, for=6.6.6.6"', '9.9.9.9'],
    ['for=unknown', 'unknown'],
    ['for=_hidden, for=10.0.0.2', '_hidden'],
    ['for="6.6.6.6, for=9.9.9.9', '9.9.9.9'],
    ['for="6.6.6.6, for="[2001:db8:1::1]"', '[2001:db8:1::1]'],
    ['for="6.6.6.6\\, for="9.9.9.9";host="\\\\", for=10.0.0.1', '9.9.9.9'],
    ['for="unknown:4711"', 'unknown:4711'],
    // Empty elements and pairs are allowed, and name nobody.
    ['for=9.9.9.9,,for=10.0.0.1', '9.9.9.9'],
    [', for=9.9.9.9 , ,for=10.0.0.1,', '9.9.9.9'],
    ['for=9.9.9.9;', '9.9.9.9'],
    ['for=9.9.9.9;;proto=https; , for=10.0.0.1; ', '9.9.9.9'],
    [' , ,', '10.0.0.1'],
    ['', '10.0.0.1'],
  ])('Forwarded: %s', (header, client) => {
    expect(
      proxyResolver({ trusted: ['10.0.0.0/8'], header: 'Forwarded' })('10.0.0.1', header),
    ).toBe(client)
  })

  // It takes milliseconds. In quadratic time it would take longer than a test may.
  describe('a Forwarded header of 500 kB is read in linear time', () => {
    const resolve = proxyResolver({ trusted: ['10.0.0.0/8'], header: 'forwarded' })
    const LENGTH = 500_000

    test.each(['for=1;', 'for="\\"', 'a', 'for=10.0.0.1,', '"', ' ', 'for="', '\\'])(
      'of %j',
      (part) => {
        expect(resolve('10.0.0.1', part.repeat(LENGTH / part.length))).toBe('10.0.0.1')
      },
    )

    test.each(['', 'for=1.2.3.4;', 'for=1.2.3.4', 'for="1.2.3.4"'])(
      'of blanks after %j',
      (pair) => {
        for (const blank of [' ', '\t'])
          expect(resolve('10.0.0.1', `${pair}${blank.repeat(LENGTH)}"`)).toBe('10.0.0.1')
      },
    )
  })

  test.each([
    ['10.0.0.1', '9.9.9.9', '9.9.9.9'],
    ['10.0.0.1', '6.6.6.6, 9.9.9.9', '9.9.9.9'],
    ['10.0.0.1', '<script>, 9.9.9.9', '9.9.9.9'],
    ['8.8.8.8', '9.9.9.9', '8.8.8.8'],
    ['10.0.0.1', undefined, '10.0.0.1'],
  ])('a header of one address from %s: %s', (peer, header, client) => {
    expect(
      proxyResolver({ trusted: ['10.0.0.0/8'], header: 'CF-Connecting-IP' })(peer, header),
    ).toBe(client)
  })

  test('forged entries never change the client', () => {
    const entry = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.string(),
      fc.constantFrom('10.0.0.1', '127.0.0.1', 'unknown', '"', ''),
    )
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 40, size: 'max' }), fc.nat(2), (forged, proxies) => {
        const chain = [...forged, '9.9.9.9', ...['10.0.0.2', '10.0.0.3'].slice(0, proxies)]
        expect(list('10.0.0.1', chain.join(', '))).toBe('9.9.9.9')
      }),
      { numRuns: 2_000 },
    )
  })

  test('Forwarded: whatever a client sends, the element that a trusted proxy appends counts', () => {
    const unit = fc.constantFrom('"', '\\', ',', ';', '=', ' ', 'for=', 'for="', '6.6.6.6', 'a')
    const forged = fc.oneof(
      fc.string(),
      fc.array(unit, { size: 'medium' }).map((all) => all.join('')),
    )
    const quoted = fc.string().map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
    const address = fc.constantFrom('9.9.9.9', '"9.9.9.9"', '"9.9.9.9:80"', '"\\9.9.9.9"')
    const others = fc.array(fc.oneof(quoted, fc.constant('https')), { maxLength: 3 })
    const resolve = proxyResolver({ trusted: ['10.0.0.0/8'], header: 'forwarded' })
    fc.assert(
      fc.property(
        forged,
        address,
        others,
        fc.boolean(),
        fc.nat(2),
        (bytes, of, more, isFirst, n) => {
          const pairs = more.map((value, i) => `x${i}=${value}`)
          const element = (isFirst ? [`for=${of}`, ...pairs] : [...pairs, `for=${of}`]).join(';')
          const proxies = ['for=10.0.0.2;by="_a,\\"b"', 'for="10.0.0.3"'].slice(0, n)
          const value = [bytes, element, ...proxies].join(', ')
          expect(resolve('10.0.0.1', value)).toMatch(/^9\.9\.9\.9(:80)?$/)
        },
      ),
      { numRuns: 5_000 },
    )
  })

  test.each(['0.0.0.0/0', '::/0', '::ffff:0:0/96'])('%s among those trusted is refused', (all) => {
    const message = expect.stringContaining(
      'proxies.trusted has a range of all addresses; give the networks that are meant',
    )
    expect(() => limitOn({ proxies: { trusted: ['loopback', all] } })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION', message }),
    )
  })

  test.each([
    { trusted: ['::ffff:10.0.0.0/8'] },
    { trusted: 'loopback' },
    { trusted: true },
    { trusted: 1 },
    { trusted: ['loopback'], header: '' },
    { trusted: ['loopback'], header: 'a b' },
    { trusted: ['loopback'], header: 1 },
    {},
  ])('%j is refused', (proxies) => {
    expect(() => limitOn({ proxies: proxies as never })).toThrow(refused)
  })
})
