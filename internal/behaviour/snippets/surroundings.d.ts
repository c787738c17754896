// The application around a snippet. What a snippet declares itself hides what is here.

declare const app: import('express').Express
declare const authenticate: import('express').RequestHandler
declare const search: import('express').RequestHandler
declare const client: import('ioredis').Redis
declare const store: import('@weir/core').RedisStore
declare const limiter: import('@weir/core').RateLimiter
declare const loginPolicy: import('@weir/core').Policy
declare const key: string

declare namespace Express {
  interface Request {
    user?: { id: string }
  }
}
