// What happened, as one number, so that two runs can be compared; and its end, for people to read.

/** FNV-1a of 32 bits, twice with other beginnings (http://www.isthe.com/chongo/tech/comp/fnv/). */
const PRIME = 0x01000193

/** Lines that are kept for people: of the end, and before a promise breaks. */
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

  /** A promise breaks: remembers the last lines, if it is the first one. */
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
