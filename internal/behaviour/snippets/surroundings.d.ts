// The application around a snippet, which run.mjs makes. Declarations in a snippet hide these.

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
/** The client of a third party. */
declare const payments: { get(path: string): Promise<unknown> }

/** For the checks that follow some snippets, in comments. */
declare const assert: typeof import('node:assert/strict')
/** Repeats a check until it passes. */
declare function eventually(check: () => Promise<void>): Promise<void>
/** Sends a request to the server that listens. */
declare function ask(path: string, init?: RequestInit): Promise<Response>

/** The parts of Next that documents use. */
declare module 'next/server' {
  export class NextResponse extends Response {
    static next(): NextResponse
  }
}
declare module 'next/headers' {
  export function headers(): Promise<Headers>
}
