// All algorithms, for suites and tools that look at each of them. Nothing that index.ts imports
// does, or every bundle would hold all of them.

import { bucket } from './bucket/entry.js'
import type { AlgorithmEntry, PolicyExample, PolicyFactory } from './entry.js'
import { fixedWindow } from './fixed-window/entry.js'
import { slidingCounter } from './sliding-counter/entry.js'
import { slidingLog } from './sliding-log/entry.js'

/** By the names of their folders. */
export const algorithms: Readonly<Record<string, AlgorithmEntry>> = {
  bucket,
  'fixed-window': fixedWindow,
  'sliding-log': slidingLog,
  'sliding-counter': slidingCounter,
}

const entries: readonly AlgorithmEntry[] = Object.values(algorithms)

/** The factories of all algorithms, by their names. */
export const policyFactories: Readonly<Record<string, PolicyFactory>> = Object.assign(
  {},
  ...entries.map(({ factories }) => factories),
)

export const policyExamples: readonly PolicyExample[] = entries.flatMap(({ examples }) => examples)
