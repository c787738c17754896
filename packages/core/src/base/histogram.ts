// A histogram of durations: plain numbers, so that recording allocates nothing.

/** A histogram: how many values fell into each bucket, and their sum. */
export interface HistogramStats {
  /** Upper bounds of the buckets, in seconds, ascending. */
  readonly bounds: readonly number[]
  /** How many values each bucket has: those up to its bound and above the one before. There is one
   *  more count than bounds: the last is for values above all bounds. */
  readonly counts: readonly number[]
  /** The sum of all values, in seconds. */
  readonly sum: number
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  /** @param bounds ascending, in seconds */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  record(ms: number): void {
    const seconds = ms / 1_000
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#sum += seconds
  }

  stats(): HistogramStats {
    return { bounds: [...this.#bounds], counts: [...this.#counts], sum: this.#sum }
  }
}
