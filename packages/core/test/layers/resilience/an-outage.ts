// An outage in virtual time: two processes share a limit while their store freezes and comes back.
// docs/images/outage.svg is drawn from it.

import { RateLimiter, slidingWindow } from '../../../src/index.js'
import { BEAT_SET } from '../../../src/layers/resilience/canary.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import type { Store } from '../../../src/store.js'
import { type VirtualTime, virtualTime } from '../../virtual-time.js'
import { memoryIn } from '../requests.js'

export const LIMIT = 150
const PROCESSES = 2
export const DEADLINE_MS = 100
export const FROZEN_FROM_MS = 4_000
export const FROZEN_TO_MS = 12_000
export const END_MS = 21_000
/** For each process; together they send 10 requests a second. */
const EVERY_MS = 200

export interface Asked {
  readonly atMs: number
  readonly tookMs: number
  readonly isAllowed: boolean
  readonly isDegraded: boolean
}

export interface Outage {
  readonly asked: readonly Asked[]
  /** When the breaker of the first process changed, and to what. */
  readonly states: readonly { readonly atMs: number; readonly state: string }[]
  /** When the probes of the first process were sent. */
  readonly probesAtMs: readonly number[]
}

/** Two processes before, during and after the time in which their store is frozen. */
export async function anOutage(seed: number = 1): Promise<Outage> {
  const time = virtualTime(seed)
  const states = [{ atMs: 0, state: 'closed' }]
  const probesAtMs: number[] = []
  const asked: Asked[] = []
  const shared = freezing(time)
  const policy = slidingWindow({ limit: LIMIT, window: '1m' })
  const stores = Array.from({ length: PROCESSES }, (_, rank) => {
    const store: Store = {
      recovers: true,
      decide(request) {
        if (rank === 0 && request.target.policySet === BEAT_SET) probesAtMs.push(time.nowMs())
        return shared.decide(request)
      },
      async reset() {},
    }
    const options = { deadlineMs: DEADLINE_MS, instances: { count: PROCESSES, rank } }
    return resilientIn(time, store, options)
  })
  stores[0]?.on('breaker', ({ state }) => void states.push({ atMs: time.nowMs(), state }))

  for (const [rank, store] of stores.entries()) {
    const limiter = new RateLimiter({ name: 'api', store, policy })
    const ask = async (): Promise<void> => {
      time.after(EVERY_MS, ask)
      const atMs = time.nowMs()
      const { allowed, degraded } = await limiter.consume('u42')
      asked.push({ atMs, tookMs: time.nowMs() - atMs, isAllowed: allowed, isDegraded: degraded })
    }
    time.after((rank * EVERY_MS) / PROCESSES, ask)
  }
  await time.advance(END_MS)
  for (const store of stores) void store.close()
  return { asked: asked.sort((one, other) => one.atMs - other.atMs), states, probesAtMs }
}

/** A store that answers within a millisecond, or, when frozen, after it is thawed. */
function freezing(time: VirtualTime): Pick<Store, 'decide'> {
  const memory = memoryIn(time)
  const waiting: (() => void)[] = []
  time.after(FROZEN_TO_MS, () => {
    for (const goOn of waiting.splice(0)) goOn()
  })
  const isFrozen = (): boolean => {
    const atMs = time.nowMs()
    return FROZEN_FROM_MS <= atMs && atMs < FROZEN_TO_MS
  }
  return {
    async decide(request) {
      await new Promise<void>((resolve) => {
        if (isFrozen()) waiting.push(resolve)
        else time.after(1, resolve)
      })
      return memory.decide(request)
    },
  }
}
