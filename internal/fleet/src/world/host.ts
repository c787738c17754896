// A process of the fleet. Its clocks may run fast or slow, its event loop may be blocked, and it
// may die.

import { type Random, type Timers, timersOn } from '@weir/testkit/virtual-time'
import type { Time } from '../../../../packages/core/src/base/time.js'
import type { World } from './world.js'

export class Host {
  readonly name: string
  readonly world: World
  readonly time: Time
  readonly random: Random
  /** The speed of its clocks, relative to the true time. */
  readonly rate: number
  isDead = false
  /** How long it has been blocked, in total. */
  heldUpUs = 0
  readonly #timers: Timers
  #pausedUntilUs = 0
  readonly #bornUs: number

  constructor(world: World, name: string, rate: number = 1) {
    this.world = world
    this.name = name
    this.rate = rate
    this.random = world.random.fork()
    this.#bornUs = world.nowUs
    this.#timers = timersOn((us, action) => this.run(us / rate, action))
    this.time = {
      nowMs: () => this.#livedUs() / 1_000,
      nowUs: () => Math.floor(this.#bornUs + this.#livedUs()),
      random: () => this.random.next(),
      soon: (action) => void this.run(0, action),
      after: this.#timers.after,
    }
  }

  /** The timers that have neither fired nor been cancelled. */
  get timers(): number {
    return this.#timers.count
  }

  /** Blocks its event loop; what falls due during that time runs afterwards. */
  pause(us: number): void {
    const fromUs = Math.max(this.#pausedUntilUs, this.world.nowUs)
    this.#pausedUntilUs = Math.max(fromUs, this.world.nowUs + us)
    this.heldUpUs += this.#pausedUntilUs - fromUs
  }

  /** Cancels everything that it has planned. */
  die(): void {
    this.isDead = true
  }

  /** Runs an action in the process, at least `us` from now. Returns a function that cancels it. */
  run(us: number, action: () => void): () => void {
    let cancel = (): void => {}
    const attempt = (): void => {
      if (this.isDead) return
      const lateUs = this.#pausedUntilUs - this.world.nowUs
      if (lateUs > 0) cancel = this.world.after(lateUs, attempt)
      else action()
    }
    cancel = this.world.after(us, attempt)
    return () => cancel()
  }

  #livedUs(): number {
    return (this.world.nowUs - this.#bornUs) * this.rate
  }
}
