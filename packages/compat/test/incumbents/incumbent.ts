// What is common to the limiters that @weir/compat serves: each is set up once, over the store that
// it has for Redis or over Weir's, and asked by HTTP.

import type { RedisStore } from '@weir/core'
import type { Redis } from 'ioredis'

/** Where it counts. */
export type Counting =
  | { readonly kind: 'own'; readonly redis: Redis; readonly prefix: string }
  | {
      readonly kind: 'weir'
      readonly store: RedisStore
      readonly name: string
      /** Beside the name, for the factory. */
      readonly options?: object | undefined
    }

export interface Running {
  readonly url: string
  /** Calls a method that the limiter has for applications. */
  act?(what: string, user: string): Promise<string>
  close(): unknown
}

/** One major. */
export interface Version {
  readonly version: string
  /** With a limit of 3 a minute for each `user`, unless the options say otherwise. */
  serve(counting: Counting, options: object): Promise<Running>
}

export interface Incumbent {
  readonly name: string
  /** What counts for it in Redis where Weir does not. */
  readonly own: string
  /** How its documentation makes the client of that. */
  readonly client: (port: number) => Redis
  /** The newest first. */
  readonly versions: readonly Version[]
  readonly behaviours: readonly Behaviour[]
  /** Of the limiter's options: for how long, in ms, how many pass. */
  readonly limitedTo: (limit: number, windowMs: number) => object
  /** The status of a request that the limiter lets pass. */
  readonly passed: number
}

export interface Ask {
  /** Default `/`. */
  readonly path?: string
  /** Whose request it is. Default `ann`. */
  readonly user?: string
  /** What the application answers with. Default 200. */
  readonly status?: number
  /** How many ms go by before. As many as the answer before has said by `Retry-After`: `'told'`. */
  readonly afterMs?: number | 'told'
  /** How many of these are on their way at once. */
  readonly atOnce?: number
  /** Calls this method in place of a request. */
  readonly act?: string
}

/** Something that the limiter's documentation says. */
export interface Behaviour {
  readonly promise: string
  readonly options?: object
  readonly asks: readonly Ask[]
  /** Headers, or `body`, that are seen beside the status. */
  readonly look?: readonly string[]
  /** What its documentation promises, as `seen.ts` shows answers. */
  readonly seen: string
  /** Several servers that share a store are asked in turn. Default 1. */
  readonly servers?: number
  /** For Weir's factory, beside the name. */
  readonly factory?: object
  /** The versions that have it. Default: all. */
  readonly of?: readonly string[]
  /** What is otherwise over one of the stores, in the words of the table. */
  readonly differs?: { readonly own?: string; readonly weir?: string }
}

/** So many of the same. */
export function times(count: number, ask: Ask = {}): Ask[] {
  return Array.from({ length: count }, () => ask)
}

export function isOf({ of }: Behaviour, { version }: Version): boolean {
  return of === undefined || of.includes(version)
}
