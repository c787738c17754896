// A process of the fleet: its clocks may run fast or slow, its event loop may be held up, and it
// may die.

import { type Random, type Timers, timersOn } from '@weir/testkit/virtual-time'
import type { Time } from '../../../../packages/core/src/base/time.js'
import type { World } from './world.js'

export class Host {
  readonly name: string
  readonly world: World
  readonly time: Time
  readonly random: Random
  /** How fast its clocks run; 1: as fast as the true time. */
  readonly rate: number
  isDead = false
  /** How long it has been held up, in total. */
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

  /** Timers that have neither ended nor been cancelled. */
  get timers(): number {
    return this.#timers.count
  }

  /** Holds its event loop up; what falls due during that time runs afterwards. */
  pause(us: number): void {
    const fromUs = Math.max(this.#pausedUntilUs, this.world.nowUs)
    this.#pausedUntilUs = Math.max(fromUs, this.world.nowUs + us)
    this.heldUpUs += this.#pausedUntilUs - fromUs
  }

  /** Nothing that it has planned happens any more. */
  die(): void {
    this.isDead = true
  }

  /** Does something in the process, `us` from now at the earliest. Returns what cancels it. */
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
