// A keyed hash of texts: HalfSipHash-1-3 with 64 bits of result, by J.-P. Aumasson and D. J.
// Bernstein (https://github.com/veorq/SipHash, halfsiphash.c), over the UTF-16 code units of a
// text, low byte first. It was made for hash tables whose keys strangers choose: nobody without the
// seed can find texts that collide. (For Murmur, xxHash and the like, such texts are known and
// collide under every seed.) It works on 32-bit numbers, so in JavaScript it costs no more than
// reading the characters.

/** A secret for one process, so that nobody can know beforehand which texts collide. */
export type Seed = readonly [number, number]

export class KeyHash {
  // These fields begin as numbers, so V8 knows their type, and hashing takes half the time.
  #seedLow = 0
  #seedHigh = 0
  #isSeeded = false
  /** The result of the last `hash`: two signed 32-bit numbers. The second is never 0. */
  low = 0
  high = 0

  /** Sets the seed. Default: a random one, drawn at the first hash, not when the module loads. */
  seed(seed: Seed): void {
    this.#seedLow = seed[0] | 0
    this.#seedHigh = seed[1] | 0
    this.#isSeeded = true
  }

  hash(text: string): void {
    if (!this.#isSeeded) this.seed(randomSeed())
    // The names are those of halfsiphash.c.
    let v0 = this.#seedLow
    let v1 = this.#seedHigh ^ 0xee
    let v2 = this.#seedLow ^ 0x6c796765
    let v3 = this.#seedHigh ^ 0x74656462
    const { length } = text
    const pairs = length & ~1
    for (let i = 0; i < pairs; i += 2) {
      const word = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
      v3 ^= word
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= word
    }
    // The last word holds the length in bytes, modulo 256, and the character that is left over. Its
    // round is followed by three for each half of the result.
    const word = (length << 25) | (length > pairs ? text.charCodeAt(pairs) : 0)
    v3 ^= word
    for (let round = 0; round < 7; round += 1) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      if (round === 0) {
        v0 ^= word
        v2 ^= 0xee
      } else if (round === 3) {
        this.low = v1 ^ v3
        v1 ^= 0xdd
      }
    }
    this.high = v1 ^ v3 || 1
  }

  /** A text's hash, as a text of four code units. */
  textOf(text: string): string {
    this.hash(text)
    const { low, high } = this
    return String.fromCharCode(low & 0xffff, low >>> 16, high & 0xffff, high >>> 16)
  }
}

/**
 * Longer texts, such as lists of keys, are kept as a 128-bit hash, so that a bound on the number of
 * keys bounds memory.
 */
const LONGEST = 256

/** One secret for the whole process. */
export const keyHash: KeyHash = new KeyHash()

/** Fixes all of the process's hashes, so that a simulation can be repeated. Whatever was remembered
 *  by an earlier hash is no longer found. */
export function seedHashes(seed: Seed): void {
  keyHash.seed(seed)
}

/** What to remember a text by. The hash of the text after another character makes 128 bits. */
export function shortName(text: string): string {
  return text.length > LONGEST ? keyHash.textOf(text) + keyHash.textOf(`.${text}`) : text
}

function randomSeed(): Seed {
  const [low, high] = crypto.getRandomValues(new Int32Array(2))
  return [low as number, high as number]
}
