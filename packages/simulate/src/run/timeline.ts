// A log's entries in the order of time, and the times at which they are decided on.

import type { RunReport, TimelineReport } from '../report.js'
import { keptRange } from './moved.js'
import { HELD_BACK, Reorder } from './reorder.js'
import { areWholeSeconds, Seconds } from './seconds.js'

interface Range {
  readonly fromUs: number | undefined
  readonly toUs: number | undefined
}

interface Taken<Payload> {
  /**
   * Called once, before anything is decided.
   * @param times one run, by the log's times; two, if those are whole seconds
   * @param typicalUs a time of the log
   */
  begin(times: readonly RunReport['times'][], typicalUs: number): void
  decide(run: number, timeUs: number, payload: Payload): void
}

export class Timeline<Payload> {
  readonly #range: Range
  readonly #taken: Taken<Payload>
  readonly #reorder: Reorder<Payload>
  /** Undefined, unless the log has whole seconds. */
  #seconds: Seconds<Payload> | undefined
  #kept: readonly [fromUs: number, toUs: number] | undefined
  #entries = 0
  #outsideRange = 0
  #outsideYears = 0
  #firstUs = Number.POSITIVE_INFINITY
  #lastUs = Number.NEGATIVE_INFINITY
  #beforeUs = Number.NEGATIVE_INFINITY
  #wentBack = 0
  #furthestUs = 0

  constructor(range: Range, taken: Taken<Payload>) {
    this.#range = range
    this.#taken = taken
    this.#reorder = new Reorder((timeUs, payload) => this.#inOrder(timeUs, payload))
  }

  /** Whether an entry with this time is in the range; counts those that are not. */
  takes(timeUs: number): boolean {
    const { fromUs, toUs } = this.#range
    const isOutside =
      (fromUs !== undefined && timeUs < fromUs) || (toUs !== undefined && timeUs >= toUs)
    if (isOutside) this.#outsideRange += 1
    return !isOutside
  }

  add(timeUs: number, payload: Payload): void {
    if (this.#kept === undefined && this.#reorder.isFull) this.#begin()
    this.#reorder.add(timeUs, payload)
  }

  end(): TimelineReport {
    if (this.#kept === undefined) this.#begin()
    this.#reorder.end()
    this.#seconds?.end()
    const isEmpty = this.#entries === 0
    return {
      entries: this.#entries,
      outsideRange: this.#outsideRange,
      outsideYears: this.#outsideYears,
      firstUs: isEmpty ? undefined : this.#firstUs,
      lastUs: isEmpty ? undefined : this.#lastUs,
      isCoarse: this.#seconds !== undefined,
      order: {
        heldBack: HELD_BACK,
        wentBack: this.#wentBack,
        furthestMs: Math.round(this.#furthestUs / 1_000),
      },
    }
  }

  /** The first entries tell the precision of the times, and their years. */
  #begin(): void {
    const times = this.#reorder.times()
    const typicalUs = times[times.length >> 1] ?? Date.UTC(2030, 0, 1) * 1_000
    const isCoarse = areWholeSeconds(times)
    this.#kept = keptRange(typicalUs)
    this.#taken.begin(isCoarse ? ['start', 'spread'] : ['logged'], typicalUs)
    if (!isCoarse) return
    this.#seconds = new Seconds((startUs, spreadUs, payload) => {
      this.#taken.decide(0, startUs, payload)
      this.#taken.decide(1, spreadUs, payload)
    })
  }

  #inOrder(timeUs: number, payload: Payload): void {
    const [fromUs, toUs] = this.#kept as readonly [number, number]
    if (timeUs < fromUs || timeUs >= toUs) {
      this.#outsideYears += 1
      return
    }
    this.#entries += 1
    if (timeUs < this.#beforeUs) {
      this.#wentBack += 1
      this.#furthestUs = Math.max(this.#furthestUs, this.#beforeUs - timeUs)
    }
    this.#beforeUs = timeUs
    if (timeUs < this.#firstUs) this.#firstUs = timeUs
    if (timeUs > this.#lastUs) this.#lastUs = timeUs
    if (this.#seconds === undefined) this.#taken.decide(0, timeUs, payload)
    else this.#seconds.add(timeUs, payload)
  }
}
