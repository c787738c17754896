// Lists of networks.

import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { networkList } from '../../../src/http/client/lists.js'
import { httpLimiter, type LimitOptions } from '../../../src/http/index.js'
import { type FakeRequest, FakeResponse, fake, limitOn } from '../exchange.js'

const refusal = (message: string) =>
  expect.objectContaining({
    code: 'WEIR_INVALID_OPTION',
    message: expect.stringContaining(message),
  })

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

  test('CVE-2026-24398 (hono): a text that is not an address is in no list', () => {
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
  ])('%s is refused, with what to give instead', (network) => {
    const message = `allow has "${network}"; give addresses and CIDR ranges such as '10.0.0.0/8' or`
    expect(() => networkList([network], 'allow')).toThrow(refusal(message))
  })

  test('CVE-2026-90711 (proxy-addr): a range in mapped form must not reach beyond IPv4', () => {
    for (const network of ['::ffff:10.0.0.0/8', '::ffff:10.0.0.0/95'])
      expect(() => networkList([network], 'deny')).toThrow(
        refusal(`deny has "${network}"; write IPv4 ranges as IPv4, such as '10.0.0.0/8'`),
      )
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
  test.each([
    [{ allow: '10.0.0.0/8' }, 'allow is "10.0.0.0/8"; give an array of addresses and CIDR ranges'],
    [{ deny: ['x'] }, 'deny has "x"'],
    [{ allow: [1] }, 'allow has 1'],
    [{ allow: ['localhost'] }, "give 'loopback', as names of hosts are not looked up"],
  ])('%j is refused: %s', (options, message) => {
    expect(() => limitOn(options as never)).toThrow(refusal(message))
  })

  test.each<[string, Partial<LimitOptions<FakeRequest>>, number]>([
    ['once for the lists and the key', { allow: ['10.0.0.0/8'], deny: ['10.6.6.6'] }, 1],
    ['for the allow list alone', { allow: ['10.0.0.0/8'], key: () => 'k' }, 1],
    ['not at all without lists, for a key of its own', { allow: [], key: () => 'k' }, 0],
  ])('the address is looked up %s', async (_, options, times) => {
    const address = vi.fn(() => '1.2.3.4')
    const limits = { limit: 1, window: '1m', skip: () => false, ...options }
    const { check } = httpLimiter(limits as LimitOptions<FakeRequest>, { ...fake, address })
    await check({}, new FakeResponse())
    expect(address).toHaveBeenCalledTimes(times)
  })

  test('allow: not limited; deny: 403, and decided before allow', async () => {
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
