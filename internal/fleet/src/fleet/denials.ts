// What a process has heard of denials, by which an answer of its deny cache can be checked: Redis
// has denied the key less than a second ago, and this process has given nothing back since.

import type { Host } from '../world/host.js'

/** As redisStore's option `denyCache` promises. */
const LONGEST_US = 1_000_000

export class Denials {
  readonly #host: Host
  /** When Redis denied a request of a key last. */
  readonly #deniedUs: Map<string, number> = new Map()

  constructor(host: Host) {
    this.#host = host
  }

  denied(key: string): void {
    this.#deniedUs.set(key, this.#host.world.nowUs)
  }

  /** Something of the key was given back or forgotten. */
  freed(key: string): void {
    this.#deniedUs.delete(key)
  }

  /** Whether a denial of the key may be remembered now. */
  isFresh(key: string): boolean {
    const { world, rate } = this.#host
    const deniedUs = this.#deniedUs.get(key) ?? Number.NEGATIVE_INFINITY
    return world.nowUs - deniedUs <= LONGEST_US / Math.min(1, rate)
  }
}
