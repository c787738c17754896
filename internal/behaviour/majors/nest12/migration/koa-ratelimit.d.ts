// koa-ratelimit has no types. These options are from its README and its source.

declare module 'koa-ratelimit' {
  import type { Context, Middleware } from 'koa'

  export interface Options {
    driver?: string
    db?: unknown
    duration?: number
    max?: number
    id?: (ctx: Context) => string | false | undefined
    namespace?: string
    headers?: { remaining?: string; reset?: string; total?: string }
    disableHeader?: boolean
    errorMessage?: unknown
    status?: number
    throw?: boolean
    whitelist?: (ctx: Context) => boolean | Promise<boolean>
    blacklist?: (ctx: Context) => boolean | Promise<boolean>
    onLimited?: (ctx: Context) => void
  }

  export default function ratelimit(options: Options): Middleware
}
