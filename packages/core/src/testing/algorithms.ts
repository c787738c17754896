// All policies and examples of the algorithms, for suites and tools that look at each of them.
// Nothing that index.ts imports may import this file, or every bundle would contain all algorithms.

import type { Kernel } from '../algorithms/algorithm.js'
import type { PolicyDescription, PolicyExample } from '../algorithms/description.js'
import type { Algorithm } from '../algorithms/policy.js'
import { algorithms } from './algorithms.generated.js'

export { algorithms } from './algorithms.generated.js'

/** The policies of all algorithms, by the names of their factories. */
export const policyFactories: Readonly<Record<string, PolicyDescription>> = Object.assign(
  {},
  ...Object.values(algorithms).map(({ policies }) => policies),
)

const byAlgorithm: ReadonlyMap<string, PolicyDescription> = new Map(
  Object.values(policyFactories).map((policy) => [policy.of(1, '1m').algorithm, policy]),
)

/** What a policy's algorithm says of it, such as `descriptionOf(policy.algorithm).bound(policy)`.
 *  Undefined for `unlimited`. */
export function descriptionOf(algorithm: Algorithm): PolicyDescription | undefined {
  return byAlgorithm.get(algorithm)
}

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
