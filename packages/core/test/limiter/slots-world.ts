// What tests of slots share: a limiter in virtual time, and a store that records its requests.

import { onTestFinished } from 'vitest'
import {
  type ConcurrencyOptions,
  concurrency,
  fixedWindow,
  type LimiterStats,
  type Policy,
  RateLimiter,
  type RateLimiterOptions,
} from '../../src/index.js'
import { inTime } from '../../src/limiter/limiter.js'
import { memoryStoreIn } from '../../src/memory/store.js'
import type { Store, StoreRequest } from '../../src/store.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'

export const HOLD_MS = 30_000
export const STREAMS: ConcurrencyOptions = { name: 'streams', limit: 2, holdTimeout: HOLD_MS }
export const rate: Policy = fixedWindow({ name: 'rate', limit: 10, window: '1h' })

interface World {
  readonly time: VirtualTime
  readonly store: Store
  readonly limiter: RateLimiter
  /** How many slots are left for `k`. */
  left(of?: RateLimiter): Promise<number>
  stats(): LimiterStats['policies'][number]['slots']
}

export function world(options: Partial<RateLimiterOptions> = {}): World {
  const time = virtualTime()
  const store = memoryStoreIn(time)
  const policy = concurrency(STREAMS)
  const limiter = new RateLimiter(inTime(time, { name: 'gateway', store, policy, ...options }))
  onTestFinished(() => limiter.close({ slots: 'expire' }))
  const left = async (of = limiter): Promise<number> => {
    const { policies } = await of.peek('k')
    return policies.find(({ policy: { name } }) => name === 'streams')?.remaining as number
  }
  const stats = () => limiter.stats().policies.find(({ policy: name }) => name === 'streams')?.slots
  return { time, store, limiter, left, stats }
}

interface Noted {
  readonly asked: StoreRequest[]
  readonly state: { isAway: boolean }
  readonly store: Store
}

/** A store that records its requests, and fails or waits when a test says so. */
export function noted(store: Store): Noted {
  const asked: StoreRequest[] = []
  const state = { isAway: false }
  const wrapper: Store = {
    decide(request) {
      asked.push(request)
      if (state.isAway) throw new Error('away')
      return store.decide(request)
    },
    reset: (target) => store.reset(target),
  }
  return { asked, state, store: wrapper }
}
