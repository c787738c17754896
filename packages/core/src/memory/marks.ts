// Marks: when keys were last forgotten on purpose, and when units were last given back to them. A
// mark is kept as long as units charged before it still count, as a receipt from before must not
// give back the units of others. In Redis each key has its own mark, which expires. Here the number
// of marks is bounded: a mark that makes room for another then holds for all keys without a mark,
// and units charged before it are given back to none of these keys.

import { FORGOTTEN_MS, type Mark, type Marks } from '../algorithms/driver.js'
import { isOver, States, untilAt } from './states.js'

/** There is always room for this many marks. */
const LEAST = 10_000
/** How many marks are looked at to find the one that matters least. */
const CANDIDATES = 8

// A mark is the numbers of `Mark`; NaN: there is no base.
const FORGOTTEN = 0
const GAVE = 1
const BASE = 2
const BEGUN = 3
const WIDTH = 4

export interface MarkBounds {
  readonly maxKeys: number
  /** How long a mark is kept after it has ceased to matter. */
  readonly slackMs: number
}

/** The marks of all of a store's tables, found by a hash of the key, as there may be many
 *  tables. */
export class KeyMarks {
  readonly #slackMs: number
  readonly #most: number
  readonly states: States
  /** The latest times of the marks that made room. */
  readonly #others: Mark = { forgottenUs: 0, gaveUs: 0 }
  /** The mark that was found last. */
  readonly #found: Mark = { forgottenUs: 0, gaveUs: 0, base: undefined, begunUs: undefined }

  constructor({ maxKeys, slackMs }: MarkBounds) {
    this.#slackMs = slackMs
    this.#most = Math.max(maxKeys, LEAST)
    this.states = new States({ width: WIDTH, maxKeys: this.#most, keepsTexts: false })
  }

  /** @param id the table's id */
  ofTable(id: string): Marks {
    return {
      of: (key) => this.of(`${id} ${key}`),
      set: (key, mark, nowMs, lifeMs) => this.set(`${id} ${key}`, mark, nowMs, lifeMs),
    }
  }

  of(key: string): Mark {
    const { states } = this
    // Most stores never have a mark.
    if (states.count === 0 || states.find(key) < 0) return this.#others
    const found = this.#found
    found.forgottenUs = states.cells[states.offset + FORGOTTEN] as number
    found.gaveUs = states.cells[states.offset + GAVE] as number
    const base = states.cells[states.offset + BASE] as number
    found.base = Number.isNaN(base) ? undefined : base
    found.begunUs = states.cells[states.offset + BEGUN]
    return found
  }

  set(key: string, mark: Mark, nowMs: number, lifeMs: number): void {
    const { forgottenUs, gaveUs, base = Number.NaN, begunUs = 0 } = mark
    const { states } = this
    const known = this.of(key)
    // As in Redis, where the clock has stepped back, the refund made last counts, not the one with
    // the latest time.
    const latest = {
      forgottenUs: Math.max(known.forgottenUs, forgottenUs),
      gaveUs: gaveUs === 0 ? known.gaveUs : gaveUs,
    }
    let until = untilAt(nowMs + lifeMs + this.#slackMs)
    const slot = states.find(key)
    if (slot >= 0) until = Math.max(until, states.untilOf(slot))
    else {
      this.#makeRoom(nowMs)
      states.add(key)
    }
    states.cells[states.offset + FORGOTTEN] = latest.forgottenUs
    states.cells[states.offset + GAVE] = latest.gaveUs
    states.cells[states.offset + BASE] = base
    states.cells[states.offset + BEGUN] = begunUs
    states.keep(until, undefined)
  }

  #makeRoom(nowMs: number): void {
    const { states } = this
    states.sweep(nowMs, 2, 2)
    while (states.count >= this.#most) {
      let oldest = -1
      let oldestUs = Number.POSITIVE_INFINITY
      for (let step = 0; step < CANDIDATES; step += 1) {
        const slot = states.walk()
        if (slot < 0) continue
        states.select(slot)
        const atUs = isOver(states.untilOf(slot), nowMs) ? 0 : latestOf(states)
        if (atUs < oldestUs) oldest = slot
        oldestUs = Math.min(atUs, oldestUs)
      }
      if (oldest >= 0) this.#merge(oldest, oldestUs)
    }
  }

  #merge(slot: number, atUs: number): void {
    const { states } = this
    states.select(slot)
    const { cells, offset } = states
    const others = this.#others
    if (atUs > 0) {
      others.forgottenUs = Math.max(others.forgottenUs, cells[offset + FORGOTTEN] as number)
      others.gaveUs = Math.max(others.gaveUs, cells[offset + GAVE] as number)
    }
    states.remove(slot)
  }
}

/**
 * Marks a key as forgotten on purpose.
 * @param lifeMs how long units charged before still count
 */
export function forget(marks: Marks, key: string, nowUs: number, lifeMs: number): void {
  const mark = { forgottenUs: nowUs, gaveUs: nowUs }
  marks.set(key, mark, nowUs / 1_000, Math.max(lifeMs, FORGOTTEN_MS))
}

function latestOf({ cells, offset }: States): number {
  return Math.max(cells[offset + FORGOTTEN] as number, cells[offset + GAVE] as number)
}
