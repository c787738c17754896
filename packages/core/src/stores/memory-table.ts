// The states of one policy: keys to slots, slots to numbers. No object and no timer per key.

import type { Table } from '../kernels/driver.js'
import type { Cells, Check, Kernel } from '../kernels/kernel.js'
import { Recent } from './recent.js'

const SMALLEST = 16
const NO_CELLS: Cells = new Float64Array(0)
/** Newcomers share this key when all others are exhausted. Users' keys are never empty. */
const OVERFLOW = ''
/** How many keys are looked at to find the one that was used least. */
const CANDIDATES = 8
/** How many keys are remembered as forgotten on purpose. */
const MAX_FORGOTTEN = 10_000

export interface Bounds {
  readonly maxKeys: number
  /** How much longer than it matters a state is kept. */
  readonly slackMs: number
}

export class MemoryTable implements Table {
  readonly #kernel: Kernel
  /** For looking at keys that nobody asked about. */
  readonly #probe: Check
  readonly #bounds: Bounds
  readonly #slots: Map<string, number> = new Map()
  #keys: (string | undefined)[] = []
  /** States of a fixed width, side by side; or, of varying width, an array for each slot. */
  #cells: Cells = NO_CELLS
  #ownCells: Cells[] = []
  /** When a slot's state stops to matter. */
  #expiresMs: Cells = NO_CELLS
  #free: number[] = []
  #hand = 0
  /** Who makes room if the newcomer that was just looked up is written; -1: nobody. */
  #victim = -1
  readonly #forgotten: Recent<number> = new Recent(MAX_FORGOTTEN)

  constructor(kernel: Kernel, probe: Check, bounds: Bounds) {
    this.#kernel = kernel
    this.#probe = probe
    this.#bounds = bounds
  }

  get size(): number {
    return this.#slots.size
  }

  slotOf(key: string, nowUs: number): number {
    const slot = this.#slots.get(key)
    if (slot !== undefined) return slot
    this.#victim = -1
    if (this.#slots.size < this.#bounds.maxKeys) return -1
    this.#victim = this.#findVictim(nowUs)
    return this.#victim >= 0 ? -1 : (this.#slots.get(OVERFLOW) ?? -1)
  }

  cellsOf(slot: number): Cells {
    return this.#kernel.width === 0 ? (this.#ownCells[slot] as Cells) : this.#cells
  }

  offsetOf(slot: number): number {
    return slot * this.#kernel.width
  }

  write(key: string, known: number, kernel: Kernel, check: Check, nowMs: number, resetMs: number): void {
    const slot = known >= 0 ? known : this.#newSlot(key)
    if (kernel.width === 0) this.#ownCells[slot] = kernel.write(check, this.#ownCells[slot] ?? NO_CELLS, 0)
    else kernel.write(check, this.#cells, slot * kernel.width)
    this.#expiresMs[slot] = nowMs + resetMs + this.#bounds.slackMs
    if (known < 0) this.sweep(nowMs, 2)
  }

  remove(_key: string, slot: number): void {
    this.#slots.delete(this.#keys[slot] as string)
    this.#keys[slot] = undefined
    if (this.#kernel.width === 0) this.#ownCells[slot] = NO_CELLS
    this.#free.push(slot)
    if (this.#slots.size === 0) this.clear()
  }

  forget(key: string, slot: number, nowUs: number): void {
    this.#forgotten.set(key, nowUs)
    this.remove(key, slot)
  }

  forgottenUs(key: string): number | undefined {
    return this.#forgotten.isEmpty ? undefined : this.#forgotten.get(key)
  }

  /** Forgets a key, whether it is known or not. */
  reset(key: string, nowUs: number): void {
    this.#forgotten.set(key, nowUs)
    const slot = this.#slots.get(key)
    if (slot !== undefined) this.remove(key, slot)
  }

  /** Drops the expired ones of the next `steps` slots. */
  sweep(nowMs: number, steps: number): void {
    for (let step = 0; step < steps && this.#keys.length > 0; step += 1) {
      this.#hand = this.#hand + 1 < this.#keys.length ? this.#hand + 1 : 0
      const key = this.#keys[this.#hand]
      if (key !== undefined && (this.#expiresMs[this.#hand] as number) <= nowMs) this.remove(key, this.#hand)
    }
  }

  clear(): void {
    this.#slots.clear()
    this.#keys = []
    this.#cells = NO_CELLS
    this.#ownCells = []
    this.#expiresMs = NO_CELLS
    this.#free = []
    this.#hand = 0
  }

  #newSlot(key: string): number {
    if (this.#victim >= 0) this.remove(this.#keys[this.#victim] as string, this.#victim)
    const full = this.#slots.size >= this.#bounds.maxKeys
    const slot = this.#free.pop() ?? this.#keys.length
    if (slot === this.#expiresMs.length) this.#grow()
    const name = full ? OVERFLOW : key
    this.#slots.set(name, slot)
    this.#keys[slot] = name
    return slot
  }

  #grow(): void {
    const slots = Math.max(SMALLEST, 2 * this.#expiresMs.length)
    this.#expiresMs = copied(this.#expiresMs, slots)
    this.#cells = copied(this.#cells, slots * this.#kernel.width)
  }

  /**
   * The slot of a key that may make room for another: of the next few keys the first that expired, else the one with the
   * most left; -1: none. An exhausted key stays, so nobody can wash away his own count by making up keys.
   */
  #findVictim(nowUs: number): number {
    let victim = -1
    let most = 0
    for (let step = 0; step < CANDIDATES; step += 1) {
      this.#hand = this.#hand + 1 < this.#keys.length ? this.#hand + 1 : 0
      const slot = this.#hand
      if (this.#keys[slot] === undefined || this.#keys[slot] === OVERFLOW) continue
      const expired = (this.#expiresMs[slot] as number) * 1_000 <= nowUs
      const left = expired ? Number.POSITIVE_INFINITY : this.#leftOf(slot, nowUs)
      if (left > most) {
        victim = slot
        most = left
      }
    }
    return victim
  }

  #leftOf(slot: number, nowUs: number): number {
    return this.#kernel.read(this.#probe, this.cellsOf(slot), this.offsetOf(slot), nowUs)
  }
}

function copied(cells: Cells, length: number): Cells {
  const larger = new Float64Array(length)
  larger.set(cells)
  return larger
}
