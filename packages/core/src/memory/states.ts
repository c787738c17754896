// All states of one policy: finds slots by keys, and numbers by slots. No key has an object or a
// timer.
//
// The states lie in many small hash tables, the segments, which grow and shrink one by one. So no
// call ever waits while a large table is rebuilt. (V8's Map is rebuilt as a whole, which takes tens
// of milliseconds at a million keys.) One part of a key's hash says which segment the key belongs
// to, another where the search begins in that segment. The number of segments follows from the most
// keys that the table may hold; a segment without keys takes no memory. A slot is a number that
// names a segment and a place in it, until the next key is added or removed.

import type { Cells } from '../algorithms/algorithm.js'
import { EPOCH_MS } from '../base/clock.js'
import { keyHash, shortName } from '../base/key-hash.js'
import { type Form, type Owner, Segment } from './segment.js'

/** Entries that a segment has when the table is full: moving them takes less than a ms. */
const ENTRIES = 8_192
const PLACE_BITS = 14
const PLACE = 2 ** PLACE_BITS - 1
/** How many places one step of a walk looks at to find one in use. */
const PASSES = 64
/** Slots keep a state's end in 32 bits: 34 years of these ticks, to November 2059. */
const TICK_MS = 256
/** Beyond the ticks: such a state is not known to be over, and stays until it makes room. */
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
  return until < LAST_TICK && endMsOf(until) <= nowMs
}

export class States {
  count = 0
  /** The selected slot: that of the key that was looked up or added last. */
  slot = -1
  /** The state in that slot: the numbers from `offset` on, or an array of its own. */
  cells: Cells
  offset = 0
  large: Cells | undefined = undefined
  readonly #form: Form
  readonly #segments: (Segment | undefined)[]
  #selected: Segment
  #lastKey: string | undefined
  /** Where the walk is: it goes downwards, so that it has already passed the entries that move when
   *  one is removed. */
  #walkSegment = 0
  #walkPlace = 0

  constructor(form: Form) {
    this.#form = form
    this.#segments = new Array(Math.ceil(form.maxKeys / ENTRIES)).fill(undefined)
    this.#selected = new Segment(form, 0)
    this.cells = this.#selected.cells
  }

  /** Bytes of the tables and of states with arrays of their own, without the texts of keys. */
  get bytes(): number {
    let bytes = 0
    for (const segment of this.#segments) bytes += segment?.bytes ?? 0
    return bytes
  }

  /** Selects the slot of a key, and returns it; -1: it has none. */
  find(key: string): number {
    // The same key again, as from a client that is about to be refused: nothing has to be worked
    // out.
    if (this.slot >= 0 && key === this.#lastKey) return this.slot
    const owner = this.#ownerOf(key)
    const slot = this.findOwner(owner, keyHash.low)
    if (slot >= 0 && typeof owner === 'string') this.#lastKey = owner
    return slot
  }

  /** `find` for callers that hash for themselves. */
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
    return this.#at(slot).untilOf(slot & PLACE)
  }

  /** Sets when the selected slot's state ends, and its own array if it has one. */
  keep(until: number, large: Cells | undefined): void {
    this.#selected.setUntil(this.slot & PLACE, until)
    if (large !== this.large) this.#selected.setLarge(this.slot & PLACE, large)
    this.large = large
  }

  /** Selects a slot for a key that has none. Its numbers are whatever was there before. */
  add(key: string): void {
    this.addOwner(this.#ownerOf(key), keyHash.low)
  }

  /** `add` for callers that hash for themselves. */
  addOwner(owner: Owner, low: number): void {
    const index = this.#indexOf(low)
    let segment = this.#segments[index] ?? new Segment(this.#form, 0)
    if (segment.isFull) segment = segment.resized()
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
    else if (segment.isSparse) this.#segments[index] = segment.resized()
  }

  /** The next slot of an endless walk through all keys; -1: this step found none. */
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

  /** Looks at the next `looks` keys and drops those that are over, at most `most`. Returns how many
   *  it dropped. */
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

  /** Hashes a key, and returns what tells its entry from others with that hash. */
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
