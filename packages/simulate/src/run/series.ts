// Requests and refusals over time, in a limited number of steps: before there are more, each two
// become one.

/** The requests in a step of time, and how many of them were refused. */
export interface Step {
  /** When the step begins, in us since 1970. */
  readonly fromUs: number
  readonly requests: number
  readonly refused: number
}

const MOST_STEPS = 240
const SHORTEST_US = 1_000_000

export class Series {
  #stepUs = SHORTEST_US
  #startUs: number | undefined
  readonly #requests: Float64Array = new Float64Array(MOST_STEPS)
  readonly #refused: Float64Array = new Float64Array(MOST_STEPS)
  #count = 0

  add(timeUs: number, isRefused: boolean): void {
    this.#startUs ??= Math.floor(timeUs / SHORTEST_US) * SHORTEST_US
    // The first step also counts requests dated before the beginning, by a clock that went back.
    let place = Math.max(0, Math.floor((timeUs - this.#startUs) / this.#stepUs))
    while (place >= MOST_STEPS) {
      this.#halve()
      place = Math.floor((timeUs - this.#startUs) / this.#stepUs)
    }
    this.#count = Math.max(this.#count, place + 1)
    this.#requests[place] = (this.#requests[place] as number) + 1
    if (isRefused) this.#refused[place] = (this.#refused[place] as number) + 1
  }

  get steps(): readonly Step[] {
    const startUs = this.#startUs ?? 0
    return Array.from({ length: this.#count }, (_, i) => ({
      fromUs: startUs + i * this.#stepUs,
      requests: this.#requests[i] as number,
      refused: this.#refused[i] as number,
    }))
  }

  #halve(): void {
    for (const counts of [this.#requests, this.#refused]) {
      for (let i = 0; i < MOST_STEPS; i += 1) {
        const j = 2 * i
        counts[i] = j < MOST_STEPS ? (counts[j] as number) + (counts[j + 1] as number) : 0
      }
    }
    this.#stepUs *= 2
    this.#count = Math.ceil(this.#count / 2)
  }
}
