// The machine that a simulated server runs on: it serves one call after the other, may freeze, and
// may be down.

import type { SimulatedRedis } from '../redis/server.js'
import type { World } from '../world/world.js'

/** What a call takes the server, and each of its keys: about what is measured of a real one
 *  (docs/benchmarks.md, script time). */
const CALL_US = 15
const KEY_US = 3

export type Reply = { readonly value: unknown } | { readonly error: Error }

interface Job {
  readonly by: string
  readonly command: string
  readonly args: readonly string[]
  readonly reply: (reply: Reply) => void
}

export class Machine {
  readonly name: string
  readonly redis: SimulatedRedis
  isDown = false
  /** Learns of each call that was run, and whose it was. */
  ran: ((by: string, command: string, args: readonly string[]) => void) | undefined = undefined
  readonly #world: World
  /** Calls that have come and are not served, in the order in which they came. */
  #queue: Job[] = []
  #isBusy = false
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

  /** A call has come; `reply` is called when it is served, unless the machine is down by then. */
  serve(by: string, command: string, args: readonly string[], reply: (reply: Reply) => void): void {
    this.#queue.push({ by, command, args, reply })
    if (!this.#isBusy) this.#begin()
  }

  /** Begins with the first call of the queue. */
  #begin(): void {
    const [job] = this.#queue
    this.#isBusy = job !== undefined
    if (job === undefined) return
    this.#end(job, CALL_US + KEY_US * Number(job.args[1] ?? 0))
  }

  /** Ends a call, `us` from now at the earliest. */
  #end(job: Job, us: number): void {
    this.#world.after(us, () => {
      const frozenUs = this.#frozenUntilUs - this.#world.nowUs
      if (frozenUs > 0) {
        this.#end(job, frozenUs)
        return
      }
      this.#queue.shift()
      if (!this.isDown) {
        const result = this.#run(job.command, job.args)
        this.ran?.(job.by, job.command, job.args)
        job.reply(result)
      }
      this.#begin()
    })
  }

  #run(command: string, args: readonly string[]): Reply {
    try {
      return { value: this.redis.run(command, args) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
