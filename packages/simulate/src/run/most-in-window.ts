// The most units of one key that passed in any window, measured independently of what the kernels
// count: all requests that passed in the last window, and each key's units among them.
//
// A window excludes its end: no minute holds both 0 s and 60 s. A window in which the clock goes
// back does not count: the measure begins anew there.
//
// There is room for a fixed number of passed requests. If more fall into a window, the keys with
// the fewest requests in it are measured no further.

import { Counts } from './key-table.js'

/** How many passed requests there is room for, at 20 bytes each. */
const MOST = 2 ** 20

export interface Most {
  readonly units: number
  readonly key: number
  /** When the window with these units ends. */
  readonly at: number
}

const LEFT_OUT = -1

export class MostInWindow {
  most: Most | undefined
  /** Keys that are measured no further. */
  leftOut = 0
  readonly #span: number
  readonly #room: number
  readonly #units: Counts = new Counts()
  // A ring of the requests that passed, the oldest first.
  #times: Float64Array = new Float64Array(64)
  #keys: Int32Array = new Int32Array(64)
  #costs: Float64Array = new Float64Array(64)
  #first = 0
  #count = 0
  #now = Number.NEGATIVE_INFINITY

  /** @param span a window's length, in the unit of the times that `pass` is given */
  constructor(span: number, room: number = MOST) {
    this.#span = span
    this.#room = room
  }

  /** Counts units of a key that passed at a time no earlier than the last call's. */
  pass(key: number, units: number, at: number): void {
    if (units === 0) return
    this.#now = at
    this.#forget()
    const known = this.#units.of(key)
    if (known === LEFT_OUT) return
    if (!this.#push(key, units)) return
    const inWindow = known + units
    this.#units.set(key, inWindow)
    if (inWindow > (this.most?.units ?? 0)) this.most = { units: inWindow, key, at: this.#now }
  }

  #forget(): void {
    while (this.#count > 0 && (this.#times[this.#first] as number) + this.#span <= this.#now) {
      const key = this.#keys[this.#first] as number
      const units = this.#units.of(key)
      if (units !== LEFT_OUT) this.#units.set(key, units - (this.#costs[this.#first] as number))
      this.#first = (this.#first + 1) % this.#times.length
      this.#count -= 1
    }
  }

  /** Returns whether the key is measured. */
  #push(key: number, units: number): boolean {
    const last = this.#placeOf(this.#count - 1)
    if (this.#count > 0 && this.#keys[last] === key && this.#times[last] === this.#now) {
      this.#costs[last] = (this.#costs[last] as number) + units
      return true
    }
    if (this.#count === this.#times.length) {
      if (this.#count >= this.#room) this.#leaveOut()
      else this.#move(2 * this.#times.length, () => true)
      if (this.#units.of(key) === LEFT_OUT) return false
    }
    const place = this.#placeOf(this.#count)
    this.#times[place] = this.#now
    this.#keys[place] = key
    this.#costs[place] = units
    this.#count += 1
    return true
  }

  #placeOf(index: number): number {
    return (this.#first + index + this.#times.length) % this.#times.length
  }

  /** Makes room: keeps the keys with the most requests in the window, up to half of the room. */
  #leaveOut(): void {
    const requests = new Map<number, number>()
    for (let i = 0; i < this.#count; i += 1) {
      const key = this.#keys[this.#placeOf(i)] as number
      requests.set(key, (requests.get(key) ?? 0) + 1)
    }
    const kept = new Set<number>()
    let sum = 0
    for (const [key, count] of [...requests].sort(([, one], [, other]) => other - one)) {
      sum += count
      if (sum <= this.#room / 2) kept.add(key)
      else if (this.#units.of(key) !== LEFT_OUT) {
        this.#units.set(key, LEFT_OUT)
        this.leftOut += 1
      }
    }
    this.#move(this.#times.length, (key) => kept.has(key))
  }

  /** Moves the ring to the beginning of new arrays. */
  #move(length: number, isKept: (key: number) => boolean): void {
    const times = new Float64Array(length)
    const keys = new Int32Array(length)
    const costs = new Float64Array(length)
    let count = 0
    for (let i = 0; i < this.#count; i += 1) {
      const place = this.#placeOf(i)
      if (!isKept(this.#keys[place] as number)) continue
      times[count] = this.#times[place] as number
      keys[count] = this.#keys[place] as number
      costs[count] = this.#costs[place] as number
      count += 1
    }
    this.#times = times
    this.#keys = keys
    this.#costs = costs
    this.#first = 0
    this.#count = count
  }

  /** The clock has gone back. */
  beginAnew(): void {
    for (let i = 0; i < this.#count; i += 1) {
      const key = this.#keys[this.#placeOf(i)] as number
      if (this.#units.of(key) !== LEFT_OUT) this.#units.set(key, 0)
    }
    this.#first = 0
    this.#count = 0
    this.#now = Number.NEGATIVE_INFINITY
  }
}

/** The most units of one key that passed in any one period of a calendar. */
export class MostInPeriod {
  most: Most | undefined
  readonly leftOut = 0
  readonly #startOf: (atMs: number) => number
  readonly #units: Counts = new Counts()
  /** The start of the period that each key's units belong to. */
  readonly #starts: Counts = new Counts()

  /** @param startOf returns the start, in ms, of the period in which a time lies */
  constructor(startOf: (atMs: number) => number) {
    this.#startOf = startOf
  }

  pass(key: number, units: number, at: number): void {
    const start = this.#startOf(at)
    const inPeriod = units + (this.#starts.of(key) === start ? this.#units.of(key) : 0)
    this.#starts.set(key, start)
    this.#units.set(key, inPeriod)
    if (inPeriod > (this.most?.units ?? 0)) this.most = { units: inPeriod, key, at }
  }

  /** The clock has gone back. Nothing to do: each time belongs to its own period. */
  beginAnew(): void {}
}
