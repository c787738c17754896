// A log's entries, kept for a search to replay as often as it needs: 12 bytes each, 20 if the log
// has whole seconds, and 8 more if costs differ.

import { failed } from '../errors.js'
import { Counts } from '../run/key-table.js'

/** The most entries that are kept. */
const MOST = 2 ** 25
const BLOCK = 2 ** 16

export class Entries {
  count = 0
  /** Units of each key, in all of its entries. */
  readonly units: Counts = new Counts()
  readonly #most: number
  /** Times of the entries, for each run. */
  readonly #times: Float64Array[][]
  /** The last time of each run; NaN once its times have gone back. */
  readonly #lastUs: Float64Array
  readonly #keys: Int32Array[] = []
  /** Undefined: all cost 1. */
  #costs: Float64Array[] | undefined

  constructor(runs: number, most: number = MOST) {
    this.#most = most
    this.#times = Array.from({ length: runs }, () => [])
    this.#lastUs = new Float64Array(runs).fill(Number.NEGATIVE_INFINITY)
  }

  get areAllOne(): boolean {
    return this.#costs === undefined
  }

  /** Adds an entry, with its time in the first run. `setTime` gives its times in the other runs,
   *  before the next entry is added. */
  add(timeUs: number, key: number, cost: number): void {
    if (this.count >= this.#most) throw this.#tooMany()
    const block = Math.floor(this.count / BLOCK)
    const place = this.count % BLOCK
    if (place === 0) this.#addBlock()
    if (cost !== 1) this.#costs ??= this.#keys.map(() => new Float64Array(BLOCK).fill(1))
    ;(this.#keys[block] as Int32Array)[place] = key
    if (this.#costs !== undefined) (this.#costs[block] as Float64Array)[place] = cost
    this.units.add(key, cost)
    this.count += 1
    this.setTime(0, timeUs)
  }

  setTime(run: number, timeUs: number): void {
    const at = this.count - 1
    const block = this.#times[run]?.[Math.floor(at / BLOCK)] as Float64Array
    block[at % BLOCK] = timeUs
    const inOrder = timeUs >= (this.#lastUs[run] as number)
    this.#lastUs[run] = inOrder ? timeUs : Number.NaN
  }

  /** Whether the times of a run never go back. */
  isInOrder(run: number): boolean {
    return !Number.isNaN(this.#lastUs[run])
  }

  /** Calls back with each entry of a run, in the log's order. */
  each(run: number, call: (timeUs: number, key: number, cost: number) => void): void {
    for (let block = 0; block < this.#keys.length; block += 1) {
      const times = this.#times[run]?.[block] as Float64Array
      const keys = this.#keys[block] as Int32Array
      const costs = this.#costs?.[block]
      const count = Math.min(BLOCK, this.count - block * BLOCK)
      for (let i = 0; i < count; i += 1)
        call(times[i] as number, keys[i] as number, costs === undefined ? 1 : (costs[i] as number))
    }
  }

  #tooMany(): Error {
    const most = this.#most.toLocaleString('en-US')
    const what = `the log has more than ${most} requests, and a search keeps no more in memory`
    const right = 'one key in 16, with --sample 1/16 (sample: 16), or a part, with --from and --to'
    return failed('WEIR_LOG_UNREADABLE', `${what}; take ${right}`)
  }

  #addBlock(): void {
    for (const times of this.#times) times.push(new Float64Array(BLOCK))
    this.#keys.push(new Int32Array(BLOCK))
    this.#costs?.push(new Float64Array(BLOCK).fill(1))
  }
}
