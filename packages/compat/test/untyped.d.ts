// koa-ratelimit has no types, and those of async-ratelimiter are types in name only.

declare module 'koa-ratelimit' {
  import type { Middleware } from 'koa'

  export default function ratelimit(options: object): Middleware
}

declare module 'koa-ratelimit-5' {
  export { default } from 'koa-ratelimit'
}

declare module 'async-ratelimiter-1.5' {
  export { default } from 'async-ratelimiter'
}

declare module 'async-ratelimiter-1.3' {
  export { default } from 'async-ratelimiter'
}
