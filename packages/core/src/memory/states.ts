// All states of one policy: keys to slots, slots to numbers. No object and no timer per key.
//
// They lie in many small hash tables, the segments, each of which grows and shrinks by itself. So
// no call ever waits until a large table has been built anew: V8's Map does that, and at a million
// keys it takes tens of milliseconds. Part of a key's hash says which segment it belongs to,
// another part where its search begins there. How many segments there may be follows from the most
// keys that the table may hold; one without keys takes nothing. A slot is a number that names a
// segment and a place in it, until the next key is added or removed.

import type { Cells } from '../algorithms/algorithm.js'
import { EPOCH_MS } from '../base/clock.js'
import { keyHash, shortName } from '../base/key-hash.js'

/** Entries that a segment has when the table is full: moving them takes less than a ms. */
const ENTRIES = 8_192
const PLACE_BITS = 14
const PLACE = 2 ** PLACE_BITS - 1
/** How many places a step of a walk passes over to find one in use. */
const PASSES = 64
/** Slots keep the end of a state in 32 bits: that is 34 years of these. */
const TICK_MS = 256
const LAST_TICK = 2 ** 32 - 1

/** When a state ends, as slots keep it. Rounded up: it may be kept longer than it matters, never
 *  shorter. */
export function untilAt(endMs: number): number {
  return Math.min(Math.ceil((endMs - EPOCH_MS) / TICK_MS), LAST_TICK)
}

/** The time at which a slot's state ends. */
export function endMsOf(until: number): number {
  return until * TICK_MS + EPOCH_MS
}

export function isOver(until: number, nowMs: number): boolean {
  return endMsOf(until) <= nowMs
}

/** How states look, and how many there may be. */
export interface Form {
  /** How many numbers there is room for; a state that has more is kept in an array of its own. */
  readonly width: number
  /** Whether the text of a key is kept, and not only its hash. */
  readonly keepsTexts: boolean
  readonly maxKeys: number
}

export class States {
  count = 0
  /** The slot that is selected: that of the key that was looked up or added last. */
  slot = -1
  /** Its state: the numbers, from `offset` on; or an array of its own. */
  cells: Cells
  offset = 0
  large: Cells | undefined
  readonly #form: Form
  readonly #segments: (Segment | undefined)[]
  #selected: Segment
  #lastKey: string | undefined
  /** Where a walk is: it goes downwards, so that what moves when an entry is removed was passed
   *  already. */
  #walkSegment = 0
  #walkPlace = 0

  constructor(form: Form) {
    this.#form = form
    this.#segments = new Array(Math.ceil(form.maxKeys / ENTRIES)).fill(undefined)
    this.#selected = new Segment(form, 0)
    this.cells = this.#selected.cells
  }

  /** Of the tables and of states with arrays of their own, without the texts of keys. */
  get bytes(): number {
    let bytes = 0
    for (const segment of this.#segments) bytes += segment?.bytes ?? 0
    return bytes
  }

  /** Selects the slot of a key, and returns it; -1: it has none. */
  find(key: string): number {
    // The same key again, as of whoever is about to be refused: then there is nothing to work out.
    if (this.slot >= 0 && key === this.#lastKey) return this.slot
    const owner = this.#ownerOf(key)
    const slot = this.findOwner(owner, keyHash.low)
    if (slot >= 0 && typeof owner === 'string') this.#lastKey = owner
    return slot
  }

  /** `find` for those who hash for themselves. */
  findOwner(owner: Owner, low: number): number {
    const index = this.#indexOf(low)
    const place = this.#segments[index]?.find(owner, low) ?? -1
    if (place < 0) return -1
    this.select((index << PLACE_BITS) | place)
    return this.slot
  }

  select(slot: number): void {
    const segment = this.#at(slot)
    this.slot = slot
    this.cells = segment.cells
    this.offset = segment.offsetOf(slot & PLACE)
    this.large = segment.large?.[slot & PLACE]
    this.#selected = segment
    this.#lastKey = undefined
  }

  untilOf(slot: number): number {
    return this.#at(slot).wordOf(slot & PLACE, UNTIL) >>> 0
  }

  /** Says of the slot that is selected when its state ends, and if it has an array of its own. */
  keep(until: number, large: Cells | undefined): void {
    this.#selected.setWord(this.slot & PLACE, UNTIL, until)
    if (large !== this.large) this.#selected.setLarge(this.slot & PLACE, large)
    this.large = large
  }

  /** Selects a slot for a key that has none. Its numbers are what they happen to be. */
  add(key: string): void {
    this.addOwner(this.#ownerOf(key), keyHash.low)
  }

  /** `add` for those who hash for themselves. */
  addOwner(owner: Owner, low: number): void {
    const index = this.#indexOf(low)
    let segment = this.#segments[index] ?? new Segment(this.#form, 0)
    if (segment.count + 1 > FULLEST * segment.places) segment = segment.resized()
    this.#segments[index] = segment
    this.count += 1
    this.select((index << PLACE_BITS) | segment.add(owner, low))
  }

  remove(slot: number): void {
    this.slot = -1
    this.count -= 1
    const index = slot >> PLACE_BITS
    const segment = this.#at(slot)
    segment.remove(slot & PLACE)
    if (segment.count === 0) this.#segments[index] = undefined
    else if (segment.count < SPARSEST * (segment.places - SMALLEST))
      this.#segments[index] = segment.resized()
  }

  /** The next slot of an endless walk through all keys; -1: not found yet. */
  walk(): number {
    const segments = this.#segments
    for (let pass = 0; pass < PASSES; pass += 1) {
      for (let left = segments.length; left > 0 && this.#walkPlace <= 0; left -= 1) {
        this.#walkSegment = (this.#walkSegment || segments.length) - 1
        this.#walkPlace = segments[this.#walkSegment]?.places ?? 0
      }
      const segment = segments[this.#walkSegment]
      this.#walkPlace = Math.min(this.#walkPlace, segment?.places ?? 1) - 1
      if (segment?.isUsed(this.#walkPlace))
        return (this.#walkSegment << PLACE_BITS) | this.#walkPlace
    }
    return -1
  }

  /** Looks at the next `looks` keys and drops those that are over, `most` at the most. Returns how
   *  many those were. */
  sweep(nowMs: number, looks: number, most: number): number {
    let dropped = 0
    for (let look = 0; look < looks && dropped < most && this.count > 0; look += 1) {
      const slot = this.walk()
      if (slot < 0 || !isOver(this.untilOf(slot), nowMs)) continue
      this.remove(slot)
      dropped += 1
    }
    return dropped
  }

  /** Works out the hash of a key, and returns what tells its entry from others of that hash. */
  #ownerOf(key: string): Owner {
    const { keepsTexts } = this.#form
    const text = keepsTexts ? shortName(key) : key
    keyHash.hash(text)
    return keepsTexts ? text : keyHash.high
  }

  #indexOf(low: number): number {
    return ((low & 0xffff) * this.#segments.length) >>> 16
  }

  #at(slot: number): Segment {
    return this.#segments[slot >> PLACE_BITS] as Segment
  }
}

// A small hash table of states, by open addressing with linear probing (D. Knuth, The Art of
// Computer Programming 3, 6.4, algorithms L and R). The numbers of a state lie where its key is
// found, so that a decision touches little memory: among a million keys, waiting for memory is most
// of what it takes. Its size is fixed: the entries of one that became too small, or too large, move
// to another.

const SMALLEST = 16
/**
 * Of the places as many are in use when it is new, at the most, and at the least: searches stay
 * short.
 */
const NEW = 0.65
const FULLEST = 0.84
const SPARSEST = 0.3

// An entry is two words of 32 bits, half of the hash of its key and when it stops to matter, and
// then the numbers of a state.
const HASH = 0
const UNTIL = 1
const WORDS = 2

/** Bytes of a reference to a text. */
const POINTER = 8

/** The text of a key, or the other half of its hash, which is not 0. */
type Owner = string | number

class Segment {
  count = 0
  readonly places: number = 0
  readonly cells: Cells
  /** States that have more numbers than there is room for; undefined: there are none. */
  large: (Cells | undefined)[] | undefined
  readonly #form: Form
  /** The same memory as `cells`, as words. */
  readonly #words: Int32Array
  /** Words from one entry to the next. */
  readonly #stride: number = 0
  /** Whose the entries are; undefined or 0 in an empty place. */
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

  wordOf(place: number, word: number): number {
    return this.#words[place * this.#stride + word] as number
  }

  setWord(place: number, word: number, value: number): void {
    this.#words[place * this.#stride + word] = value
  }

  setLarge(place: number, cells: Cells | undefined): void {
    if (cells !== undefined) this.large ??= new Array(this.places).fill(undefined)
    if (this.large !== undefined) this.large[place] = cells
  }

  /** The place of an owner; -1: he has none. */
  find(owner: Owner, low: number): number {
    const words = this.#words
    const owners = this.#owners
    for (let place = this.#homeOf(low); ; place = this.#after(place)) {
      // Read before the hash is compared: it lies elsewhere, so that memory is asked for both at
      // once.
      const known = owners[place]
      if (words[place * this.#stride + HASH] === low && known === owner) return place
      if (!this.#isOwner(known)) return -1
    }
  }

  /** A place for an owner who has none. Its numbers are what they happen to be. */
  add(owner: Owner, low: number): number {
    let place = this.#homeOf(low)
    while (this.isUsed(place)) place = this.#after(place)
    this.count += 1
    this.#owners[place] = owner
    this.setWord(place, HASH, low)
    return place
  }

  remove(place: number): void {
    let hole = place
    // An entry behind the hole goes into it, unless its search begins behind the hole (Knuth's
    // algorithm R).
    for (let next = this.#after(hole); this.isUsed(next); next = this.#after(next)) {
      const home = this.#homeOf(this.wordOf(next, HASH))
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
    for (let place = 0; place < this.places; place += 1) {
      if (!this.isUsed(place)) continue
      const owner = this.#owners[place] as Owner
      other.#copy(this, place, other.add(owner, this.wordOf(place, HASH)))
    }
    return other
  }

  /** A text is not compared with 0: that would read it, which is one more wait for memory. */
  #isOwner(owner: Owner | undefined): boolean {
    return owner !== undefined && (this.#form.keepsTexts || owner !== 0)
  }

  /** Where the search for a hash begins. Its upper half tells: the lower one chose the segment. */
  #homeOf(low: number): number {
    return ((low >>> 16) * this.places) >>> 16
  }

  #after(place: number): number {
    return place + 1 === this.places ? 0 : place + 1
  }

  #copy(from: Segment, place: number, to: number): void {
    for (let word = 0; word < this.#stride; word += 1)
      this.setWord(to, word, from.wordOf(place, word))
    this.#owners[to] = from.#owners[place]
    this.setLarge(to, from.large?.[place])
  }
}
