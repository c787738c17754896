// All states of one policy: many small tables, whose number follows that of the keys one by one. So
// no call ever waits until a large table has been built anew: V8's Map does that, and at a million
// keys it takes tens of milliseconds. Which table a key belongs to is told by linear hashing (W.
// Litwin, "Linear Hashing: A New Tool for File and Table Addressing", VLDB 1980):
//
//   segment = hash mod 2^(k+1), or hash mod 2^k where there is no such segment yet
//   2^k <= segments <= 2^(k+1)
//
// To grow, segment n is added: what belongs there was in segment n - 2^k. To shrink, the last one
// goes back to that one. A slot is a number that names a segment and a place in it, until the next
// key is added or removed.

import type { Cells } from '../algorithms/algorithm.js'
import { keyHash, LONGEST, shortName } from '../base/key-hash.js'

/** Entries that a segment has on average when one is added; at times one has twice as many. */
const ENTRIES = 4_096
const PLACE_BITS = 14
const PLACE = 2 ** PLACE_BITS - 1
/** How many places a step of a walk passes over to find one in use. */
const PASSES = 64

export class Segments {
  count = 0
  readonly #form: Form
  #segments: Segment[]
  /** 2^(k+1) - 1. */
  #mask = 0
  /** Where a walk is: it goes downwards, so that what moves when an entry is removed was passed
   *  already. */
  #walkSegment = 0
  #walkPlace = 0
  #lastKey: string | undefined
  /** The slot that is selected: that of the key that was looked up, added or walked to last. */
  slot = -1
  /** Its state: the numbers, from `offset` on; or an array of its own. */
  cells: Cells
  offset = 0
  large: Cells | undefined
  #selected: Segment

  constructor(form: Form) {
    this.#form = form
    this.#selected = new Segment(form, 0)
    this.#segments = [this.#selected]
    this.cells = this.#selected.cells
  }

  /** Selects the slot of a key, and returns it; -1: it has none. */
  find(key: string): number {
    // The same key again, as of whoever is about to be refused: then there is nothing to work out.
    if (this.slot >= 0 && key === this.#lastKey) return this.slot
    const { keepsTexts } = this.#form
    const text = keepsTexts && key.length > LONGEST ? shortName(key) : key
    keyHash.hash(text)
    const index = this.#indexOf(keyHash.low)
    const place = this.#at(index).find(text, keyHash.low, keyHash.high)
    if (place < 0) return -1
    this.select((index << PLACE_BITS) | place)
    if (keepsTexts) this.#lastKey = text
    return this.slot
  }

  select(slot: number): void {
    const segment = this.#at(slot >> PLACE_BITS)
    const place = slot & PLACE
    this.slot = slot
    this.cells = segment.cells
    this.offset = segment.offsetOf(place)
    this.large = segment.largeOf(place)
    this.#selected = segment
    this.#lastKey = undefined
  }

  untilOf(slot: number): number {
    return this.#at(slot >> PLACE_BITS).untilOf(slot & PLACE)
  }

  /** Says of the slot that is selected when its state ends, and if it has an array of its own. */
  keep(until: number, large: Cells | undefined): void {
    const place = this.slot & PLACE
    this.#selected.setUntil(place, until)
    if (large === this.large) return
    this.#selected.setLarge(place, large)
    this.large = large
  }

  /** Selects a slot for a key that has none. Its numbers are what they happen to be. */
  add(key: string): void {
    this.slot = -1
    if (this.count >= ENTRIES * this.#segments.length) this.#split()
    const text = this.#form.keepsTexts ? shortName(key) : key
    keyHash.hash(text)
    const { low, high } = keyHash
    const index = this.#indexOf(low)
    if (this.#at(index).isFull) this.#rebuild(index)
    this.count += 1
    this.select((index << PLACE_BITS) | this.#at(index).add(text, low, high))
  }

  remove(slot: number): void {
    this.slot = -1
    const segment = this.#at(slot >> PLACE_BITS)
    segment.remove(slot & PLACE)
    this.count -= 1
    if (this.count === 0) this.clear()
    else if (this.count < (ENTRIES / 2) * (this.#segments.length - 1)) this.#merge()
    else if (segment.isSparse) this.#rebuild(slot >> PLACE_BITS)
  }

  /** The next slot of an endless walk through all keys; -1: not found yet. */
  walk(): number {
    for (let pass = 0; pass < PASSES; pass += 1) {
      let segment = this.#segments[this.#walkSegment]
      if (segment === undefined || this.#walkPlace === 0) {
        const { length } = this.#segments
        this.#walkSegment = (Math.min(this.#walkSegment, length) || length) - 1
        segment = this.#at(this.#walkSegment)
        this.#walkPlace = segment.places
      }
      this.#walkPlace = Math.min(this.#walkPlace, segment.places) - 1
      if (segment.isUsed(this.#walkPlace))
        return (this.#walkSegment << PLACE_BITS) | this.#walkPlace
    }
    return -1
  }

  clear(): void {
    this.count = 0
    this.slot = -1
    this.#selected = new Segment(this.#form, 0)
    this.#segments = [this.#selected]
    this.cells = this.#selected.cells
    this.large = undefined
    this.#mask = 0
    this.#walkSegment = 0
    this.#walkPlace = 0
  }

  #at(index: number): Segment {
    return this.#segments[index] as Segment
  }

  #indexOf(low: number): number {
    const index = low & this.#mask
    return index < this.#segments.length ? index : index & (this.#mask >> 1)
  }

  #rebuild(index: number): void {
    const old = this.#at(index)
    this.#segments[index] = new Segment(this.#form, old.count + 1)
    this.#takeAll(old)
  }

  #split(): void {
    const added = this.#segments.length
    if (added > this.#mask) this.#mask = 2 * this.#mask + 1
    const index = added & (this.#mask >> 1)
    const old = this.#at(index)
    this.#segments[index] = new Segment(this.#form, old.count / 2)
    this.#segments.push(new Segment(this.#form, old.count / 2))
    this.#takeAll(old)
  }

  #merge(): void {
    const last = this.#segments.pop() as Segment
    if (2 * this.#segments.length === this.#mask + 1) this.#mask >>= 1
    this.#takeAll(last)
  }

  /** Puts the entries of a segment that is no more where they belong now. */
  #takeAll(old: Segment): void {
    for (let place = 0; place < old.places; place += 1) {
      if (!old.isUsed(place)) continue
      const index = this.#indexOf(old.hashOf(place))
      if (this.#at(index).isFull) this.#rebuild(index)
      this.#at(index).take(old, place)
    }
  }
}

// A small hash table of states, by open addressing with linear probing (D. Knuth, The Art of
// Computer Programming 3, 6.4, algorithms L and R). The numbers of a state lie where its key is
// found, so that a decision touches little memory: among a million keys, waiting for memory is most
// of what it takes. Its size is fixed: the class Segments moves the entries of one that became too
// small, or too large, into another.

const SMALLEST = 16
/**
 * Of the places as many are in use when it is new, at the most, and at the least: searches stay
 * short.
 */
const NEW = 0.6
const FULLEST = 0.84
const SPARSEST = 0.3

// An entry is the numbers of a state and then two words of 32 bits: half of the hash of its key,
// and when it stops to matter.
const HASH = 0
const UNTIL = 1
const WORDS = 2

/** How entries look. */
export interface Form {
  /** How many numbers there is room for; a state that has more is kept in an array of its own. */
  readonly width: number
  /** Whether the text of a key is kept, and not only its hash. */
  readonly keepsTexts: boolean
}

class Segment {
  count = 0
  readonly places: number = 0
  readonly cells: Cells
  /** The same memory as words. */
  readonly #words: Int32Array
  /** Words from one entry to the next, and from its beginning to its last two. */
  readonly #stride: number = 0
  readonly #width: number = 0
  /** Whose the entries are: the texts of keys; undefined in an empty place. Or the other halves of
   *  their hashes, or 0. */
  readonly #texts: (string | undefined)[] | undefined
  readonly #highs: Int32Array
  /** States that have more numbers than there is room for; undefined: there are none. */
  #large: (Cells | undefined)[] | undefined

  /** @param expected how many entries there will be */
  constructor({ width, keepsTexts }: Form, expected: number) {
    this.places = Math.max(SMALLEST, Math.ceil(expected / NEW))
    this.#width = 2 * width
    this.#stride = 2 * width + WORDS
    this.cells = new Float64Array((this.places * this.#stride) / 2)
    this.#words = new Int32Array(this.cells.buffer)
    this.#texts = keepsTexts ? new Array(this.places).fill(undefined) : undefined
    this.#highs = new Int32Array(keepsTexts ? 0 : this.places)
  }

  get isFull(): boolean {
    return this.count + 1 > FULLEST * this.places
  }

  get isSparse(): boolean {
    return this.places > SMALLEST && this.count < SPARSEST * this.places
  }

  /** Where the state of a place begins in `cells`. */
  offsetOf(place: number): number {
    return (place * this.#stride) / 2
  }

  isUsed(place: number): boolean {
    return this.#texts !== undefined ? this.#texts[place] !== undefined : this.#highs[place] !== 0
  }

  hashOf(place: number): number {
    return this.#wordOf(place, HASH)
  }

  untilOf(place: number): number {
    return this.#wordOf(place, UNTIL) >>> 0
  }

  setUntil(place: number, until: number): void {
    this.#setWord(place, UNTIL, until)
  }

  largeOf(place: number): Cells | undefined {
    return this.#large?.[place]
  }

  setLarge(place: number, cells: Cells | undefined): void {
    if (cells !== undefined) this.#large ??= new Array(this.places).fill(undefined)
    if (this.#large !== undefined) this.#large[place] = cells
  }

  /** The place of a key; -1: it has none. */
  find(key: string, low: number, high: number): number {
    const words = this.#words
    const texts = this.#texts
    const highs = this.#highs
    const { places } = this
    let place = ((low >>> 16) * places) >>> 16
    let at = place * this.#stride + this.#width + HASH
    // Who is there is read before the hash is compared: it lies elsewhere, so that memory is asked
    // for both at once.
    for (;;) {
      if (texts !== undefined) {
        const text = texts[place]
        if (text === undefined) return -1
        if (words[at] === low && text === key) return place
      } else {
        const half = highs[place]
        if (half === 0) return -1
        if (half === high && words[at] === low) return place
      }
      place += 1
      at += this.#stride
      if (place === places) {
        place = 0
        at = this.#width + HASH
      }
    }
  }

  /** A place for a key that has none. Its numbers are what they happen to be. */
  add(key: string, low: number, high: number): number {
    const place = this.#newPlace(low)
    this.#setWord(place, HASH, low)
    if (this.#texts !== undefined) this.#texts[place] = key
    else this.#highs[place] = high
    return place
  }

  /** Takes over an entry of another segment. */
  take(from: Segment, place: number): void {
    this.#copy(from, place, this.#newPlace(from.hashOf(place)))
  }

  remove(place: number): void {
    let hole = place
    // An entry behind the hole goes into it, unless its search begins behind the hole (Knuth's
    // algorithm R).
    for (let next = this.#after(hole); this.isUsed(next); next = this.#after(next)) {
      const home = this.#homeOf(this.hashOf(next))
      const reaches = hole <= next ? home <= hole || home > next : home <= hole && home > next
      if (!reaches) continue
      this.#copy(this, next, hole)
      hole = next
    }
    if (this.#texts !== undefined) this.#texts[hole] = undefined
    else this.#highs[hole] = 0
    this.setLarge(hole, undefined)
    this.count -= 1
  }

  /** Where the search for a hash begins. Its upper half tells: the lower bits chose the segment. */
  #homeOf(low: number): number {
    return ((low >>> 16) * this.places) >>> 16
  }

  #after(place: number): number {
    return place + 1 === this.places ? 0 : place + 1
  }

  #newPlace(low: number): number {
    let place = this.#homeOf(low)
    while (this.isUsed(place)) place = this.#after(place)
    this.count += 1
    return place
  }

  #setWord(place: number, word: number, value: number): void {
    this.#words[place * this.#stride + this.#width + word] = value
  }

  #wordOf(place: number, word: number): number {
    return this.#words[place * this.#stride + this.#width + word] as number
  }

  #copy(from: Segment, place: number, to: number): void {
    const source = from.offsetOf(place)
    const target = this.offsetOf(to)
    for (let i = 0; 2 * i < this.#width; i += 1)
      this.cells[target + i] = from.cells[source + i] as number
    // As numbers they would not survive if they look like NaN.
    this.#setWord(to, HASH, from.#wordOf(place, HASH))
    this.#setWord(to, UNTIL, from.#wordOf(place, UNTIL))
    if (this.#texts !== undefined) this.#texts[to] = from.#texts?.[place]
    else this.#highs[to] = from.#highs[place] as number
    this.setLarge(to, from.largeOf(place))
  }
}
