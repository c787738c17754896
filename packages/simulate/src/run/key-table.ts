// The keys of a limiter, each with a number: what is counted of keys lies in arrays by that number.

import { quote } from '@weir/core/http'
import { failed } from '../errors.js'
import { hashOf } from './hash.js'

/** Slots that are in use, at the most. */
const FULLEST = 0.6
/** Slots that a search looks at: more are needed where the hashes of keys were made to be alike. */
const LONGEST = 128

/**
 * A hash table of its own, by linear probing: most of what a key costs is waiting for memory, and
 * here the hash lies beside the number. V8's Map takes longer, but nobody who writes to the log can
 * make it slow: it takes over where searches become long.
 */
export class KeyTable {
  readonly texts: string[] = []
  /** Pairs of a hash and a number, which is one more than that of the key; 0: the slot is free. */
  #slots: Int32Array = new Int32Array(2 * 64)
  #map: Map<string, number> | undefined
  readonly #most: number
  readonly #whose: string

  /** @param whose keys they are, for messages */
  constructor(most: number, whose: string) {
    this.#most = most
    this.#whose = whose
  }

  get count(): number {
    return this.texts.length
  }

  /**
   * The number of a key.
   * @throws {SimulateError} WEIR_TOO_MANY_KEYS: to forget one would make the figures wrong
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
    const why = 'to forget one of them would make the figures wrong'
    const right = 'raise --max-keys (maxKeys), or give --sample 1/16 (sample: 16)'
    return failed('WEIR_TOO_MANY_KEYS', `${what}; ${why}; ${right}`)
  }
}

/** A text that holds on to nothing: V8 keeps the whole of what a slice was cut from. */
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
