// SHA-256 compared with OpenSSL's, by node:crypto.

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from '../../src/base/sha256.js'

function reference(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

test('texts of all lengths around a block', () => {
  for (const sign of ['a', 'é', '中', '😀']) {
    for (let count = 0; count <= 140; count += 1) {
      const text = sign.repeat(count)
      expect(sha256(text)).toBe(reference(text))
    }
  }
  const long = 'ab中😀é'.repeat(4_000)
  expect(sha256(long)).toBe(reference(long))
})

test('any text that UTF-8 can encode', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 150 }), (text) => {
      expect(sha256(text)).toBe(reference(text))
    }),
  )
})

test('halves of surrogate pairs are three bytes each, and distinguished', () => {
  expect(sha256('\ud800')).toBe(reference(Uint8Array.of(0xed, 0xa0, 0x80)))
  expect(sha256('a\udfffb')).toBe(reference(Uint8Array.of(0x61, 0xed, 0xbf, 0xbf, 0x62)))
  // In the wrong order.
  expect(sha256('\udc00\ud800')).toBe(reference(Uint8Array.of(0xed, 0xb0, 0x80, 0xed, 0xa0, 0x80)))
  expect(new Set(['\ud800', '\ud801', '\udfff', '\ufffd'].map(sha256)).size).toBe(4)
})
