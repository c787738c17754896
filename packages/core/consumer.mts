// A TypeScript application without a framework that has installed the packed tarballs. It is
// checked as ESM, and as CommonJS under its other name. So are the applications with a framework
// beside it.
import {
  type Decision,
  fixedWindow,
  memoryStore,
  RateLimiter,
  redisStore,
  tokenBucket,
} from '@weir/core'
import type { Store, StoreRequest, StoreResult } from '@weir/core/store'
import { fakeClock, storeConformance } from '@weir/core/testing'
import { Cluster, Redis } from 'ioredis'

const limiter = new RateLimiter({
  store: memoryStore(),
  policy: [
    tokenBucket({ name: 'burst', capacity: 20, refill: 10, every: '1s' }),
    fixedWindow({ name: 'daily', limit: 10_000, window: '1d' }),
  ],
})

export async function wait(key: string): Promise<number> {
  const decision: Decision = await limiter.consume(key, { cost: 2 })
  // Exists only on a denial.
  return decision.allowed ? 0 : decision.retryAfterMs
}

// @ts-expect-error a limit is a number
fixedWindow({ limit: 'many', window: '1m' })

/** A store around another one. */
class Counting implements Store {
  asked = 0
  readonly #store: Store = memoryStore({ clock: fakeClock() })
  decide(request: StoreRequest): StoreResult | Promise<StoreResult> {
    this.asked += 1
    const result = this.#store.decide(request)
    return 'then' in result ? result.then((settled) => settled) : result
  }
  reset(...target: Parameters<Store['reset']>): void | Promise<void> {
    return this.#store.reset(...target)
  }
}
export const counting = new RateLimiter({
  store: new Counting(),
  policy: fixedWindow({ limit: 1, window: '1m' }),
})
export const suite: typeof storeConformance = storeConformance

export const stores = [
  redisStore(new Redis({ lazyConnect: true })),
  redisStore(new Cluster([], { lazyConnect: true })),
]
