// Lists of networks, and finding the client behind proxies.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { networkList } from '../../../src/http/client/lists.js'
import { proxyResolver } from '../../../src/http/client/proxies.js'
import { limitOn } from '../exchange.js'

const refused = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })

describe('lists', () => {
  const SPELLINGS_OF_V4 = [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '::FFFF:a01:203',
    '0:0:0:0:0:ffff:0a01:0203',
    '::ffff:10.1.2.3%eth0',
    '64:ff9b::10.1.2.3',
    '10.1.2.3:5555',
    '[::ffff:10.1.2.3]:5555',
  ]
  const SPELLINGS_OF_V6 = [
    '2001:db8::1',
    '2001:DB8:0:0:0:0:0:1',
    '[2001:db8::1]:443',
    '2001:db8::1%eth0',
  ]

  test.each([
    '10.1.2.3',
    '10.1.2.3/32',
    '10.0.0.0/8',
    '10.9.9.9/8',
    '10.1.2.2/31',
    '::ffff:10.1.2.3',
    '::ffff:a00:0/104',
    '0.0.0.0/0',
    'private',
    '64:ff9b::10.1.2.3',
  ])(
    'CVE-2026-39409, CVE-2026-47674 (hono): %s holds 10.1.2.3 in every spelling, and no IPv6 address',
    (network) => {
      const holds = networkList([network], 'allow')
      expect(SPELLINGS_OF_V4.filter((address) => !holds(address))).toEqual([])
      expect(SPELLINGS_OF_V6.filter(holds)).toEqual([])
    },
  )

  test.each(['2001:db8::1', '2001:db8::/32', '2001:0DB8:0::/64', '::/0', '2000::/3'])(
    '%s holds 2001:db8::1 in every spelling, and no IPv4 address',
    (network) => {
      const holds = networkList([network], 'allow')
      expect(SPELLINGS_OF_V6.filter((address) => !holds(address))).toEqual([])
      expect(SPELLINGS_OF_V4.filter(holds)).toEqual([])
    },
  )

  test.each([
    ['10.1.2.3', ['10.1.2.2', '10.1.2.4', '::ffff:10.1.2.4']],
    ['10.1.2.0/23', ['10.1.1.255', '10.1.4.0']],
    ['2001:db8::/33', ['2001:db8:8000::', '2001:db7:ffff::']],
    ['loopback', ['126.255.255.255', '128.0.0.0', '::2', '::']],
    ['private', ['172.15.255.255', '172.32.0.0', '11.0.0.0', 'fe00::']],
    ['link-local', ['169.253.255.255', 'fec0::']],
  ])('%s ends where it ends', (network, outside) => {
    expect(outside.filter(networkList([network], 'allow'))).toEqual([])
  })

  test('CVE-2026-24398 (hono): what is no address is in no list', () => {
    const holds = networkList(['0.0.0.0/0', '::/0'], 'allow')
    const garbage = [
      '',
      'unknown',
      '1.2.3.355',
      '1.2.3',
      '010.1.2.3',
      '0x0a.1.2.3',
      '168427779',
      ' 10.1.2.3',
      undefined,
    ]
    expect(garbage.filter(holds)).toEqual([])
  })

  test.each([
    '',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '2001:db8::/129',
    'x',
    '10.1.2.3:80',
    '[::1]',
    '::1%eth0',
    '*',
  ])('%s is refused', (network) => {
    expect(() => networkList([network], 'allow')).toThrow(refused)
  })

  test('CVE-2026-90711 (proxy-addr): a range written as mapped must not reach beyond IPv4', () => {
    expect(() => networkList(['::ffff:10.0.0.0/8'], 'deny')).toThrow(refused)
    expect(() => networkList(['::ffff:10.0.0.0/95'], 'deny')).toThrow(refused)
    expect(networkList(['::ffff:10.0.0.0/104'], 'deny')('11.0.0.1')).toBe(false)
  })

  test('agree with arithmetic', () => {
    const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
    const value = (parts: number[]) => parts.reduce((sum, part) => sum * 256 + part, 0)
    fc.assert(
      fc.property(octets, octets, fc.nat(32), (network, address, length) => {
        const size = 2 ** (32 - length)
        const inside = Math.floor(value(network) / size) === Math.floor(value(address) / size)
        const holds = networkList([`${network.join('.')}/${length}`], 'allow')
        expect(holds(address.join('.'))).toBe(inside)
        expect(holds(network.join('.'))).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('options', () => {
  test.each([{ allow: '10.0.0.0/8' }, { deny: ['x'] }, { allow: [1] }])(
    '%j is refused',
    (options) => {
      expect(() => limitOn(options as never)).toThrow(refused)
    },
  )

  test('allow: not limited; deny: 403, and before allow', async () => {
    const { send, limiter } = limitOn({
      limit: 1,
      window: '1m',
      allow: ['10.0.0.0/8'],
      deny: ['10.6.6.6'],
    })
    const statuses = []
    for (const address of [
      '10.1.1.1',
      '10.1.1.1',
      '::ffff:10.1.1.1',
      '10.6.6.6',
      '9.9.9.9',
      '9.9.9.9',
    ]) {
      statuses.push((await send({ address }))?.status ?? 200)
    }
    expect(statuses).toEqual([200, 200, 200, 403, 200, 429])
    expect((await limiter.peek('10.1.1.1')).remaining).toBe(1)
  })

  test('a client on the deny list gets a problem document that clients do not retry', async () => {
    const refusal = await limitOn({ deny: ['0.0.0.0/0'] }).send()
    expect(refusal).toMatchObject({
      status: 403,
      mediaType: 'application/problem+json',
      decision: undefined,
    })
    expect(JSON.parse(refusal?.body ?? '')).toMatchObject({ type: 'about:blank', status: 403 })
  })
})

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
    ['an empty entry', '10.0.0.1', '9.9.9.9,', ''],
    ['an empty header', '10.0.0.1', '', ''],
    ['only a comma', '10.0.0.1', ',', ''],
    ['a port', '10.0.0.1', '9.9.9.9:1234', '9.9.9.9:1234'],
    ['IPv6', '2001:db8:cd::1', '2001:db8:1::1, 2001:db8:cd::2', '2001:db8:1::1'],
    ['a Unix socket, not trusted', undefined, '9.9.9.9', undefined],
  ])('%s', (_, peer, header, client) => {
    expect(list(peer, header)).toBe(client)
  })

  test('a Unix socket, trusted', () => {
    const resolve = proxyResolver({ trusted: ['unix', 'loopback'] })
    expect(resolve(undefined, '9.9.9.9')).toBe('9.9.9.9')
    expect(resolve('', '9.9.9.9')).toBe('9.9.9.9')
    expect(resolve('8.8.8.8', '9.9.9.9')).toBe('8.8.8.8')
  })

  test.each([['6.6.6.6,'], ['6.6.6.6, , '], ['6.6.6.6,, 10.0.0.1'], ['for=6.6.6.6, proto=http']])(
    'an empty hop of %s counted as a trusted Unix socket, so the client chose its address',
    (header) => {
      const kind = header.startsWith('for') ? 'forwarded' : 'x-forwarded-for'
      const resolve = proxyResolver({ trusted: ['unix', '10.0.0.0/8'], header: kind })
      expect(resolve(undefined, header)).toBe('')
      const asked: string[] = []
      const byFunction = proxyResolver({ trusted: (it) => asked.push(it) > 0, header: kind })
      expect(byFunction(undefined, header)).toBe('')
      expect(asked.slice(1)).not.toContain('unix')
    },
  )

  test('a function: it is asked with the one spelling of each address', () => {
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

  test('at most 32 hops are looked at', () => {
    const hops = Array.from({ length: 5_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1`)
    expect(list('10.0.0.1', ['6.6.6.6', ...hops].join(', '))).toBe(hops.at(-32))
    expect(list('10.0.0.1', ','.repeat(16_000))).toBe('')
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
    ['proto=https', ''],
    ['for="6.6.6.6, for=9.9.9.9', ''],
    // Empty elements and pairs are legal, and are nobody.
    ['for=9.9.9.9,,for=10.0.0.1', '9.9.9.9'],
    [', for=9.9.9.9 , ,for=10.0.0.1,', '9.9.9.9'],
    ['for=9.9.9.9;', '9.9.9.9'],
    ['for=9.9.9.9;;proto=https; , for=10.0.0.1; ', '9.9.9.9'],
    // An element without a client is somebody unknown, and ends the way back.
    ['for=9.9.9.9,;', ''],
    ['for=9.9.9.9, proto=https;, for=10.0.0.1', ''],
    [' , ,', ''],
    ['9.9.9.9', ''],
    ['', ''],
  ])('Forwarded: %s', (header, client) => {
    expect(
      proxyResolver({ trusted: ['10.0.0.0/8'], header: 'Forwarded' })('10.0.0.1', header),
    ).toBe(client)
  })

  test('a Forwarded header of 16 kB takes no time to speak of', () => {
    const resolve = proxyResolver({ trusted: ['10.0.0.0/8'], header: 'forwarded' })
    const start = performance.now()
    for (const part of ['for=1;', 'for="\\"', 'a', 'for=10.0.0.1,', '"', ' ', 'for="'])
      resolve('10.0.0.1', part.repeat(16_384 / part.length))
    expect(performance.now() - start).toBeLessThan(20_000)
  })

  // Milliseconds; in quadratic time it would be a minute.
  test.each(['', 'for=1.2.3.4;', 'for=1.2.3.4', 'for="1.2.3.4"'])(
    'nor one of 120 kB with blanks after %j',
    (pair) => {
      const resolve = proxyResolver({ trusted: ['10.0.0.0/8'], header: 'forwarded' })
      const start = performance.now()
      for (const blank of [' ', '\t']) resolve('10.0.0.1', `${pair}${blank.repeat(120_000)}"`)
      expect(performance.now() - start).toBeLessThan(20_000)
    },
  )

  test.each([
    ['10.0.0.1', '9.9.9.9', '9.9.9.9'],
    ['10.0.0.1', '6.6.6.6, 9.9.9.9', '6.6.6.6, 9.9.9.9'],
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

  test.each([
    { trusted: ['0.0.0.0/0'] },
    { trusted: ['::/0'] },
    { trusted: ['::ffff:0:0/96'] },
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

  test('the key is of the client that the proxies name', async () => {
    const { send } = limitOn({ limit: 1, window: '1m', proxies: { trusted: ['loopback'] } })
    const from = (peer: string, forwarded: string) =>
      send({ peer, address: 'ignored', headers: { 'x-forwarded-for': forwarded } })
    expect(await from('127.0.0.1', '6.6.6.6, 9.9.9.9')).toBeUndefined()
    expect(await from('::ffff:127.0.0.1', '7.7.7.7, 9.9.9.9')).toMatchObject({ status: 429 })
    expect(await from('127.0.0.1', '9.9.9.8')).toBeUndefined()
    expect(await from('8.8.8.8', '9.9.9.7')).toBeUndefined()
    expect(await from('8.8.8.8', '9.9.9.6')).toMatchObject({ status: 429 })
  })
})
