// SHA-256 (FIPS 180-4) of texts. node:crypto is not used: browsers need the same result at once,
// and their own SHA-256 returns a promise.

const BLOCK = 64
/** One byte follows the text, and then its length in bits, in eight bytes. */
const PADDING = 9

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUNDS = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])

/** The first 32 bits of the fractional parts of the square roots of the first eight primes. */
const START = new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
])

const words = new Int32Array(BLOCK)

/**
 * The hash of a text's UTF-8, in 64 hexadecimal digits. A lone surrogate, which UTF-8 does not
 * allow, is hashed as the three bytes that it would take.
 */
export function sha256(text: string): string {
  const room = Math.ceil((3 * text.length + PADDING) / BLOCK) * BLOCK
  const view = new DataView(new ArrayBuffer(room))
  const length = writeUtf8(text, view)
  view.setUint8(length, 0x80)
  const end = Math.ceil((length + PADDING) / BLOCK) * BLOCK
  view.setUint32(end - 8, Math.floor(length / 2 ** 29))
  view.setUint32(end - 4, length << 3)
  const state = START.slice()
  for (let at = 0; at < end; at += BLOCK) compress(state, view, at)
  let hex = ''
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, '0')
  return hex
}

/** Returns the number of bytes written. */
function writeUtf8(text: string, view: DataView): number {
  let at = 0
  for (let i = 0; i < text.length; i += 1) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      view.setUint8(at, code)
      at += 1
      continue
    }
    if (code < 0x800) {
      view.setUint16(at, 0xc080 | ((code & 0x7c0) << 2) | (code & 0x3f))
      at += 2
      continue
    }
    const low = (code & 0xfc00) === 0xd800 ? text.charCodeAt(i + 1) : 0
    if ((low & 0xfc00) === 0xdc00) {
      code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff)
      i += 1
      view.setUint8(at, 0xf0 | (code >> 18))
      view.setUint8(at + 1, 0x80 | ((code >> 12) & 0x3f))
      at += 2
    } else {
      view.setUint8(at, 0xe0 | (code >> 12))
      at += 1
    }
    view.setUint16(at, 0x8080 | ((code & 0xfc0) << 2) | (code & 0x3f))
    at += 2
  }
  return at
}

/** Mixes one block into the state. The names are the standard's. */
function compress(state: Int32Array, view: DataView, at: number): void {
  for (let t = 0; t < 16; t += 1) words[t] = view.getInt32(at + 4 * t)
  for (let t = 16; t < BLOCK; t += 1) {
    const w2 = words[t - 2] as number
    const w15 = words[t - 15] as number
    const s1 = ((w2 >>> 17) | (w2 << 15)) ^ ((w2 >>> 19) | (w2 << 13)) ^ (w2 >>> 10)
    const s0 = ((w15 >>> 7) | (w15 << 25)) ^ ((w15 >>> 18) | (w15 << 14)) ^ (w15 >>> 3)
    words[t] = (s1 + (words[t - 7] as number) + s0 + (words[t - 16] as number)) | 0
  }
  // Read one by one: as a list they would take as long as all the rest.
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let t = 0; t < BLOCK; t += 1) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const choice = (e & f) ^ (~e & g)
    const t1 = (h + sum1 + choice + (ROUNDS[t] as number) + (words[t] as number)) | 0
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + sum0 + majority) | 0
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
  state[5] = (state[5] as number) + f
  state[6] = (state[6] as number) + g
  state[7] = (state[7] as number) + h
}
