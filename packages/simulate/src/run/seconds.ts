// A log of whole seconds does not say when within a second a request came. So it is read in two
// ways: with all requests at the start of the second, and spread evenly over it.

const SECOND_US = 1_000_000
/** The most requests of one second to spread at once; of more, each batch is spread separately. */
const MOST = 2 ** 20

export class Seconds<Payload> {
  readonly #pass: (startUs: number, spreadUs: number, payload: Payload) => void
  #second = Number.NaN
  #payloads: Payload[] = []

  constructor(pass: (startUs: number, spreadUs: number, payload: Payload) => void) {
    this.#pass = pass
  }

  add(timeUs: number, payload: Payload): void {
    if (timeUs !== this.#second || this.#payloads.length >= MOST) this.end()
    if (timeUs % SECOND_US !== 0) {
      // This entry has a fraction of a second: no need to guess.
      this.#pass(timeUs, timeUs, payload)
      return
    }
    this.#second = timeUs
    this.#payloads.push(payload)
  }

  end(): void {
    const payloads = this.#payloads
    if (payloads.length === 0) return
    this.#payloads = []
    const apart = SECOND_US / payloads.length
    for (let i = 0; i < payloads.length; i += 1)
      this.#pass(this.#second, this.#second + Math.floor(i * apart), payloads[i] as Payload)
  }
}

/** Whether a log has whole seconds, by its sorted times: two or more, all of them whole. */
export function areWholeSeconds(times: Float64Array): boolean {
  return times.length > 1 && times.every((timeUs) => timeUs % SECOND_US === 0)
}
