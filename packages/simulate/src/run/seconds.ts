// A log of whole seconds does not say when within a second a request came. So it is taken in two
// ways: all at the start of the second, and evenly over it.

const SECOND_US = 1_000_000
/** Requests of one second that are spread together: of more, each part is spread for itself. */
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
      // It says more than the others.
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

/** Whether sorted times are those of a log that has whole seconds: all are, of two or more. */
export function areWholeSeconds(times: Float64Array): boolean {
  return times.length > 1 && times.every((timeUs) => timeUs % SECOND_US === 0)
}
