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
import { type Form, Segment } from './segment.js'

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
  #lastKey = ''
  #lastSlot = -1

  constructor(form: Form) {
    this.#form = form
    this.#segments = [new Segment(form, 0)]
  }

  /** The slot of a key; -1: it has none. */
  find(key: string): number {
    // The same key again, as of whoever is about to be refused: then there is nothing to work out.
    if (this.#lastSlot >= 0 && key === this.#lastKey) return this.#lastSlot
    const { keepsTexts } = this.#form
    const text = keepsTexts && key.length > LONGEST ? shortName(key) : key
    keyHash.hash(text)
    const index = this.#indexOf(keyHash.low)
    const place = this.#at(index).find(text, keyHash.low, keyHash.high)
    if (place < 0) return -1
    const slot = (index << PLACE_BITS) | place
    if (keepsTexts) {
      this.#lastKey = text
      this.#lastSlot = slot
    }
    return slot
  }

  cellsOf(slot: number): Cells {
    return this.#segmentOf(slot).cells
  }

  offsetOf(slot: number): number {
    return this.#segmentOf(slot).offsetOf(slot & PLACE)
  }

  untilOf(slot: number): number {
    return this.#segmentOf(slot).untilOf(slot & PLACE)
  }

  setUntil(slot: number, until: number): void {
    this.#segmentOf(slot).setUntil(slot & PLACE, until)
  }

  largeOf(slot: number): Cells | undefined {
    return this.#segmentOf(slot).largeOf(slot & PLACE)
  }

  setLarge(slot: number, cells: Cells | undefined): void {
    this.#segmentOf(slot).setLarge(slot & PLACE, cells)
  }

  /** A slot for a key that has none. Its numbers are what they happen to be. */
  add(key: string): number {
    this.#lastSlot = -1
    if (this.count >= ENTRIES * this.#segments.length) this.#split()
    const text = this.#form.keepsTexts ? shortName(key) : key
    keyHash.hash(text)
    const { low, high } = keyHash
    const index = this.#indexOf(low)
    if (this.#at(index).isFull) this.#rebuild(index)
    this.count += 1
    return (index << PLACE_BITS) | this.#at(index).add(text, low, high)
  }

  remove(slot: number): void {
    this.#lastSlot = -1
    const segment = this.#segmentOf(slot)
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
    this.#lastSlot = -1
    this.#lastKey = ''
    this.#segments = [new Segment(this.#form, 0)]
    this.#mask = 0
    this.#walkSegment = 0
    this.#walkPlace = 0
  }

  #segmentOf(slot: number): Segment {
    return this.#at(slot >> PLACE_BITS)
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
