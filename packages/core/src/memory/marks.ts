// When keys were last forgotten on purpose, and when units were last given back to them: for as
// long as what was charged before still counts, as a receipt from before must not give back the
// units of others. In Redis each key has a mark of its own that expires. Here their number is
// bounded: a mark that makes room for another then holds for all keys without one, and what was
// charged before it is given back to none of them.

import type { Mark, Marks } from '../algorithms/driver.js'
import { isOver, States, untilAt } from './states.js'

/** The fewest that there is room for. */
const LEAST = 10_000
/** How many are looked at to find the one that matters least. */
const CANDIDATES = 8

// A mark is two numbers, as Mark has them.
const FORGOTTEN = 0
const GAVE = 1
const WIDTH = 2

export interface MarkBounds {
  readonly maxKeys: number
  /** How much longer than it matters a mark is kept. */
  readonly slackMs: number
}

/** The marks of all tables of a store. By a hash of the key, as there may be many tables. */
export class KeyMarks {
  readonly #slackMs: number
  readonly #most: number
  readonly states: States
  /** Those that made room, the latest of each. */
  readonly #others: Mark = { forgottenUs: 0, gaveUs: 0 }
  /** What was found last. */
  readonly #found: Mark = { forgottenUs: 0, gaveUs: 0 }

  constructor({ maxKeys, slackMs }: MarkBounds) {
    this.#slackMs = slackMs
    this.#most = Math.max(maxKeys, LEAST)
    this.states = new States({ width: WIDTH, maxKeys: this.#most, keepsTexts: false })
  }

  /** @param id of the table */
  ofTable(id: string): Marks {
    return {
      of: (key) => this.of(`${id} ${key}`),
      set: (key, mark, nowMs, lifeMs) => this.set(`${id} ${key}`, mark, nowMs, lifeMs),
    }
  }

  of(key: string): Mark {
    const { states } = this
    // Most stores never have any.
    if (states.count === 0 || states.find(key) < 0) return this.#others
    const found = this.#found
    found.forgottenUs = states.cells[states.offset + FORGOTTEN] as number
    found.gaveUs = states.cells[states.offset + GAVE] as number
    return found
  }

  set(key: string, { forgottenUs, gaveUs }: Mark, nowMs: number, lifeMs: number): void {
    const { states } = this
    const known = this.of(key)
    // As in Redis, where the clock has stepped back the last refund counts, not the latest.
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

function latestOf({ cells, offset }: States): number {
  return Math.max(cells[offset + FORGOTTEN] as number, cells[offset + GAVE] as number)
}
