// Types for parts of peers that have none.

declare module 'koa-ratelimit/limiter/redis.js' {
  import type { Redis } from 'ioredis'
  export default class Limiter {
    constructor(options: { db: Redis; id: string; max: number; duration: number })
    get(): Promise<{ remaining: number; reset: number; total: number }>
  }
}

declare module 'koa-ratelimit/limiter/memory.js' {
  export default class Limiter {
    constructor(options: { db: Map<string, unknown>; id: string; max: number; duration: number })
    get(): Promise<{ remaining: number; reset: number; total: number }>
  }
}

declare module 'koa-ratelimit' {
  import type { Context, Middleware } from 'koa'
  export default function ratelimit(options: {
    driver: 'memory' | 'redis'
    db: unknown
    max: number
    duration: number
    id?: (ctx: Context) => string
  }): Middleware
}

declare module '@fastify/rate-limit/store/RedisStore.js' {
  import type { Redis } from 'ioredis'
  export default class RedisStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, redis: Redis, key?: string)
    incr(
      key: string,
      done: (error: Error | null, answer: { current: number; ttl: number }) => void,
      timeWindow: number,
      max: number,
    ): void
  }
}

declare module '@fastify/rate-limit/store/LocalStore.js' {
  export default class LocalStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache?: number)
    readonly lru: { readonly size: number }
    incr(
      key: string,
      done: (error: Error | null, answer: { current: number; ttl: number }) => void,
      timeWindow: number,
      max: number,
    ): void
  }
}
