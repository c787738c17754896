// The load of one process, the same for a real process and for a simulated one: which requests come
// when, and what became of them.

import type { Random } from '@weir/testkit/virtual-time'
import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Time } from '../../../../packages/core/src/base/time.js'
import { slidingWindow, tokenBucket } from '../../../../packages/core/src/index.js'
import type { Decision } from '../../../../packages/core/src/limiter/decision.js'
import type { RedisStoreOptions } from '../../../../packages/core/src/redis/options.js'

export interface Workload {
  readonly processes: number
  /** Requests of all processes. */
  readonly perSecond: number
  /** Each request is for one of these, at random. */
  readonly keys: number
  /** Units in each window, of each key. */
  readonly limit: number
  readonly windowMs: number
  /** Decisions that a request takes: so many at once, and that so often, one after the other. */
  readonly atOnce: number
  readonly steps: number
  readonly leases: boolean
  /** What is in the bucket that is the policy when the first requests come; undefined: the policy
   *  is a window. */
  readonly bucket?: 'full' | 'empty'
  readonly hashTags: number | undefined
}

export const PLAIN = { atOnce: 1, steps: 1, leases: false, hashTags: undefined } as const

export function policyFor({ limit, windowMs, bucket }: Workload): Policy {
  if (bucket !== undefined) return tokenBucket({ capacity: limit, refill: limit, every: windowMs })
  return slidingWindow({ limit, window: windowMs })
}

/** What docs/scaling.md advises for a hot key. */
const LEASES = { units: 1_000, holdMs: 200 } as const

/** The defaults, but for the number of processes, so that no heartbeat counts them. */
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

/** What became of requests. */
export interface Outcome {
  decisions: number
  admitted: number
  /** Decided in the process, as Redis did not answer in time. */
  local: number
  /** Decided without a call: by a lease, or a denial of a moment ago. */
  ahead: number
  /** How long each decision took, in microseconds. */
  readonly tookUs: number[]
}

export function keyOf(number: number): string {
  return `user-${number}`
}

export class Load {
  readonly outcome: Outcome = { decisions: 0, admitted: 0, local: 0, ahead: 0, tookUs: [] }
  /** What has come so far counts no more, nor what becomes of it. */
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

  /** Begins to count anew. */
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

/** A timer of Node cannot fire for each request: all that have come since the last tick are asked
 *  for at once. */
const TICK_MS = 4

export interface Ticks {
  /** How many there were, and how many of them came with the one after them. */
  all: number
  missed: number
  stop(): void
}

/** Lets requests come in ticks, at random. */
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

/** Independent requests come at intervals of an exponential distribution. */
export function untilNext(random: Random, perMs: number): number {
  return -Math.log(1 - random.next()) / perMs
}
