// Names by which a process tells counters apart: the limiter, the policy, and who is limited.

import { memoized } from '../../base/cache.js'
import { shortName } from '../../base/key-hash.js'
import { countedKey, counterId } from '../../request.js'
import type { PolicySet, Target } from '../../store.js'

/** Makes a function that names the counter of a target's policy, by the policy's place. */
export function counterIds(): (target: Target, place: number) => string {
  /** What the counters of each policy of a set have in common. */
  const headsOf: (policySet: PolicySet) => readonly string[] = memoized((policySet) =>
    policySet.policies.map((policy) => `${counterId(policySet, policy)}:`),
  )
  return (target, place) => headsOf(target.policySet)[place] + shortName(countedKey(target, place))
}
