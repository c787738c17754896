// A process whose work takes time. What arrives while it is busy waits for the next turn of its
// event loop, and requests of one turn travel together. So the size of batches follows from the
// load.

import { type Random, timersOn } from '@weir/testkit/virtual-time'
import type { Time } from '../../../../packages/core/src/base/time.js'
import type { World } from '../world/world.js'

type Action = () => void

export class EventLoop {
  readonly time: Time
  readonly random: Random
  #spentUs = 0
  readonly #world: World
  /** What the next turn handles (Node's timers and poll), and what follows (`setImmediate`). */
  #received: Action[] = []
  #soon: Action[] = []
  #isInTurn = false
  /** When the work that it has begun is done, in lived time, with a fraction. */
  #freeUs = 0

  constructor(world: World) {
    this.#world = world
    this.random = world.random.fork()
    const bornUs = world.nowUs - world.livedUs
    const timers = timersOn((us, action) => world.after(us, () => this.receive(action)))
    this.time = {
      nowMs: () => this.livedUs / 1_000,
      nowUs: () => Math.floor(bornUs + this.livedUs),
      random: () => this.random.next(),
      soon: (action) => {
        this.#soon.push(action)
        this.#wake()
      },
      after: timers.after,
    }
  }

  /** The present time for the process: after all the work that it has done in this turn. */
  get livedUs(): number {
    return Math.max(this.#world.livedUs, this.#freeUs)
  }

  /** The CPU time that it has used so far. */
  get busyUs(): number {
    return this.#spentUs - Math.max(0, this.#freeUs - this.#world.livedUs)
  }

  /** Something has arrived, which the next turn handles. */
  receive(action: Action): void {
    this.#received.push(action)
    this.#wake()
  }

  /** Adds CPU time to the current work. */
  spend(us: number): void {
    // The world counts whole microseconds, so a gap of less than one is no pause.
    if (this.#freeUs < this.#world.livedUs - 1) this.#freeUs = this.#world.livedUs
    this.#freeUs += us
    this.#spentUs += us
  }

  #wake(): void {
    if (this.#isInTurn) return
    this.#isInTurn = true
    this.#world.after(0, () => this.#turn())
  }

  #turn(): void {
    const received = this.#received
    this.#received = []
    this.#inOrder(received, () => {
      const soon = this.#soon
      this.#soon = []
      this.#inOrder(soon, () => this.#end())
    })
  }

  /** Runs actions one after another, with all promises settled in between. */
  #inOrder(actions: readonly Action[], then: Action): void {
    let at = 0
    const next = (): void => {
      const action = actions[at]
      at += 1
      if (action === undefined) {
        then()
        return
      }
      action()
      this.#world.after(0, next)
    }
    next()
  }

  #end(): void {
    this.#world.after(this.#freeUs - this.#world.livedUs, () => {
      this.#isInTurn = false
      if (this.#received.length + this.#soon.length > 0) this.#wake()
    })
  }
}
