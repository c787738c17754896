// What a test has seen of a limiter's decisions, which `limiter.stats()` should have counted.

import type { Decision, LimiterStats, RateLimiter } from '../../src/index.js'

/** The non-zero counts, by name. */
type Counts = Readonly<Record<string, number>>

export class Tally {
  readonly #counts: Map<string, number> = new Map()
  /** Whether the store is away from now on. */
  isAway = false

  /** A decision of any method that takes something. */
  decided(decision: Decision): void {
    const { allowed, source, degraded, priority, policy, policies } = decision
    const outcome = allowed ? 'allowed' : 'denied'
    this.#add(`decision ${outcome} ${source}${degraded ? ' degraded' : ''}`)
    if (priority !== undefined) this.#add(`class ${priority} ${outcome}`)
    if (!decision.allowed) {
      const { cost = 0 } = policies.find((each) => each.policy === policy) ?? {}
      this.#add(`${policy.name} ${decision.reason}`)
      this.#add(`${policy.name} denied`, cost)
      return
    }
    for (const each of policies) this.#add(`${each.policy.name} taken`, each.cost)
    if (decision.remaining <= decision.limit / 5) this.#add(`${policy.name} near`)
  }

  /** What `refund` gave back of a decision. */
  refunded(decision: Decision): void {
    if (!decision.allowed) return
    for (const { policy, cost } of decision.policies) this.#add(`${policy.name} refunded`, cost)
  }

  /** What `settle` did to a decision that was charged `cost` by each policy. */
  settled({ allowed, degraded, policies }: Decision, actual: number): void {
    if (!allowed) return
    for (const { policy, cost } of policies) {
      if (actual > cost) this.#add(`${policy.name} taken`, actual - cost)
      // Without the store nothing is refunded, nor is anything of a local decision.
      else if (!degraded && !this.isAway) this.#add(`${policy.name} refunded`, cost - actual)
    }
  }

  /** The result of a penalty. */
  punished({ policies }: Decision): void {
    for (const { policy, cost } of policies) this.#add(`${policy.name} penalty`, cost)
  }

  get counts(): Counts {
    return sorted(this.#counts)
  }

  #add(name: string, by = 1): void {
    if (by !== 0) this.#counts.set(name, (this.#counts.get(name) ?? 0) + by)
  }
}

/** What the limiter has counted, in the form of a tally. */
export function countsOf(limiter: RateLimiter): Counts {
  const { decisions, priorities, policies }: LimiterStats = limiter.stats()
  const counts = new Map<string, number>()
  for (const { outcome, source, degraded, count } of decisions)
    counts.set(`decision ${outcome} ${source}${degraded ? ' degraded' : ''}`, count)
  for (const { priority, outcome, count } of priorities)
    counts.set(`class ${priority} ${outcome}`, count)
  for (const { policy, denials, nearLimit, units } of policies) {
    for (const [reason, count] of Object.entries(denials)) counts.set(`${policy} ${reason}`, count)
    for (const [kind, count] of Object.entries(units)) counts.set(`${policy} ${kind}`, count)
    counts.set(`${policy} near`, nearLimit)
  }
  return sorted(counts)
}

function sorted(counts: ReadonlyMap<string, number>): Counts {
  return Object.fromEntries([...counts].filter(([, count]) => count !== 0).sort())
}
