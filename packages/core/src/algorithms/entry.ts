// What suites and tools know of an algorithm: see registry.ts.

import type { Duration } from '../base/duration.js'
import type { Kernel } from './algorithm.js'
import type { Policy } from './policy.js'

export interface AlgorithmEntry {
  readonly kernel: Kernel
  /** The factories of its policies, by their names. */
  readonly factories: Readonly<Record<string, PolicyFactory>>
  /** Policies that a store has to keep exactly, with numbers that divide badly. */
  readonly examples: readonly PolicyExample[]
}

export interface PolicyFactory {
  /** The factory itself, for options of its own. */
  readonly create: (options: never) => Policy
  /** A policy of a limit, which comes back in `window`. */
  readonly of: (limit: number, window: Duration) => Policy
}

export interface PolicyExample {
  readonly label: string
  readonly limit: number
  /** The policy with a limit, on a time scale that is so many times the usual one. */
  readonly make: (limit: number, times?: number) => Policy
}
