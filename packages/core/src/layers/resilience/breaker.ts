// The circuit breaker of one node: after enough failures, it keeps requests away from the node
// until a probe in the background is answered. A pure state machine: time and chance are passed in.
//
//   closed, half-open --5 failures in a row, or half of 20 and more within 1 s--> open
//       (what only reads, or is denied, ends no row: a server that is full refuses nothing but
//       writes)
//   open --a probe succeeds--> half-open --5 s--> closed
//   open --a probe fails--> open, and the wait doubles up to 1 s
//
// A node that appears while another one is away begins half-open (`returned`).

export type BreakerState = 'closed' | 'open' | 'half-open'

const STREAK = 5
const SAMPLE = 20
const SAMPLE_MS = 1_000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1_000
/** Opening again within this time of its return is a flap, and doubles the first wait. */
const CALM_MS = 30_000
/**
 * How long a node is half-open. Peers that lost the node are back within that time: a client
 * reconnects within 1.5 s with the recommended options, or 5 s with ioredis 6's own, and a probe
 * waits for at most 1 s.
 */
export const RETURN_MS = 5_000

export class Breaker {
  state: BreakerState = 'closed'
  /** While open: when the next probe is due. */
  probeAtMs = 0
  readonly #random: () => number
  #streak = 0
  /** Requests and failures since the first failure of the last second. */
  #sample = { sinceMs: Number.NEGATIVE_INFINITY, requests: 0, failures: 0 }
  #waitMs = 0
  #flaps = 0
  #backAtMs = Number.NEGATIVE_INFINITY

  /** @param random from 0 to 1, for the jitter of 50 to 100 % on every wait */
  constructor(random: () => number) {
    this.#random = random
  }

  /** A request was answered.
   *  @param hasWritten false: the answer does not show that the node takes writes */
  succeeded(hasWritten: boolean): void {
    if (hasWritten) this.#streak = 0
    this.#sample.requests += 1
  }

  /** A request was not answered, or could not be sent, for a reason that concerns the whole
   *  node. */
  failed(nowMs: number): void {
    if (nowMs - this.#sample.sinceMs >= SAMPLE_MS) {
      this.#sample = { sinceMs: nowMs, requests: 0, failures: 0 }
    }
    this.#streak += 1
    this.#sample.requests += 1
    this.#sample.failures += 1
    const { requests, failures } = this.#sample
    const isHalf = requests >= SAMPLE && 2 * failures >= requests
    if (this.state === 'open' || (this.#streak < STREAK && !isHalf)) return
    this.#flaps = nowMs - this.#backAtMs < CALM_MS ? this.#flaps + 1 : 0
    this.#open(nowMs, FIRST_WAIT_MS * 2 ** this.#flaps)
  }

  /** While open: how a probe ended. */
  probed(isGood: boolean, nowMs: number): void {
    if (this.state !== 'open') return
    if (!isGood) {
      this.#open(nowMs, 2 * this.#waitMs)
      return
    }
    this.returned(nowMs)
  }

  /** The node answers, which peers may not know yet. */
  returned(nowMs: number): void {
    this.state = 'half-open'
    this.#backAtMs = nowMs
    this.#streak = 0
    this.#sample = { sinceMs: Number.NEGATIVE_INFINITY, requests: 0, failures: 0 }
  }

  /** It has been half-open for long enough. */
  close(): void {
    if (this.state === 'half-open') this.state = 'closed'
  }

  #open(nowMs: number, waitMs: number): void {
    this.state = 'open'
    this.#waitMs = Math.min(waitMs, LONGEST_WAIT_MS)
    this.probeAtMs = nowMs + this.#waitMs * (0.5 + this.#random() / 2)
  }
}
