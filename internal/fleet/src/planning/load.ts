// The load of a process, which is the same for a real and for a simulated one: when requests come,
// for which keys, and what became of them.

import type { Random } from '@weir/testkit/virtual-time'
import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Time } from '../../../../packages/core/src/base/time.js'
import { slidingWindow, tokenBucket } from '../../../../packages/core/src/index.js'
import type { Decision } from '../../../../packages/core/src/limiter/decision.js'
import type { RedisStoreOptions } from '../../../../packages/core/src/redis/options.js'

export interface Workload {
  readonly processes: number
  /** The rate of requests of all processes together. */
  readonly perSecond: number
  /** The number of keys. Each request is for a random one. */
  readonly keys: number
  /** The units of each key in each window. */
  readonly limit: number
  readonly windowMs: number
  /** The decisions of a request: this many at once, and this many such steps, one after another. */
  readonly atOnce: number
  readonly steps: number
  readonly leases: boolean
  /** How full the bucket is when the first requests come; undefined if the policy is a window. */
  readonly bucket?: 'full' | 'empty'
  readonly hashTags: number | undefined
}

export const PLAIN = { atOnce: 1, steps: 1, leases: false, hashTags: undefined } as const

export function policyFor({ limit, windowMs, bucket }: Workload): Policy {
  if (bucket !== undefined) return tokenBucket({ capacity: limit, refill: limit, every: windowMs })
  return slidingWindow({ limit, window: windowMs })
}

/** What docs/scaling.md recommends for a hot key. */
const LEASES = { units: 1_000, holdMs: 200 } as const

/** The defaults, except that the number of processes is given, so no heartbeat counts them. */
export function storeOptionsFor(
  { processes, leases, hashTags }: Workload,
  rank: number,
): RedisStoreOptions {
  return {
    instances: { count: processes, rank },
    hashTags,
    leases: leases ? LEASES : undefined,
  }
}

/** The results of requests. */
export interface Outcome {
  decisions: number
  admitted: number
  /** Decided in the process, since Redis did not answer in time. */
  local: number
  /** Decided without a call: by a lease, or by the deny cache. */
  ahead: number
  /** The time of each decision, in microseconds. */
  readonly tookUs: number[]
}

export function keyOf(number: number): string {
  return `user-${number}`
}

export class Load {
  readonly outcome: Outcome = { decisions: 0, admitted: 0, local: 0, ahead: 0, tookUs: [] }
  /** Requests from before a restart no longer count, even if they end later. */
  #generation = 0
  readonly #consume: (key: string) => Promise<Decision>
  readonly #workload: Workload
  readonly #time: Time
  readonly #random: Random

  constructor(
    workload: Workload,
    time: Time,
    random: Random,
    consume: (key: string) => Promise<Decision>,
  ) {
    this.#workload = workload
    this.#time = time
    this.#random = random
    this.#consume = consume
  }

  /** Starts the counts again. */
  restart(): void {
    this.#generation += 1
    Object.assign(this.outcome, { decisions: 0, admitted: 0, local: 0, ahead: 0 })
    this.outcome.tookUs.length = 0
  }

  /** One request comes. */
  async ask(): Promise<void> {
    const generation = this.#generation
    const { atOnce, steps } = this.#workload
    for (let step = 0; step < steps; step += 1) {
      await Promise.all(Array.from({ length: atOnce }, () => this.#decide(generation)))
      if (generation !== this.#generation) return
    }
  }

  async #decide(generation: number): Promise<void> {
    const key = keyOf(this.#random.whole(0, this.#workload.keys - 1))
    const askedMs = this.#time.nowMs()
    const { allowed, source } = await this.#consume(key)
    if (generation !== this.#generation) return
    this.outcome.decisions += 1
    if (allowed) this.outcome.admitted += 1
    if (source === 'local') this.outcome.local += 1
    if (source === 'lease' || source === 'cache') this.outcome.ahead += 1
    this.outcome.tookUs.push((this.#time.nowMs() - askedMs) * 1_000)
  }
}

/** Node cannot fire a timer for each request, so all requests since the last tick are sent at
 *  once. */
const TICK_MS = 4

export interface Ticks {
  /** The number of ticks, and how many of them came together with the next one. */
  all: number
  missed: number
  stop(): void
}

/** Sends requests at random times, in ticks. */
export function inTicks(
  { perSecond, processes }: Workload,
  time: Time,
  random: Random,
  ask: () => void,
): Ticks {
  const perMs = perSecond / processes / 1_000
  let nextMs = time.nowMs() + TICK_MS * random.next()
  let requestMs = nextMs + untilNext(random, perMs)
  let isOver = false
  const ticks: Ticks = {
    all: 0,
    missed: 0,
    stop() {
      isOver = true
    },
  }
  const wait = (): void => {
    time.after(Math.ceil(nextMs - time.nowMs()), () => {
      if (isOver) return
      const nowMs = time.nowMs()
      if (nowMs >= nextMs) {
        const due = Math.floor((nowMs - nextMs) / TICK_MS) + 1
        ticks.all += due
        ticks.missed += due - 1
        nextMs += due * TICK_MS
        for (; requestMs < nextMs; requestMs += untilNext(random, perMs)) ask()
      }
      wait()
    })
  }
  wait()
  return ticks
}

/** The time until the next of independent requests, which has an exponential distribution. */
export function untilNext(random: Random, perMs: number): number {
  return -Math.log(1 - random.next()) / perMs
}
