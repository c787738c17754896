// The denials that a process has heard of. They justify an answer of its deny cache if Redis denied
// the key less than a second ago, and the process has given nothing back since.

import type { Host } from '../world/host.js'

/** The bound that redisStore's option `denyCache` promises. */
const LONGEST_US = 1_000_000

export class Denials {
  readonly #host: Host
  /** When Redis last denied a request for a key. */
  readonly #deniedUs: Map<string, number> = new Map()

  constructor(host: Host) {
    this.#host = host
  }

  denied(key: string): void {
    this.#deniedUs.set(key, this.#host.world.nowUs)
  }

  /** Units of the key were given back, or the key was reset. */
  freed(key: string): void {
    this.#deniedUs.delete(key)
  }

  /** Whether the process may still remember a denial of the key. */
  isFresh(key: string): boolean {
    const { world, rate } = this.#host
    const deniedUs = this.#deniedUs.get(key) ?? Number.NEGATIVE_INFINITY
    return world.nowUs - deniedUs <= LONGEST_US / Math.min(1, rate)
  }
}
