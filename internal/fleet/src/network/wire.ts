// One direction of the network between a process and a machine. It keeps the order of messages,
// delays them, and can be cut. Messages sent during a cut arrive after it is healed, as TCP sends
// them again.

import type { Random } from '@weir/testkit/virtual-time'
import type { World } from '../world/world.js'

export interface Latency {
  readonly leastUs: number
  readonly mostUs: number
}

interface Message {
  readonly atUs: number
  readonly deliver: () => void
}

/** What a story can do to the network. */
export interface Direction {
  latency: Latency
  cut(): void
  heal(): void
}

export class Way implements Direction {
  /** How long a message takes. */
  latency: Latency
  readonly #world: World
  readonly #random: Random
  #messages: Message[] = []
  #lastUs = 0
  #isCut = false

  constructor(world: World, random: Random, latency: Latency) {
    this.#world = world
    this.#random = random
    this.latency = latency
  }

  send(deliver: () => void): void {
    const { leastUs, mostUs } = this.latency
    const us = this.#random.whole(leastUs, mostUs)
    const atUs = Math.max(this.#lastUs, this.#world.nowUs + us)
    this.#lastUs = atUs
    this.#messages.push({ atUs, deliver })
    this.#world.after(atUs - this.#world.nowUs, () => this.#deliver())
  }

  cut(): void {
    this.#isCut = true
  }

  heal(): void {
    this.#isCut = false
    this.#world.after(0, () => this.#deliver())
  }

  /** The connection breaks: messages on their way never arrive. */
  drop(): void {
    this.#messages = []
    this.#lastUs = 0
  }

  #deliver(): void {
    if (this.#isCut) return
    let first = this.#messages[0]
    while (first !== undefined && first.atUs <= this.#world.nowUs) {
      this.#messages.shift()
      first.deliver()
      first = this.#messages[0]
    }
  }
}
