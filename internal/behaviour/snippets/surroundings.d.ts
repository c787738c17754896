// The application around a snippet: run.mjs makes it. What a snippet declares itself hides what is
// here.

declare const app: import('express').Express
declare const authenticate: import('express').RequestHandler
declare const search: import('express').RequestHandler
declare const client: import('ioredis').Redis
declare const store: import('@weir/core').RedisStore
declare const limiter: import('@weir/core').RateLimiter
declare const decision: import('@weir/core').Decision
declare const loginPolicy: import('@weir/core').Policy
declare const policy: import('@weir/core').Policy
declare const key: string

/** Of the checks that follow some snippets, in comments. */
declare const assert: typeof import('node:assert/strict')
/** Waits until a check of it passes. */
declare function eventually(check: () => Promise<void>): Promise<void>
/** Asks the server that listens. */
declare function ask(path: string, init?: RequestInit): Promise<Response>

declare namespace Express {
  interface Request {
    user?: { id: string }
  }
}

/** As the types of Node 20 do not have it: what the recipe with SQLite uses. */
declare module 'node:sqlite' {
  export class DatabaseSync {
    constructor(path: string)
    exec(sql: string): void
    prepare(sql: string): {
      run(...values: (string | number)[]): unknown
      get(...values: (string | number)[]): Record<string, unknown> | undefined
    }
    close(): void
  }
}
