// Bounds the number of series. Labels come from the set-up, but functions may make names of
// limiters and policies, so there could be any number of them.

import type { LimiterStats } from '@weir/core'
import type { PolicyStats } from '@weir/core/store'

/** Limiters that are distinguished. */
const MAX_LIMITERS = 2_000
/** Policies that are distinguished, of all limiters; a limiter itself distinguishes 200. */
const MAX_POLICIES = 4_000
/** The name of all others. */
const OTHERS = '_other'

/** A known name stays known: counters must not fall. */
export class KnownNames {
  readonly #policies: Map<string, Set<string>> = new Map()
  #policyCount = 0

  /** The same stats, under one of a bounded number of names. */
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

/** Several policies share the name, so no limit would be right for all. */
function withoutName(stats: PolicyStats): PolicyStats {
  return { ...stats, policy: OTHERS, limit: undefined, factor: undefined }
}
