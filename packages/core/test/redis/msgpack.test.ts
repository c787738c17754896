import { seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unpackNumbers } from '../../src/redis/transport/msgpack.js'
import { singleClient } from './clients.js'

const EDGES = [
  0,
  1,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53,
  -1,
  -32,
  -33,
  -128,
  -129,
  -32_768,
  -32_769,
  -(2 ** 31),
  -(2 ** 31) - 1,
  -(2 ** 53),
]

test('numbers from cmsgpack are decoded unchanged, in arrays of any length, and doubles', async () => {
  const client = singleClient()
  const echo = async (
    numbers: readonly number[],
    packed = 'cmsgpack.pack(t)',
  ): Promise<number[]> => {
    const script = `local t = {} for i = 1, #ARGV do t[i] = ARGV[i] + 0 end return ${packed}`
    return unpackNumbers(
      (await client.callBuffer('eval', [script, '0', ...numbers.map(String)])) as Buffer,
    )
  }
  expect(await echo(EDGES)).toEqual(EDGES)
  const doubles = `struct.pack('>${'d'.repeat(EDGES.length)}', unpack(t))`
  expect(await echo(EDGES, doubles)).toEqual(EDGES)
  for (const length of [1, 15, 16, 17, 255, 4_000]) {
    const numbers = Array.from({ length }, (_, i) => i * 7_919)
    expect(await echo(numbers)).toEqual(numbers)
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.maxSafeInteger(), { minLength: 1 }), async (numbers) => {
      expect(await echo(numbers)).toEqual(numbers)
    }),
    { numRuns: stepsOf(200, 20_000), seed: seedOf(1) },
  )
})

test.each([
  ['nothing', []],
  ['a number of two bytes without the second one', [0x91, 0xcd, 1]],
  ['a length of two bytes without the second one', [0xdc, 0]],
  ['an array without its last number', [0x92, 1]],
  ['a double without its last byte', [0x43, 0, 0, 0, 0, 0, 0]],
  ['an array of texts', [0x91, 0xa1, 0x41]],
])('%s is not a reply', (_, bytes) => {
  expect(() => unpackNumbers(Buffer.from(bytes))).toThrow()
})
