// How many series there can be. Labels come from the set-up; but names of limiters and of policies
// may be made by functions, so there could be any number of them.

import type { LimiterStats, PolicyStats } from '@weir/core'

/** Limiters that are distinguished. */
const MAX_LIMITERS = 2_000
/** Policies of all limiters that are distinguished; a limiter distinguishes 200 of its own. */
const MAX_POLICIES = 4_000
/** The name of all others. */
const OTHERS = '_other'

/** A name that is known stays known: counters must not fall. */
export class KnownNames {
  readonly #policies: Map<string, Set<string>> = new Map()
  #policyCount = 0

  /** The same under names of which there is a bounded number. */
  named(stats: LimiterStats): LimiterStats {
    const { limiter, policies } = stats
    const known = this.#policiesOf(limiter)
    if (known === undefined) {
      const other = policies.map(withoutName)
      return { ...stats, limiter: OTHERS, priorities: [], policies: other }
    }
    if (policies.every(({ policy }) => known.has(policy))) return stats
    return { ...stats, policies: policies.map((each) => this.#isKnown(known, each)) }
  }

  #policiesOf(limiter: string): Set<string> | undefined {
    const known = this.#policies.get(limiter)
    if (known !== undefined || this.#policies.size >= MAX_LIMITERS) return known
    const made = new Set<string>()
    this.#policies.set(limiter, made)
    return made
  }

  #isKnown(known: Set<string>, stats: PolicyStats): PolicyStats {
    if (known.has(stats.policy)) return stats
    if (this.#policyCount >= MAX_POLICIES) return withoutName(stats)
    known.add(stats.policy)
    this.#policyCount += 1
    return stats
  }
}

/** A limit of several policies would be that of none. */
function withoutName(stats: PolicyStats): PolicyStats {
  return { ...stats, policy: OTHERS, limit: undefined, factor: undefined }
}
