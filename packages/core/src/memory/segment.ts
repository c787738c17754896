// A small hash table of states, with open addressing and linear probing (D. Knuth, The Art of
// Computer Programming 3, 6.4, algorithms L and R). A state's numbers lie where its key is found,
// so that a decision touches little memory: among a million keys, it spends most of its time
// waiting for memory. A segment's size is fixed: when it has become too small or too large, its
// entries move to another.

import type { Cells } from '../algorithms/algorithm.js'

/** The form of states, and how many there may be. */
export interface Form {
  /** How many numbers an entry has room for; a state that has more is kept in an array of its
   *  own. */
  readonly width: number
  /** Whether a key's text is kept, and not only its hash. */
  readonly keepsTexts: boolean
  readonly maxKeys: number
}

const SMALLEST = 16
/**
 * The share of its places that a new segment uses, and the shares above and below which its entries
 * move to another. They keep searches short.
 */
const NEW = 0.65
const FULLEST = 0.84
const SPARSEST = 0.3

// An entry is two words of 32 bits (half of its key's hash, and when its state ceases to matter)
// and then the state's numbers.
const HASH = 0
const UNTIL = 1
const WORDS = 2

/** Bytes of a reference to a text. */
const POINTER = 8

/** A key's text, or the other half of its hash, which is not 0. */
export type Owner = string | number

export class Segment {
  count = 0
  readonly places: number = 0
  readonly cells: Cells
  /** States that have more numbers than an entry has room for; undefined: there are none. */
  large: (Cells | undefined)[] | undefined
  readonly #form: Form
  /** The same memory as `cells`, as words. */
  readonly #words: Int32Array
  /** Words from one entry to the next. */
  readonly #stride: number = 0
  /** The owners of the entries; undefined or 0 in an empty place. */
  readonly #owners: (Owner | undefined)[] | Int32Array

  /** @param expected how many entries there will be */
  constructor(form: Form, expected: number) {
    this.#form = form
    this.places = Math.max(SMALLEST, Math.ceil(expected / NEW))
    this.#stride = WORDS + 2 * form.width
    this.cells = new Float64Array((this.places * this.#stride) / 2)
    this.#words = new Int32Array(this.cells.buffer)
    this.#owners = form.keepsTexts
      ? new Array(this.places).fill(undefined)
      : new Int32Array(this.places)
  }

  get bytes(): number {
    const owners = this.#owners instanceof Int32Array ? 4 : POINTER
    let bytes = this.cells.byteLength + owners * this.places
    for (const cells of this.large ?? []) bytes += cells?.byteLength ?? 0
    return bytes
  }

  /** Where the numbers of a place begin in `cells`. */
  offsetOf(place: number): number {
    return (place * this.#stride + WORDS) / 2
  }

  isUsed(place: number): boolean {
    return this.#isOwner(this.#owners[place])
  }

  /** One more entry would make searches long. */
  get isFull(): boolean {
    return this.count + 1 > FULLEST * this.places
  }

  get isSparse(): boolean {
    return this.count < SPARSEST * (this.places - SMALLEST)
  }

  /** When the state of a place ends. */
  untilOf(place: number): number {
    return this.#wordOf(place, UNTIL) >>> 0
  }

  setUntil(place: number, until: number): void {
    this.#setWord(place, UNTIL, until)
  }

  #wordOf(place: number, word: number): number {
    return this.#words[place * this.#stride + word] as number
  }

  #setWord(place: number, word: number, value: number): void {
    this.#words[place * this.#stride + word] = value
  }

  setLarge(place: number, cells: Cells | undefined): void {
    if (cells !== undefined) this.large ??= new Array(this.places).fill(undefined)
    if (this.large !== undefined) this.large[place] = cells
  }

  /** The place of an owner; -1: there is none. */
  find(owner: Owner, low: number): number {
    const words = this.#words
    const owners = this.#owners
    for (let place = this.#homeOf(low); ; place = this.#after(place)) {
      // Read before the hash is compared: the owner lies elsewhere, and so both are fetched from
      // memory at once.
      const known = owners[place]
      if (words[place * this.#stride + HASH] === low && known === owner) return place
      if (!this.#isOwner(known)) return -1
    }
  }

  /** Takes a place for an owner that has none. Its numbers are whatever was there before. */
  add(owner: Owner, low: number): number {
    let place = this.#homeOf(low)
    while (this.isUsed(place)) place = this.#after(place)
    this.count += 1
    this.#owners[place] = owner
    this.#setWord(place, HASH, low)
    return place
  }

  remove(place: number): void {
    let hole = place
    // An entry after the hole moves into it, unless its search begins after the hole (Knuth's
    // algorithm R).
    for (let next = this.#after(hole); this.isUsed(next); next = this.#after(next)) {
      const home = this.#homeOf(this.#wordOf(next, HASH))
      const reaches = hole <= next ? home <= hole || home > next : home <= hole && home > next
      if (!reaches) continue
      this.#copy(this, next, hole)
      hole = next
    }
    this.#owners[hole] = undefined
    this.setLarge(hole, undefined)
    this.count -= 1
  }

  /** The same entries, with room for one more. */
  resized(): Segment {
    const other = new Segment(this.#form, this.count + 1)
    other.#takeAll(this)
    return other
  }

  /** Adds all entries of another segment. All in one loop, because such moves are most of what a
   *  new key costs. */
  #takeAll(from: Segment): void {
    const words = this.#words
    const owners = this.#owners
    const { cells, places } = this
    const stride = this.#stride
    const fromWords = from.#words
    const fromOwners = from.#owners
    const fromCells = from.cells
    for (let place = 0; place < from.places; place += 1) {
      const owner = fromOwners[place]
      if (!this.#isOwner(owner)) continue
      const at = place * stride
      const low = fromWords[at + HASH] as number
      let to = this.#homeOf(low)
      while (this.#isOwner(owners[to])) to = to + 1 === places ? 0 : to + 1
      owners[to] = owner
      const toAt = to * stride
      words[toAt + HASH] = low
      words[toAt + UNTIL] = fromWords[at + UNTIL] as number
      // The two words are not copied as a number: bits that are NaN could change.
      const end = (toAt + stride) / 2
      for (let cell = (toAt + WORDS) / 2, old = (at + WORDS) / 2; cell < end; cell += 1, old += 1)
        cells[cell] = fromCells[old] as number
      if (from.large !== undefined) this.setLarge(to, from.large[place])
    }
    this.count += from.count
  }

  /** A text is not compared with 0: that would read the text, one more wait for memory. */
  #isOwner(owner: Owner | undefined): boolean {
    return owner !== undefined && (this.#form.keepsTexts || owner !== 0)
  }

  /** Where the search for a hash begins. The hash's upper half decides, as the lower half chose the
   *  segment. */
  #homeOf(low: number): number {
    return ((low >>> 16) * this.places) >>> 16
  }

  #after(place: number): number {
    return place + 1 === this.places ? 0 : place + 1
  }

  #copy(from: Segment, place: number, to: number): void {
    for (let word = 0; word < this.#stride; word += 1)
      this.#setWord(to, word, from.#wordOf(place, word))
    this.#owners[to] = from.#owners[place]
    this.setLarge(to, from.large?.[place])
  }
}
