// All subjects that count in this process.

import LocalStore from '@fastify/rate-limit/store/LocalStore.js'
import { ThrottlerStorageService } from '@nestjs/throttler'
import { type IncrementResponse, MemoryStore, type Options } from 'express-rate-limit'
import MemoryLimiter from 'koa-ratelimit/limiter/memory.js'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { MemorySubjectKind } from './subject.js'
import { weir } from './weir.js'

export const MAP = 'Map get + set'
const MAP_AND_TIME = 'Map get + set, and the time'
export const EXPRESS = 'express-rate-limit MemoryStore'

/**
 * Stores as little as a limiter can: a time, which V8 keeps in a separate object, as it does for
 * all numbers but small integers.
 */
const floor: MemorySubjectKind = {
  name: MAP,
  kind: 'floor',
  sync: true,
  open({ limit, windowMs }) {
    const ends = new Map<string, number>()
    const start = Date.now()
    return {
      ask(key) {
        const end = (ends.get(key) ?? start) + windowMs
        ends.set(key, end)
        return end
      },
      left: (end) => limit - ((end as number) - start) / windowMs,
      close: () => ends.clear(),
    }
  },
}

/** Does as little as a limiter can: it also has to know the time. */
const floorWithTime: MemorySubjectKind = {
  name: MAP_AND_TIME,
  kind: 'floor',
  sync: true,
  open({ windowMs }) {
    const ends = new Map<string, number>()
    return {
      ask(key) {
        const now = Date.now()
        const end = Math.max(ends.get(key) ?? 0, now) + windowMs
        ends.set(key, end)
        return end
      },
      left: () => Number.NaN,
      close: () => ends.clear(),
    }
  },
}

const expressRateLimit: MemorySubjectKind = {
  name: EXPRESS,
  kind: 'peer',
  sync: false,
  open({ limit, windowMs }) {
    const store = new MemoryStore()
    store.init({ windowMs } as Options)
    return {
      ask: (key) => store.increment(key),
      left: (answer) => Math.max(0, limit - (answer as IncrementResponse).totalHits),
      allowed: (answer) => (answer as IncrementResponse).totalHits <= limit,
      close: () => store.shutdown(),
    }
  },
}

const rateLimiterFlexible: MemorySubjectKind = {
  name: 'rate-limiter-flexible',
  kind: 'peer',
  sync: false,
  open({ limit, windowMs }) {
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1_000 })
    return {
      ask: (key) => limiter.consume(key),
      left: (answer) => (answer as RateLimiterRes).remainingPoints,
      allowed: () => true,
      close: () => {},
    }
  },
}

const koaRatelimit: MemorySubjectKind = {
  name: 'koa-ratelimit',
  kind: 'peer',
  sync: false,
  open({ limit, windowMs }) {
    const db = new Map<string, unknown>()
    return {
      ask: (id) => new MemoryLimiter({ db, id, max: limit, duration: windowMs }).get(),
      left: (answer) => (answer as { remaining: number }).remaining - 1,
      allowed: (answer) => (answer as { remaining: number }).remaining > 0,
      close: () => db.clear(),
    }
  },
}

const fastifyRateLimit: MemorySubjectKind = {
  name: '@fastify/rate-limit',
  kind: 'peer',
  sync: true,
  open({ limit, windowMs, most }) {
    // By default it keeps 5,000 keys and drops the rarest ones, whose counts then start again.
    const store = new LocalStore(false, false, most)
    let count = 0
    const done = (_error: Error | null, { current }: { current: number }): void => {
      count = current
    }
    return {
      ask(key) {
        store.incr(key, done, windowMs, limit)
        return count
      },
      left: (current) => Math.max(0, limit - (current as number)),
      allowed: (current) => (current as number) <= limit,
      close: () => {},
    }
  },
}

const nestThrottler: MemorySubjectKind = {
  name: '@nestjs/throttler',
  kind: 'peer',
  sync: false,
  // It keeps an entry for each request of a key and looks at all of them with each request, so the
  // time has no bound.
  not: ['one-key'],
  open({ limit, windowMs }) {
    const storage = new ThrottlerStorageService()
    return {
      ask: (key) => storage.increment(key, windowMs, limit, windowMs, 'default'),
      left: (answer) => Math.max(0, limit - (answer as { totalHits: number }).totalHits),
      allowed: (answer) => !(answer as { isBlocked: boolean }).isBlocked,
      close: () => storage.onApplicationShutdown(),
    }
  },
}

export const subjects: readonly MemorySubjectKind[] = [
  floor,
  floorWithTime,
  ...weir,
  expressRateLimit,
  rateLimiterFlexible,
  koaRatelimit,
  fastifyRateLimit,
  nestThrottler,
]
