// What happened, as one number, so that two runs can be compared; and the last lines, for people.

/** FNV-1a with 32 bits, twice with different offsets
 *  (http://www.isthe.com/chongo/tech/comp/fnv/). */
const PRIME = 0x01000193

/** The lines that are kept for people: the last ones, and those before a promise breaks. */
const KEPT = 200
const KEPT_BEFORE = 12

export class History {
  #low = 0x811c9dc5 | 0
  #high = 0x2f4a91c3 | 0
  readonly #lines: string[] = []
  #untilBroken: readonly string[] = []

  add(line: string): void {
    for (let i = 0; i < line.length; i += 1) {
      const code = line.charCodeAt(i)
      this.#low = Math.imul(this.#low ^ code, PRIME)
      this.#high = Math.imul(this.#high ^ code ^ (this.#low >>> 24), PRIME)
    }
    this.#lines.push(line)
    if (this.#lines.length > 2 * KEPT) this.#lines.splice(0, KEPT)
  }

  get hash(): string {
    return [this.#high, this.#low]
      .map((half) => (half >>> 0).toString(16).padStart(8, '0'))
      .join('')
  }

  /** A promise breaks. Keeps the last lines if it is the first one. */
  broke(): void {
    if (this.#untilBroken.length === 0) this.#untilBroken = this.#lines.slice(-KEPT_BEFORE)
  }

  /** The lines up to the first broken promise. */
  get untilBroken(): readonly string[] {
    return this.#untilBroken
  }

  /** The last lines. */
  get end(): readonly string[] {
    return this.#lines.slice(-KEPT)
  }
}
