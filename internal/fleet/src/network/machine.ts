// The machine that a simulated server runs on: it serves one call after the other, may freeze, and
// may be down.

import type { SimulatedRedis } from '../redis/server.js'
import type { World } from '../world/world.js'

/** What a call takes the server, and each of its keys: about what is measured of a real one
 *  (docs/benchmarks.md, script time). */
const CALL_US = 15
const KEY_US = 3

export type Reply = { readonly value: unknown } | { readonly error: Error }

export class Machine {
  readonly name: string
  readonly redis: SimulatedRedis
  isDown = false
  /** Learns of each call that was run, and whose it was. */
  ran: ((by: string, command: string, args: readonly string[]) => void) | undefined = undefined
  readonly #world: World
  #busyUntilUs = 0
  #frozenUntilUs = 0

  constructor(world: World, name: string, redis: SimulatedRedis) {
    this.#world = world
    this.name = name
    this.redis = redis
  }

  /** SIGSTOP, and after so long SIGCONT. */
  freeze(us: number): void {
    this.#frozenUntilUs = Math.max(this.#frozenUntilUs, this.#world.nowUs + us)
  }

  get isFrozen(): boolean {
    return this.#frozenUntilUs > this.#world.nowUs
  }

  /** A call has come; `reply` is called when it is served, unless the machine goes down before. */
  serve(by: string, command: string, args: readonly string[], reply: (reply: Reply) => void): void {
    const costUs = CALL_US + KEY_US * Number(args[1] ?? 0)
    const startUs = Math.max(this.#world.nowUs, this.#busyUntilUs, this.#frozenUntilUs)
    this.#busyUntilUs = startUs + costUs
    const run = (): void => {
      if (this.isDown) return
      // It was frozen while the call waited.
      if (this.isFrozen) {
        this.#busyUntilUs = Math.max(this.#busyUntilUs, this.#frozenUntilUs + costUs)
        this.#world.after(this.#frozenUntilUs - this.#world.nowUs, run)
        return
      }
      const result = this.#run(command, args)
      this.ran?.(by, command, args)
      reply(result)
    }
    this.#world.after(this.#busyUntilUs - this.#world.nowUs, run)
  }

  #run(command: string, args: readonly string[]): Reply {
    try {
      return { value: this.redis.run(command, args) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
