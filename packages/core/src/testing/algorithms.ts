// All policies and examples of the algorithms, for suites that look at each of them. Nothing that
// index.ts imports may import this file, or every bundle would contain all algorithms.

import type { Kernel } from '../algorithms/algorithm.js'
import type { PolicyDescription, PolicyExample } from '../algorithms/description.js'
import { algorithms } from './algorithms.generated.js'

export { algorithms } from './algorithms.generated.js'

/** The policies of all algorithms, by the names of their factories. */
export const policyFactories: Readonly<Record<string, PolicyDescription>> = Object.assign(
  {},
  ...Object.values(algorithms).map(({ policies }) => policies),
)

export const policyExamples: readonly PolicyExample[] = Object.values(algorithms).flatMap(
  ({ examples }) => examples,
)

/** Their kernels, by the names of their folders. */
export const kernels: Readonly<Record<string, Kernel>> = Object.fromEntries(
  Object.entries(algorithms).map(([folder, { examples }]) => [
    folder,
    examples[0]?.make(1).kernel as Kernel,
  ]),
)
