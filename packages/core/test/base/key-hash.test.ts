// The keyed hash, compared with its reference: written here a second time, simply, on bytes, and
// checked against the published vectors.

import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { KeyHash, keyHash, type Seed, seedHashes, shortName } from '../../src/base/key-hash.js'

/** HalfSipHash-c-d with a result of 64 bits. */
function halfSipHash(
  bytes: Uint8Array,
  seed: Seed,
  c: number,
  d: number,
): readonly [number, number] {
  const v = new Uint32Array([seed[0], seed[1] ^ 0xee, seed[0] ^ 0x6c796765, seed[1] ^ 0x74656462])
  const rotated = (value: number, by: number) => (value << by) | (value >>> (32 - by))
  const xor = (i: number, value: number) => {
    v[i] = (v[i] as number) ^ value
  }
  const mix = (i: number, j: number, by: number) => {
    v[i] = (v[i] as number) + (v[j] as number)
    v[j] = rotated(v[j] as number, by) ^ (v[i] as number)
  }
  const rounds = (count: number) => {
    for (let i = 0; i < count; i += 1) {
      mix(0, 1, 5)
      v[0] = rotated(v[0] as number, 16)
      mix(2, 3, 8)
      mix(0, 3, 7)
      mix(2, 1, 13)
      v[2] = rotated(v[2] as number, 16)
    }
  }
  const padded = new Uint8Array(4 * Math.floor(bytes.length / 4) + 4)
  padded.set(bytes)
  padded[padded.length - 1] = bytes.length
  const view = new DataView(padded.buffer)
  for (let at = 0; at < padded.length; at += 4) {
    xor(3, view.getUint32(at, true))
    rounds(c)
    xor(0, view.getUint32(at, true))
  }
  xor(2, 0xee)
  rounds(d)
  const low = (v[1] as number) ^ (v[3] as number)
  xor(1, 0xdd)
  rounds(d)
  return [low, (v[1] as number) ^ (v[3] as number)]
}

describe('the keyed hash', () => {
  test.each([
    // https://github.com/veorq/SipHash, vectors.h: key 00 01 ... 07, and texts 00 01 02 ... of this
    // many bytes.
    [0, '218d1f59b9b83cc8'],
    [1, 'be552412f8387315'],
    [2, '064f39ef7c50eb57'],
    [5, 'cb9d7c3f2f3db580'],
    [63, '2ea63c71bf326087'],
  ])(
    'is checked against a reference that gives the published result for %s bytes',
    (length, result) => {
      const bytes = Uint8Array.from({ length }, (_, i) => i)
      const [low, high] = halfSipHash(bytes, [0x03020100, 0x07060504], 2, 4)
      const out = Buffer.alloc(8)
      out.writeInt32LE(low)
      out.writeInt32LE(high, 4)
      expect(out.toString('hex')).toBe(result)
    },
  )

  test('is HalfSipHash-1-3 of the code units', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 70 }),
        fc.tuple(fc.integer(), fc.integer()),
        (text, seed) => {
          const hash = new KeyHash()
          hash.seed(seed)
          hash.hash(text)
          const [low, high] = halfSipHash(Buffer.from(text, 'utf16le'), seed, 1, 3)
          expect([hash.low, hash.high]).toEqual([low, high || 1])
        },
      ),
    )
  })

  test('distinguishes lone surrogates', () => {
    const hash = new KeyHash()
    const texts = new Set(
      ['\ud800', '\udfff', '\ufffd', '', '\0', '\0\0'].map((text) => hash.textOf(text)),
    )
    expect(texts.size).toBe(6)
  })

  test('differs between tables', () => {
    expect(new KeyHash().textOf('k')).not.toBe(new KeyHash().textOf('k'))
  })

  test.each([
    ['counted up', (i: number) => `user-${i}`],
    ['with an equal prefix', (i: number) => `${'p'.repeat(100)}${i}`],
    ['with an equal suffix', (i: number) => `${i}${'s'.repeat(100)}`],
    ['of one letter', (i: number) => 'x'.repeat(i)],
    ['of single characters', (i: number) => String.fromCharCode(i)],
  ])('spreads keys evenly: those %s', (_, keyOf) => {
    const hash = new KeyHash()
    const low = new Uint32Array(16)
    const high = new Uint32Array(16)
    for (let i = 0; i < 4_096; i += 1) {
      hash.hash(keyOf(i))
      low[hash.low & 15] = (low[hash.low & 15] as number) + 1
      high[hash.low >>> 28] = (high[hash.low >>> 28] as number) + 1
    }
    // 256 in each, within seven standard deviations of a binomial distribution.
    for (const count of [...low, ...high]) expect(Math.abs(count - 256)).toBeLessThan(112)
  })
})

describe('the hashes of a process', () => {
  test('depend on one seed', () => {
    const named = (seed: Seed) => {
      seedHashes(seed)
      return [keyHash.textOf('k'), shortName('k'.repeat(300))]
    }
    const first = named([1, 2])
    expect(named([1, 3])).not.toEqual(first)
    expect(named([5, 2])).not.toEqual(first)
    expect(named([1, 2])).toEqual(first)
    const own = new KeyHash()
    own.seed([1, 2])
    expect(first[0]).toBe(own.textOf('k'))
  })

  test('make their secret when the first text is hashed, and not before', async () => {
    const draw = vi.spyOn(crypto, 'getRandomValues')
    vi.resetModules()
    const fresh = await import('../../src/base/key-hash.js')
    expect(draw).not.toHaveBeenCalled()
    const text = fresh.keyHash.textOf('k')
    expect(draw).toHaveBeenCalledTimes(1)
    expect(fresh.keyHash.textOf('k')).toBe(text)
    expect(draw).toHaveBeenCalledTimes(1)
    draw.mockRestore()
  })
})
