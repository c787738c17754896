// Counters as a process tells them apart: of a limiter and policy, and of whom it limits.

import { memoized } from '../../base/cache.js'
import { shortName } from '../../base/key-hash.js'
import { countedKey, counterId } from '../../request.js'
import type { PolicySet, Target } from '../../store.js'

/** Makes a function that names the counter of a policy of a target, by its place. */
export function counterIds(): (target: Target, place: number) => string {
  /** Of each policy of a set, what its counters have in common. */
  const headsOf: (policySet: PolicySet) => readonly string[] = memoized((policySet) =>
    policySet.policies.map((policy) => `${counterId(policySet, policy)}:`),
  )
  return (target, place) => headsOf(target.policySet)[place] + shortName(countedKey(target, place))
}
