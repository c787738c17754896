// One policy's counters in memory: a bounded number of states, and which key makes room when the
// bound is reached.

import {
  type Cells,
  type Kernel,
  lifeUsOf,
  type PolicyNumbers,
  type Scratch,
} from '../algorithms/algorithm.js'
import type { Marks, Table } from '../algorithms/driver.js'
import { forget } from './marks.js'
import { endMsOf, States, untilAt } from './states.js'

/** Newcomers share this key when all others are exhausted. Users' keys are never empty. */
const OVERFLOW = ''
/** How many keys are looked at to find the one that was used least. */
const CANDIDATES = 8
/** How many policies judge whether a key is exhausted: a policy's numbers may change under one
 *  name. */
const MAX_PROBES = 8
/**
 * The smallest log has room for two runs. While it has one, five numbers are kept; otherwise the
 * whole log.
 */
const SMALL_LOG = 7
const KEPT_OF_LOG = 5
/** Which number of a log says how many runs it has. */
const RUNS = 1

export interface Bounds {
  readonly maxKeys: number
  /** How long a state is kept after it has ceased to matter. */
  readonly slackMs: number
  readonly keys: 'exact' | 'fingerprint'
}

export class MemoryTable implements Table {
  readonly #kernel: Kernel
  readonly #bounds: Bounds
  readonly states: States
  /** For judging keys that nobody asked about: the policies with this name, or the last of them. */
  readonly #probes: { readonly numbers: PolicyNumbers; readonly scratch: Scratch }[] = []
  #nextProbe = 0
  /** Where the log that is being decided on is unpacked. */
  readonly #log: Cells
  /** The slot that makes room if the key that was just looked up is written; -1: none. */
  #victim = -1
  /** The victim's state is not over yet. */
  #isEviction = false
  readonly marks: Marks

  readonly #evictions: { count: number }

  /** @param evictions counts the keys that made room before their time */
  constructor(kernel: Kernel, bounds: Bounds, marks: Marks, evictions = { count: 0 }) {
    this.#evictions = evictions
    this.#kernel = kernel
    this.#bounds = bounds
    this.marks = marks
    const width = kernel.width === 0 ? KEPT_OF_LOG : kernel.width
    this.#log = new Float64Array(kernel.width === 0 ? SMALL_LOG : 0)
    const { keys, maxKeys } = bounds
    this.states = new States({ width, maxKeys, keepsTexts: keys === 'exact' })
  }

  /** Adds a policy's numbers to those that judge the states. */
  use(numbers: PolicyNumbers): void {
    if (this.#probes.some((probe) => probe.numbers.every((each, i) => each === numbers[i]))) return
    this.#probes[this.#nextProbe] = { numbers, scratch: this.#kernel.prepare(numbers) }
    this.#nextProbe = (this.#nextProbe + 1) % MAX_PROBES
  }

  read(scratch: Scratch, key: string, nowUs: number): number {
    const slot = this.#slotOf(key, nowUs)
    if (slot >= 0) this.#kernel.read(scratch, this.#cellsOf(), this.states.offset, nowUs)
    else this.#kernel.read(scratch, undefined, 0, nowUs)
    return slot
  }

  #slotOf(key: string, nowUs: number): number {
    const slot = this.states.find(key)
    if (slot >= 0) return slot
    this.#victim = -1
    if (this.states.count < this.#bounds.maxKeys) return -1
    const overflow = this.states.find(OVERFLOW)
    this.#victim = this.#findVictim(overflow, nowUs)
    if (this.#victim >= 0) return -1
    if (overflow >= 0) this.states.select(overflow)
    return overflow
  }

  /** The cells of the slot that was looked up last. */
  #cellsOf(): Cells {
    const { cells, offset, large } = this.states
    if (this.#kernel.width > 0) return cells
    if (large !== undefined) return large
    for (let i = 0; i < KEPT_OF_LOG; i += 1) this.#log[i] = cells[offset + i] as number
    return this.#log
  }

  write(scratch: Scratch, key: string, known: number, nowMs: number, resetMs: number): void {
    const kernel = this.#kernel
    const states = this.states
    if (known < 0) {
      if (this.#victim >= 0) {
        states.remove(this.#victim)
        if (this.#isEviction) this.#evictions.count += 1
      }
      const isFull = this.#victim < 0 && states.count >= this.#bounds.maxKeys
      states.add(isFull ? OVERFLOW : key)
    }
    const until = untilAt(nowMs + resetMs + this.#bounds.slackMs)
    if (kernel.width === 0) this.#writeLog(scratch, until)
    else {
      kernel.write(scratch, states.cells, states.offset)
      states.keep(until, undefined)
    }
    if (known < 0) states.sweep(nowMs, 2, 2)
  }

  #writeLog(scratch: Scratch, until: number): void {
    const { cells, offset } = this.states
    const log = this.#kernel.write(scratch, this.#log, 0)
    const isSmall = log[RUNS] === 1
    for (let i = 0; isSmall && i < KEPT_OF_LOG; i += 1) cells[offset + i] = log[i] as number
    this.states.keep(until, isSmall ? undefined : log === this.#log ? log.slice() : log)
  }

  remove(_key: string, slot: number): void {
    this.states.remove(slot)
  }

  /** Forgets a key on purpose. */
  reset(key: string, nowUs: number): void {
    const slot = this.states.find(key)
    const lifeMs = slot < 0 ? 0 : endMsOf(this.states.untilOf(slot)) - nowUs / 1_000
    forget(this.marks, key, nowUs, lifeMs)
    if (slot >= 0) this.remove(key, slot)
  }

  /**
   * The slot of a key that may make room for another: of the next few keys, the first that is over,
   * otherwise the one with the most left; -1: none. An exhausted key stays, so no client can clear
   * its own count by making up keys.
   */
  #findVictim(overflow: number, nowUs: number): number {
    let victim = -1
    let most = 0
    this.#isEviction = true
    for (let step = 0; step < CANDIDATES; step += 1) {
      const slot = this.states.walk()
      if (slot < 0 || slot === overflow) continue
      const left = this.#leftOf(slot, nowUs)
      if (left === Number.POSITIVE_INFINITY) {
        this.#isEviction = false
        return slot
      }
      if (left > most) {
        victim = slot
        most = left
      }
    }
    return victim
  }

  /** The units left under the strictest of the policies with this name; `Infinity`: the state is
   *  over for all of them. */
  #leftOf(slot: number, nowUs: number): number {
    let least = Number.POSITIVE_INFINITY
    this.states.select(slot)
    for (const { scratch } of this.#probes) {
      this.#kernel.read(scratch, this.#cellsOf(), this.states.offset, nowUs)
      const left = Math.max(0, scratch.limit - this.#kernel.used(scratch))
      if (left < least && lifeUsOf(this.#kernel, scratch) > 0) least = left
    }
    return least
  }
}
