// A process whose work takes time: what comes while it is busy waits for the next turn of its event
// loop, and what is asked in one turn travels together. So how much piles up follows from the load.

import { type Random, timersOn } from '@weir/testkit/virtual-time'
import type { Time } from '../../../../packages/core/src/base/time.js'
import type { World } from '../world/world.js'

type Action = () => void

export class EventLoop {
  readonly time: Time
  readonly random: Random
  #spentUs = 0
  readonly #world: World
  /** What the next turn reads (Node's timers and poll), and what follows it (`setImmediate`). */
  #received: Action[] = []
  #soon: Action[] = []
  #isInTurn = false
  /** When all that it has begun is done, in lived time and with a fraction. */
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

  /** Now, as the process sees it: after all the work that it has done in this turn. */
  get livedUs(): number {
    return Math.max(this.#world.livedUs, this.#freeUs)
  }

  /** CPU that it has used until now. */
  get busyUs(): number {
    return this.#spentUs - Math.max(0, this.#freeUs - this.#world.livedUs)
  }

  /** Something has come, which the next turn handles. */
  receive(action: Action): void {
    this.#received.push(action)
    this.#wake()
  }

  /** The work that is being done takes so much CPU. */
  spend(us: number): void {
    // The world counts whole microseconds: less than one is no pause.
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

  /** One after the other, with all promises settled in between. */
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
