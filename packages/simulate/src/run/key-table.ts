// A limiter's keys, each with a number: what is counted of a key is in arrays, at that number.

import { quote } from '@weir/core/internal'
import { failed } from '../errors.js'
import { hashOf } from './hash.js'

/** The largest share of slots that may be in use. */
const FULLEST = 0.6
/** The most slots that a search looks at. It needs more only where keys were made to collide. */
const LONGEST = 128

/**
 * A hash table with linear probing. Most of a lookup's time is spent waiting for memory, so the
 * hash lies beside the number. V8's Map is slower, but no writer to the log can slow it down
 * further: it takes over when searches become long.
 */
export class KeyTable {
  readonly texts: string[] = []
  /** Pairs of a hash and the key's number plus one; 0: the slot is free. */
  #slots: Int32Array = new Int32Array(2 * 64)
  #map: Map<string, number> | undefined
  readonly #most: number
  readonly #whose: string

  /** @param whose what the keys belong to, for error messages */
  constructor(most: number, whose: string) {
    this.#most = most
    this.#whose = whose
  }

  get count(): number {
    return this.texts.length
  }

  /**
   * The number of a key.
   * @throws {SimulateError} WEIR_TOO_MANY_KEYS: forgetting a key would falsify the figures
   */
  numberOf(text: string): number {
    if (this.#map !== undefined) return this.#map.get(text) ?? this.#append(text)
    const hash = hashOf(text)
    const slots = this.#slots
    const last = slots.length - 1
    let at = (hash << 1) & last
    for (let look = 0; look < LONGEST; look += 1) {
      const number = (slots[at + 1] as number) - 1
      if (number < 0) return this.#add(text, hash, at)
      if (slots[at] === hash && this.texts[number] === text) return number
      at = (at + 2) & last
    }
    this.#map = new Map(this.texts.map((each, number) => [each, number]))
    return this.numberOf(text)
  }

  #append(text: string): number {
    const number = this.texts.length
    if (number >= this.#most) throw this.#tooMany(text)
    const own = copyOf(text)
    this.texts.push(own)
    this.#map?.set(own, number)
    return number
  }

  #add(text: string, hash: number, at: number): number {
    const number = this.#append(text)
    this.#slots[at] = hash
    this.#slots[at + 1] = number + 1
    if (2 * this.texts.length > FULLEST * this.#slots.length) this.#grow()
    return number
  }

  #grow(): void {
    const before = this.#slots
    const slots = new Int32Array(2 * before.length)
    const last = slots.length - 1
    for (let from = 0; from < before.length; from += 2) {
      const number = before[from + 1] as number
      if (number === 0) continue
      const hash = before[from] as number
      let at = (hash << 1) & last
      while (slots[at + 1] !== 0) at = (at + 2) & last
      slots[at] = hash
      slots[at + 1] = number
    }
    this.#slots = slots
  }

  #tooMany(text: string): Error {
    const what = `${this.#whose} has more than ${this.#most} keys, the next is ${quote(text)}`
    const why = 'forgetting one of them would falsify the figures'
    const right = 'raise --max-keys (maxKeys), or give --sample 1/16 (sample: 16)'
    return failed('WEIR_TOO_MANY_KEYS', `${what}; ${why}; ${right}`)
  }
}

/** A copy that keeps nothing else in memory: a slice in V8 keeps the string it was cut from. */
function copyOf(text: string): string {
  return ` ${text}`.slice(1)
}

/** Numbers by the number of a key, 0 at first. */
export class Counts {
  #cells: Float64Array = new Float64Array(64)

  of(number: number): number {
    return this.#cells[number] ?? 0
  }

  add(number: number, units: number): void {
    this.set(number, this.of(number) + units)
  }

  set(number: number, value: number): void {
    if (number >= this.#cells.length) {
      const larger = new Float64Array(Math.max(2 * this.#cells.length, number + 1))
      larger.set(this.#cells)
      this.#cells = larger
    }
    this.#cells[number] = value
  }
}
