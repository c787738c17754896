// Puts entries into the order of their times. Servers log a request when it ends, some with the
// time at which it began, so neighbours may be out of order. A fixed number of entries is held back
// and sorted. One that comes later than that is passed on at once, as if the clock had gone back.

/** How many entries are held back. */
export const HELD_BACK = 8_192
const SMALLEST = 128

export class Reorder<Payload> {
  #times: Float64Array = new Float64Array(SMALLEST)
  readonly #payloads: (Payload | undefined)[] = new Array(SMALLEST).fill(undefined)
  readonly #pass: (timeUs: number, payload: Payload) => void
  /** Where the sorted entries begin. Entries with equal times keep the order in which they came. */
  #begin = 0
  #end = 0

  constructor(pass: (timeUs: number, payload: Payload) => void) {
    this.#pass = pass
  }

  get isFull(): boolean {
    return this.#end - this.#begin === HELD_BACK
  }

  /** The times that are held back, sorted. */
  times(): Float64Array {
    return this.#times.slice(this.#begin, this.#end)
  }

  add(timeUs: number, payload: Payload): void {
    if (this.isFull) this.#passFirst()
    if (this.#end === this.#times.length) this.#makeRoom()
    const times = this.#times
    const payloads = this.#payloads
    let at = this.#end
    while (at > this.#begin && (times[at - 1] as number) > timeUs) {
      times[at] = times[at - 1] as number
      payloads[at] = payloads[at - 1]
      at -= 1
    }
    times[at] = timeUs
    payloads[at] = payload
    this.#end += 1
  }

  /** Passes on all remaining entries. */
  end(): void {
    while (this.#begin < this.#end) this.#passFirst()
  }

  #passFirst(): void {
    const at = this.#begin
    const payload = this.#payloads[at] as Payload
    this.#payloads[at] = undefined
    this.#begin += 1
    this.#pass(this.#times[at] as number, payload)
  }

  /** Moves the held-back entries to the front, into arrays twice as long if half is in use. */
  #makeRoom(): void {
    const held = this.#end - this.#begin
    const times = this.#times
    if (2 * held > times.length && times.length < 2 * HELD_BACK)
      this.#times = new Float64Array(2 * times.length)
    this.#times.set(times.subarray(this.#begin, this.#end))
    this.#payloads.copyWithin(0, this.#begin, this.#end)
    this.#end = held
    this.#begin = 0
    this.#payloads.length = this.#times.length
    this.#payloads.fill(undefined, held)
  }
}
