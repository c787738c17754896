// The messages between the runner and a client process. Plain data, since it is cloned on the way.
import type { Decision, RedisStoreOptions } from '@weir/core'

/** Where the user's Redis is. */
export type Address =
  | { readonly port: number }
  | { readonly sentinels: readonly number[]; readonly name: string }
  | { readonly cluster: readonly number[] }

/** A policy, as the name of the function that makes it and its options. */
export interface PolicySettings {
  readonly make: string
  readonly options: object
}

/** The setup of a user's process. */
export interface Job {
  readonly to: Address
  /** The client's options: see `Open`. */
  readonly client: 'recommended' | 'patient' | 'plain'
  /** One of `LIBRARIES`. By default, ioredis. */
  readonly library?: string
  /** Options of redisStore. */
  readonly store?: RedisStoreOptions
  readonly policy: PolicySettings
  /** Requests go to these keys in turn. */
  readonly keys: readonly string[]
  readonly ratePerSecond: number
  /** The number of requests that come at the same moment. Default 1. */
  readonly atOnce?: number
  /** The number of clients, each with a store, which are used in turn. Default 1. */
  readonly stores?: number
  /** False: the load starts at once, whether or not Redis is there. Default true. */
  readonly awaitReady?: boolean
  /** What is done instead of `consume`. Wait for up to half a second; every tenth wait is aborted
   *  earlier. Or wait for as long as it takes. Or consume, and settle half a second later at twice
   *  the cost or at none. */
  readonly does?: 'wait' | 'queue' | 'settle'
  /** How many peeks of another key follow each decision. */
  readonly peeks?: number
  /** Every second request is a plain INCR on the same client, for comparison. */
  readonly control?: boolean
  /** Instead of a load: this many distinct keys, as fast as possible. */
  readonly flood?: number
}

export type ToClient =
  | { readonly do: 'start'; readonly job: Job }
  /** Asks how much is left for each key. */
  | { readonly do: 'peek' }
  /** Sends requests for `Job.flood` distinct keys, as fast as possible. */
  | { readonly do: 'flood' }
  /** Waits until everything that was admitted without the store has been counted in it. */
  | { readonly do: 'recover' }
  | Stop

/** Ends the load, closes the store and then the client, and lets the process end by itself. */
export interface Stop {
  readonly do: 'stop'
  /** How long to wait for outstanding answers before the store is closed. */
  readonly drainMs: number
}

export type FromClient =
  | { readonly is: 'started' }
  | { readonly is: 'log'; readonly log: Log }
  | { readonly is: 'peeked'; readonly remaining: readonly number[] }
  | { readonly is: 'flooded'; readonly flood: Flood }
  | { readonly is: 'recovered'; readonly recovered: Recovered }
  | { readonly is: 'closed'; readonly closing: Closing }

/** The key under which the plain commands are recorded that decisions are compared with. */
export const CONTROL = '(control)'

/** One request. Times are ms on the machine's monotonic clock, which all processes share. */
export interface Sample {
  readonly at: number
  /** Infinity if it was never answered. */
  readonly ms: number
  readonly key: string
  readonly allowed: boolean
  readonly source: Decision['source']
  readonly degraded: boolean
  readonly error?: string
  /** The end of the charged window, on the store's clock, which identifies the window. */
  readonly untilUs?: number
}

/** The event loop was late: a turn was due at `at`, and came `ms` later. */
export interface Stall {
  readonly at: number
  readonly ms: number
  /** The CPU time that the process used in between; the rest is due to the machine. */
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
  /** Listeners on the user's client that were added after the store was made. */
  readonly leftListeners: readonly string[]
  /** What keeps the process alive after the client was closed, as Node names it, to explain a
   *  failure. */
  readonly resources: readonly string[]
}

export interface Recovered {
  /** The number of keys that were to be counted in the store. */
  readonly keys: number
  /** As in `Flood`, while keys are counted. */
  readonly longestTurnMs: number
}

export interface Flood {
  readonly p99: number
  readonly memoryGrowthMb: number
  /** The longest turn of the event loop, in CPU time of the process: the time of a sweep. */
  readonly longestTurnMs: number
  /** The CPU time of a whole collection of garbage at the end: how fast the machine is. */
  readonly collectionMs: number
  readonly errors: number
  /** Whether the key that was exhausted before the flood was admitted after it. */
  readonly exhaustedAdmitted: boolean
}
