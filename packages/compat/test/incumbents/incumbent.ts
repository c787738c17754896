// What the limiters that @weir/compat serves share: each is set up once, with its own store for
// Redis or with Weir's, and gets requests over HTTP.

import type { RedisStore } from '@weir/core'
import type { Redis } from 'ioredis'

/** The store in which it counts. */
export type Counting =
  | { readonly kind: 'own'; readonly redis: Redis; readonly prefix: string }
  | {
      readonly kind: 'weir'
      readonly store: RedisStore
      readonly name: string
      /** For the factory, in addition to the name. */
      readonly options?: object | undefined
    }

export interface Running {
  readonly url: string
  /** Calls a method that the limiter offers to applications. */
  act?(what: string, user: string): Promise<string>
  close(): unknown
}

/** One major version. */
export interface Version {
  readonly version: string
  /** Serves with a limit of 3 a minute for each `user`, unless the options say otherwise. */
  serve(counting: Counting, options: object): Promise<Running>
}

export interface Incumbent {
  readonly name: string
  /** The name of its own store for Redis. */
  readonly own: string
  /** Makes the client of that store as its documentation does. */
  readonly client: (port: number) => Redis
  /** The newest first. */
  readonly versions: readonly Version[]
  readonly behaviours: readonly Behaviour[]
  /** The limiter's options for a limit and a window in ms. */
  readonly limitedTo: (limit: number, windowMs: number) => object
  /** The status of an allowed request. */
  readonly passed: number
}

export interface Ask {
  /** Default `/`. */
  readonly path?: string
  /** The user who sends the request. Default `ann`. */
  readonly user?: string
  /** The status of the application's response. Default 200. */
  readonly status?: number
  /** How many ms pass before the request. `'told'`: as many as `Retry-After` of the last
   *  response. */
  readonly afterMs?: number | 'told'
  /** How many of these requests are sent at once. */
  readonly atOnce?: number
  /** Calls this method in place of a request. */
  readonly act?: string
}

/** A behaviour that the limiter's documentation describes. */
export interface Behaviour {
  readonly promise: string
  readonly options?: object
  readonly asks: readonly Ask[]
  /** Headers, or `body`, that are compared in addition to the status. */
  readonly look?: readonly string[]
  /** What its documentation promises, in the form in which `seen.ts` shows responses. */
  readonly seen: string
  /** The number of servers that share a store and get requests in turn. Default 1. */
  readonly servers?: number
  /** For Weir's factory, in addition to the name. */
  readonly factory?: object
  /** The versions with this behaviour. Default: all. */
  readonly of?: readonly string[]
  /** How the behaviour differs with one of the stores, in the words of the table. */
  readonly differs?: { readonly own?: string; readonly weir?: string }
}

/** What each of them documents of its limit. */
export function counting({ limitedTo }: Pick<Incumbent, 'limitedTo'>): Behaviour[] {
  return [
    {
      promise: 'requests of a key beyond the limit are refused until the window ends',
      asks: [...times(4), { user: 'bob' }],
      seen: '200 x3, 429, 200',
    },
    {
      promise: 'a new window begins when it is over',
      options: limitedTo(3, 2_000),
      asks: [...times(4), { afterMs: 2_200 }],
      seen: '200 x3, 429, 200',
    },
    {
      promise: 'servers on one Redis count together, also requests at once',
      servers: 2,
      options: limitedTo(10, 60_000),
      asks: [{ atOnce: 30 }],
      seen: '200 x10, 429 x20',
    },
  ]
}

/** The same request, this many times. */
export function times(count: number, ask: Ask = {}): Ask[] {
  return Array.from({ length: count }, () => ask)
}

export function isOf({ of }: Behaviour, { version }: Version): boolean {
  return of === undefined || of.includes(version)
}
