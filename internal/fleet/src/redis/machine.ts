// The machine of a simulated server. It serves one call after another, may freeze, and may be down.

import type { World } from '../world/world.js'
import type { SimulatedRedis } from './server.js'

/** The time of a call, and of each of its keys: about as much as measured of a real server:
 *  a decision took 11 to 15 us alone, and 3 to 4 us in a call of 32. */
const CALL_US = 15
const KEY_US = 3

export type Reply = { readonly value: unknown } | { readonly error: Error }

/** A call, and who sent it. */
export interface Call {
  readonly by: string
  readonly command: string
  readonly args: readonly string[]
  /** Whether it follows ASKING. */
  readonly isAsking?: boolean
}

interface Job extends Call {
  readonly reply: (reply: Reply) => void
}

export class Machine {
  readonly name: string
  readonly redis: SimulatedRedis
  isDown = false
  /** The sender of the call that is running. */
  serving = ''
  readonly #world: World
  /** Calls that have arrived and are not served yet, in order. */
  #queue: Job[] = []
  #isBusy = false
  #frozenUntilUs = 0
  /** What to do first after a thaw. */
  #goOn: (() => void) | undefined
  #cancel = (): void => {}

  constructor(world: World, name: string, redis: SimulatedRedis) {
    this.#world = world
    this.name = name
    this.redis = redis
  }

  /** SIGSTOP, and SIGCONT after this time. */
  freeze(us: number): void {
    this.#frozenUntilUs = Math.max(this.#frozenUntilUs, this.#world.nowUs + us)
  }

  /** SIGCONT. */
  thaw(): void {
    this.#frozenUntilUs = this.#world.nowUs
    this.#goOn?.()
  }

  /** A call has arrived. `reply` is called when it is served, unless the machine is down by
   *  then. */
  serve(call: Call, reply: (reply: Reply) => void): void {
    this.#queue.push({ ...call, reply })
    if (!this.#isBusy) this.#begin()
  }

  /** Begins the first call of the queue. */
  #begin(): void {
    const [job] = this.#queue
    this.#isBusy = job !== undefined
    if (job === undefined) return
    this.#end(job, CALL_US + KEY_US * Number(job.args[1] ?? 0))
  }

  /** Ends a call, `us` from now at the earliest. */
  #end(job: Job, us: number): void {
    this.#cancel = this.#world.after(us, () => {
      this.#goOn = undefined
      const frozenUs = this.#frozenUntilUs - this.#world.nowUs
      if (frozenUs > 0) {
        this.#end(job, frozenUs)
        this.#goOn = (): void => {
          this.#cancel()
          this.#end(job, 0)
        }
        return
      }
      this.#queue.shift()
      if (!this.isDown) {
        this.serving = job.by
        job.reply(this.#run(job))
      }
      this.#begin()
    })
  }

  #run({ command, args, isAsking }: Job): Reply {
    try {
      return { value: this.redis.run(command, args, isAsking) }
    } catch (error) {
      return { error: error as Error }
    }
  }
}
