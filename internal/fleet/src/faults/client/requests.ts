// Sends the requests and records the result of each.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Decision, RateLimiter } from '@weir/core'
import type { Journal } from './journal.js'
import { CONTROL, type Job, type Sample } from './protocol.js'
import type { Target } from './target.js'
import { now } from './time.js'

export class Requests {
  readonly #keys: readonly string[]
  readonly #control: boolean
  readonly #does: Job['does']
  readonly #peeks: number
  readonly #targets: readonly (Target & { look(): void })[]
  readonly #journal: Journal
  readonly #waiting: Map<number, { readonly at: number; readonly key: string }> = new Map()
  #count = 0

  constructor(job: Job, targets: readonly Target[], journal: Journal) {
    this.#keys = job.keys
    this.#control = job.control ?? false
    this.#does = job.does
    this.#peeks = job.peeks ?? 0
    this.#targets = targets.map((target) => ({ ...target, ...journal.watch(target.store) }))
    this.#journal = journal
  }

  send(): void {
    if (this.#control && this.#count % 2 === 0) {
      this.#sendControl()
      return
    }
    const id = this.#count
    this.#count += 1
    const key = this.#keys[id % this.#keys.length] as string
    const place = Math.floor(id / this.#keys.length) % this.#targets.length
    const target = this.#targets[place] as Target & { look(): void }
    target.look()
    const at = now()
    this.#waiting.set(id, { at, key })
    this.#ask(target.limiter, key, id).then(
      (decision) => {
        this.#answered(id, target, this.#sampleOf(at, key, decision))
        for (let i = 0; i < this.#peeks; i += 1) void target.limiter.peek('another')
      },
      (error) =>
        this.#answered(id, target, { ...nothing(at, key), ms: now() - at, error: String(error) }),
    )
  }

  async #ask(limiter: RateLimiter, key: string, id: number): Promise<Decision> {
    if (this.#does === 'wait') {
      const isLeft = id % 10 === 9
      const signal = isLeft ? AbortSignal.timeout(100) : undefined
      return limiter.wait(key, { timeout: 500, signal }).catch((error: Error) => {
        // An aborted wait counts as a request that was not admitted.
        if (signal?.aborted) return limiter.peek(key, { cost: 1_000_000 })
        throw error
      })
    }
    if (this.#does === 'queue') return limiter.wait(key)
    const decision = await limiter.consume(key)
    if (this.#does !== 'settle') return decision
    await sleep(500)
    await limiter.settle(decision, id % 2 === 0 ? 2 : 0)
    return decision
  }

  #sendControl(): void {
    const { client } = this.#targets[0] as Target
    const at = now()
    this.#count += 1
    const done = (): void => this.#journal.sample({ ...nothing(at, CONTROL), ms: now() - at })
    client.incr('control').then(done, done)
  }

  /** Waits for the outstanding answers. */
  async drain(patienceMs: number): Promise<void> {
    const until = now() + patienceMs
    while (this.#waiting.size > 0 && now() < until)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }

  /** Records outstanding answers as answers that never come. */
  giveUp(): void {
    for (const { at, key } of this.#waiting.values()) this.#journal.sample(nothing(at, key))
    this.#waiting.clear()
  }

  /** What the first policy has left for each key. */
  peek(): Promise<number[]> {
    const { limiter } = this.#targets[0] as Target
    const left = async (key: string) => (await limiter.peek(key)).policies[0]?.remaining ?? 0
    return Promise.all(this.#keys.map(left))
  }

  #answered(id: number, target: { look(): void }, sample: Sample): void {
    if (!this.#waiting.delete(id)) return
    target.look()
    this.#journal.sample(sample)
  }

  #sampleOf(at: number, key: string, decision: Decision): Sample {
    const { allowed, source, degraded } = decision
    const base = { at, ms: now() - at, key, allowed, source, degraded }
    const untilUs = decision.allowed ? decision.receipt.result?.untilUs[0] : undefined
    return untilUs === undefined ? base : { ...base, untilUs }
  }
}

function nothing(at: number, key: string): Sample {
  return { at, ms: Number.POSITIVE_INFINITY, key, allowed: false, source: 'none', degraded: false }
}
