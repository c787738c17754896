// A process of the fleet as its machine sees it: its clock may be wrong, it may be held up, and it
// may die.

import type { Time } from '../../../../packages/core/src/base/time.js'
import type { Random } from './random.js'
import type { World } from './world.js'

export class Host {
  readonly name: string
  readonly world: World
  readonly time: Time
  readonly random: Random
  /** How far its wall clock is ahead of the true time. */
  aheadUs = 0
  /** How fast its clocks run; 1: as fast as the true time. */
  readonly rate: number
  /** Timers that have neither ended nor been cancelled. */
  timers = 0
  isDead = false
  /** How long it has been held up, all together. */
  heldUpUs = 0
  #pausedUntilUs = 0
  readonly #bornUs: number

  constructor(world: World, name: string, rate: number = 1) {
    this.world = world
    this.name = name
    this.rate = rate
    this.random = world.random.fork()
    this.#bornUs = world.nowUs
    this.time = {
      nowMs: () => this.#livedUs() / 1_000,
      nowUs: () => Math.floor(this.#bornUs + this.#livedUs() + this.aheadUs),
      random: () => this.random.next(),
      soon: (action) => void this.run(0, action),
      after: (ms, action) => this.#after(ms, action),
    }
  }

  /** Its event loop is held up for so long; what is due then comes afterwards. */
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

  #after(ms: number, action: () => void): () => void {
    // Node would take 1 ms instead.
    if (!(ms < 2 ** 31)) throw new RangeError(`a timer of ${ms} ms`)
    this.timers += 1
    let isOver = false
    const end = (): void => {
      if (!isOver) this.timers -= 1
      isOver = true
    }
    const cancel = this.run((Math.max(1, ms) * 1_000) / this.rate, () => {
      if (isOver) return
      end()
      action()
    })
    return () => {
      end()
      cancel()
    }
  }
}
