// Addresses are compared by their bits. The test vectors are those that other libraries got wrong.

import { isIP, isIPv4, isIPv6, SocketAddress } from 'node:net'
import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressText, parseAddress } from '../../src/base/address.js'
import { addressKey } from '../../src/base/address-key.js'

const keyOf = addressKey()

describe('keys', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:102:304', '1.2.3.4'],
    ['0000:0000:0000:0000:0000:ffff:0102:0304', '1.2.3.4'],
    ['::ffff:1.2.3.4%eth0', '1.2.3.4'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['2001:db8:1234:5678::1', '2001:db8:1234:5600::/56'],
    ['2001:DB8:1234:5678::1', '2001:db8:1234:5600::/56'],
    ['2001:0db8:1234:5678:0000:0000:0000:0001', '2001:db8:1234:5600::/56'],
    ['2001:db8:1234:5678::1.2.3.4', '2001:db8:1234:5600::/56'],
    ['2001:db8:1234:56ff::9', '2001:db8:1234:5600::/56'],
    ['2001:db8:1234:5700::9', '2001:db8:1234:5700::/56'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:ff9b::102:304', '1.2.3.4'],
    ['64:ff9b:0:0:1::102:304', '64:ff9b::/56'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::', '::/56'],
    ['::1.2.3.4', '::/56'],
    ['::ffff:0:1.2.3.4', '::/56'],
    ['fe80::1%eth0', 'fe80::/56'],
    ['1.2.3.4:5678', '1.2.3.4'],
    ['[2001:db8::1]:443', '2001:db8::/56'],
    ['[2001:db8::1]', '2001:db8::/56'],
    ['1:0:0:2::', '1::/56'],
    ['a:b:c:d:e:f:1:2', 'a:b:c::/56'],
  ])('%s is %s', (address, key) => {
    expect(keyOf(address)).toBe(key)
  })

  test.each([
    '01.2.3.4',
    '0x1.2.3.4',
    '16909060',
    '1.2.3',
    '1.2.3.355',
    '1.2.3.4.5',
    '1.2.3.',
    '.1.2.3',
    '1..2.3',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '1.2.3.4%eth0',
    '1.2.3.4:',
    '1.2.3.4:123456',
    'unknown',
    '_hidden',
    '',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '12345::',
    'g::',
    '1.2.3.4::',
    '::1.2.3.4:5',
    '[1.2.3.4]',
    '[::1',
    '::1]',
    'fe80::1%',
    '١.٢.٣.٤',
    `${'1'.repeat(8_000)}::`,
  ])('%s is not an address', (text) => {
    expect(keyOf(text)).toBeUndefined()
  })

  test.each([undefined, null, 0, {}, ['1.2.3.4']])('%s is not an address', (value) => {
    expect(keyOf(value as never)).toBeUndefined()
  })

  test.each([
    [32, '2001:db8::/32'],
    [48, '2001:db8:ffff::/48'],
    [60, '2001:db8:ffff:fff0::/60'],
    [64, '2001:db8:ffff:ffff::/64'],
    [127, '2001:db8:ffff:ffff:ffff:ffff:ffff:fffe/127'],
    [128, '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128'],
  ])('ipv6Prefix %d', (ipv6Prefix, key) => {
    expect(addressKey({ ipv6Prefix })('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff')).toBe(key)
    expect(addressKey({ ipv6Prefix })('::ffff:1.2.3.4')).toBe('1.2.3.4')
  })

  test.each([31, 129, 56.5, Number.NaN, '56', null])('ipv6Prefix %s is refused', (ipv6Prefix) => {
    expect(() => addressKey({ ipv6Prefix: ipv6Prefix as never })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test("nat64: a network's own prefix is also unfolded", () => {
    const own = addressKey({ nat64: ['2001:db8:64::/96'] })
    expect(own('2001:db8:64::1.2.3.4')).toBe('1.2.3.4')
    expect(own('64:ff9b::1.2.3.4')).toBe('1.2.3.4')
    expect(own('2001:db8:64:0:0:1:102:304')).toBe('2001:db8:64::/56')
  })

  test.each(['2001:db8::/64', '1.2.3.4/96', '2001:db8::', 'x/96', ''])(
    'nat64 %s is refused',
    (network) => {
      expect(() => addressKey({ nat64: [network] })).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
      )
    },
  )
})

const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.integer({ min: 0, max: 0xffff }))
const bits = fc.tuple(group, group, group, group, group, group, group, group)
const hex = (value: number) => value.toString(16)

/** One of the ways to write an address. */
function spelling(
  groups: readonly number[],
  upper: boolean,
  pad: boolean,
  dotted: boolean,
  zeros: number,
): string {
  const written = groups.map((value) => (pad ? hex(value).padStart(4, '0') : hex(value)))
  if (dotted) {
    const [high = 0, low = 0] = groups.slice(6)
    written.splice(6, 2, `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`)
  }
  const run = groups.slice(0, 6).findIndex((value, i) => value === 0 && i >= zeros)
  if (run >= 0) {
    let end = run
    while (end < 6 && groups[end] === 0) end += 1
    const text = `${written.slice(0, run).join(':')}::${written.slice(end).join(':')}`
    return upper ? text.toUpperCase() : text
  }
  return upper ? written.join(':').toUpperCase() : written.join(':')
}

describe('properties', () => {
  test('express-rate-limit PR #667: a key depends only on the 128 bits, however they are written', () => {
    const flags = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.nat({ max: 6 }))
    fc.assert(
      fc.property(bits, flags, (groups, [upper, pad, dotted, zeros]) => {
        const plain = groups.map(hex).join(':')
        expect(keyOf(spelling(groups, upper, pad, dotted, zeros))).toBe(keyOf(plain))
        expect(keyOf(plain)).toBeDefined()
      }),
      { numRuns: 5_000 },
    )
  })

  test('the text of an address is the one that Node writes', () => {
    fc.assert(
      fc.property(bits, (groups) => {
        const address = groups.map(hex).join(':')
        const parsed = parseAddress(address)
        const text = addressText(parsed ?? [])
        const native = new SocketAddress({ address, family: 'ipv6' }).address
        // Node writes mapped and compatible addresses with a dotted end.
        if (!native.includes('.')) expect(text).toBe(native)
        expect(parseAddress(text)).toEqual(parsed)
      }),
      { numRuns: 2_000 },
    )
  })

  const nearly = fc
    .array(
      fc.constantFrom(
        '0',
        '1',
        '255',
        '256',
        'f',
        'ffff',
        '00',
        ':',
        ':',
        ':',
        '::',
        '.',
        '.',
        'g',
        '-',
      ),
      { maxLength: 20 },
    )
    .map((parts) => parts.join(''))
  const mutated = fc
    .tuple(bits, fc.nat({ max: 40 }), fc.constantFrom('', ':', '.', '0', 'g'))
    .map(([groups, at, what]) => {
      const text = spelling(groups, false, false, at % 2 === 0, 0)
      return text.slice(0, at) + what + text.slice(at + 1)
    })

  test('agree with node:net on what is an address', () => {
    fc.assert(
      fc.property(fc.oneof(nearly, mutated, fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
        // For node:net, ports and brackets are not part of an address.
        fc.pre(!/^[\d.]+:\d+$/.test(text) && !text.includes('[') && !text.includes('%'))
        expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0)
      }),
      { numRuns: stepsOf(5_000, 200_000) },
    )
  })

  test('a key is an IPv4 address, a network or the loopback address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        const key = keyOf(address) as string
        const [network = '', length] = key.split('/')
        if (length === undefined) expect(isIPv4(network) || network === '::1').toBe(true)
        else expect(isIPv6(network)).toBe(true)
        expect(keyOf(network)).toBe(key)
      }),
      { numRuns: 5_000 },
    )
  })

  test('CVE-2026-45364, better-auth before 1.4.17: 100,000 addresses of one network are one key', () => {
    const keys = new Set<string | undefined>()
    for (let i = 0; i < 100_000; i += 1) {
      keys.add(
        keyOf(`2001:db8:1:${hex(0x200 + (i & 0xff))}:${hex(i & 0xffff)}::${hex((i * 7) & 0xffff)}`),
      )
    }
    expect([...keys]).toEqual(['2001:db8:1:200::/56'])
  })
})
