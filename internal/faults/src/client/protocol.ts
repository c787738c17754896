// What travels between the runner and a client process. Plain data: it is cloned on the way.
import type { Decision, RedisStoreOptions } from '@weir/core'

/** Where the user's Redis is. */
export type Address =
  | { readonly port: number }
  | { readonly sentinels: readonly number[]; readonly name: string }
  | { readonly cluster: readonly number[] }

/** A policy by the name of the function that makes it, and its options. */
export interface PolicySettings {
  readonly make: string
  readonly options: object
}

/** Whose client the process has. */
export type Library = (typeof LIBRARIES)[number]
export const LIBRARIES = ['ioredis', 'iovalkey', 'node-redis', 'glide'] as const

/** What a user's process is set up to do. */
export interface Job {
  readonly to: Address
  /** The client's options: those that Weir recommends, or none. */
  readonly client: 'recommended' | 'plain'
  /** Default ioredis. */
  readonly library?: Library
  /** Options of redisStore. */
  readonly store?: RedisStoreOptions
  readonly policy: PolicySettings
  /** A second policy of each request, on a key of its own. */
  readonly also?: { readonly policy: PolicySettings; readonly key: string }
  /** Requests go to these keys in turn. */
  readonly keys: readonly string[]
  readonly ratePerSecond: number
  /** Requests that come at the same moment. Default 1. */
  readonly atOnce?: number
  /** Clients, each with a store of its own, used in turn. Default 1. 0: no Redis, a memory store;
   *  for a flood. */
  readonly stores?: number
  /** False: the load starts at once, whether Redis is there or not. Default true. */
  readonly awaitReady?: boolean
  /** How far the host's clock is off. */
  readonly skewMs?: number
  /** The first command of this name fails without reaching Redis. */
  readonly failFirst?: string
  /** What is done instead of `consume`: wait for up to half a second, of which every tenth is
   *  left earlier; or consume, and settle half a second later at twice the cost or at none. */
  readonly does?: 'wait' | 'settle'
  /** Every second request is a plain INCR on the same client, to compare with. */
  readonly control?: boolean
  /** Instead of a load: so many distinct keys, as fast as they go. */
  readonly flood?: number
}

export type ToClient =
  | { readonly do: 'start'; readonly job: Job }
  /** Asks what is left for each key. */
  | { readonly do: 'peek' }
  /** Distinct keys, as fast as they go: `Job.flood` of them. */
  | { readonly do: 'flood' }
  /** Waits until what was admitted without the store has been counted in it. */
  | { readonly do: 'recover' }
  | Stop

/** Ends the load, closes the store, then the client, and lets the process end by itself. */
export interface Stop {
  readonly do: 'stop'
  /** How long to wait, before the store is closed, for answers that are still out. */
  readonly drainMs: number
}

export type FromClient =
  | { readonly is: 'started' }
  | { readonly is: 'log'; readonly log: Log }
  | { readonly is: 'peeked'; readonly remaining: readonly number[] }
  | { readonly is: 'flooded'; readonly flood: Flood }
  | { readonly is: 'recovered'; readonly recovered: Recovered }
  | { readonly is: 'closed'; readonly closing: Closing }

/** The key under which plain commands are taken down that decisions are compared with. */
export const CONTROL = '(control)'

/** One request. Times are ms on the machine's monotonic clock, which all processes share. */
export interface Sample {
  readonly at: number
  /** Infinity: never answered. */
  readonly ms: number
  readonly key: string
  readonly allowed: boolean
  readonly source: Decision['source']
  readonly degraded: boolean
  readonly error?: string
  /** The end of the window that was charged, on the store's clock: tells windows apart. */
  readonly untilUs?: number
  /** How wrong the decision's reset time is, against that end and the true time. */
  readonly resetOffMs?: number
}

/** The event loop was late: it should have turned at `at` and did so `ms` later. */
export interface Stall {
  readonly at: number
  readonly ms: number
  /** CPU time that the process itself used meanwhile: the rest is the machine's fault. */
  readonly ownMs: number
}

export interface Transition {
  readonly at: number
  readonly state: string
}

export interface StoreEvent {
  readonly at: number
  readonly name: string
  readonly detail: string
}

export interface Log {
  readonly samples: readonly Sample[]
  readonly stalls: readonly Stall[]
  readonly transitions: readonly Transition[]
  readonly events: readonly StoreEvent[]
  /** Uncaught exceptions, unhandled rejections and warnings. */
  readonly crashes: readonly string[]
  readonly rejections: readonly string[]
  readonly warnings: readonly string[]
}

export interface Closing {
  /** How long store.close() took. */
  readonly closeMs: number
  /** Listeners on the user's client that were not there before the store was made. */
  readonly leftListeners: readonly string[]
  /** What keeps the process alive after the client was closed, as Node names it; for the reader of
   *  a failure. */
  readonly resources: readonly string[]
}

export interface Recovered {
  /** Those that were to be counted in the store. */
  readonly keys: number
  /** As in `Flood`: what is counted at once. */
  readonly longestTurnMs: number
}

export interface Flood {
  readonly p50: number
  readonly p99: number
  readonly memoryGrowthMb: number
  /** The longest turn of the event loop by the process's own CPU time: what a sweep takes at
   *  once. */
  readonly longestTurnMs: number
  readonly errors: number
  readonly admitted: number
  /** Whether the key that was exhausted before the flood was admitted again after it. */
  readonly exhaustedAdmitted: boolean
}
