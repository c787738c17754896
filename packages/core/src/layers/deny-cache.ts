// Answers requests that were denied a moment ago, without asking Redis again. A denied request
// changes nothing, and nothing but a refund, a reset or other numbers lets it pass before its wait
// is over. Such a change made through this store shows once it is done, one made elsewhere within a
// second.
//
// No denial is remembered for longer than Redis would deny: its end is counted from when the call
// was sent, which is before Redis decided, and is where the wait, which is rounded up to whole ms,
// is over at the earliest.

import { Recent } from '../base/cache.js'
import type { PolicyResult } from '../limiter/decision.js'
import type { PolicySet, StoreRequest, StoreResult, Target } from '../store.js'

const MAX_AGE_US = 1_000_000
const MAX_KEYS = 20_000
/** A shorter wait is over before it would spare many calls, and what is lost by rounding it would
 *  be half of a rate. */
const LEAST_WAIT_MS = 2

interface Denial {
  readonly policySet: PolicySet
  readonly costs: readonly number[]
  readonly answer: StoreResult
  /** When it was read: its waits are counted down from here, so that none is too short. */
  readonly atUs: number
  /** Up to here, and not including it, Redis would deny. */
  readonly untilUs: number
}

export class Denials {
  #denials: Recent<Denial> = new Recent(MAX_KEYS)
  /** Whether a denial may concern policies with keys of their own. */
  #hasOwnKeys = false
  /** When units were last given back or forgotten, by performance.now(). */
  #changedMs = Number.NEGATIVE_INFINITY
  readonly #clockUs: () => number | undefined

  /** @param clockUs the store's time, where it is injected */
  constructor(clockUs: () => number | undefined) {
    this.#clockUs = clockUs
  }

  /** What Redis would answer; undefined: it must be asked. Only a request of the very same costs is answered. */
  answer(id: string, group: StoreRequest): StoreResult | undefined {
    if (this.#denials.isEmpty) return undefined
    const denial = this.#denials.get(id)
    if (denial === undefined || denial.policySet !== group.policySet || group.mode !== 'consume')
      return undefined
    const nowUs = this.#clockUs() ?? performance.now() * 1_000
    if (nowUs >= denial.untilUs || nowUs < denial.atUs) return undefined
    for (let i = 0; i < denial.costs.length; i += 1)
      if (denial.costs[i] !== group.costs[i]) return undefined
    return later(denial.answer, Math.floor(nowUs - denial.atUs))
  }

  /**
   * Remembers a denial by the store; forgets the key after anything that may let it pass.
   * @param sentMs when the call was sent, by performance.now()
   */
  noted(id: string, group: StoreRequest, answer: StoreResult, sentMs: number): void {
    if (group.mode === 'refund') this.changed(id, group)
    else if (group.mode === 'peek') return
    else if (!answer.allowed) this.#remember(id, group, answer, sentMs)
    else if (!this.#denials.isEmpty) this.#denials.delete(id)
  }

  /**
   * Units were given back or forgotten. Of calls that are under way, nobody knows whether they were
   * denied before or after. An own key may be shared by any of the limiter's targets, so where
   * there is one all are forgotten.
   */
  changed(id: string, { ownKeys }: Target): void {
    this.#changedMs = performance.now()
    if (this.#denials.isEmpty) return
    if (ownKeys === undefined && !this.#hasOwnKeys) {
      this.#denials.delete(id)
      return
    }
    this.#denials = new Recent(MAX_KEYS)
    this.#hasOwnKeys = false
  }

  #remember(
    id: string,
    { policySet, costs, ownKeys }: StoreRequest,
    answer: StoreResult,
    sentMs: number,
  ): void {
    if (sentMs <= this.#changedMs) return
    let waitMs = Number.POSITIVE_INFINITY
    for (const { retryAfterMs } of answer.figures)
      if (retryAfterMs > 0) waitMs = Math.min(waitMs, retryAfterMs)
    if (waitMs < LEAST_WAIT_MS) return
    const isInjected = this.#clockUs() !== undefined
    const sentUs = isInjected ? answer.nowUs : sentMs * 1_000
    const atUs = isInjected ? answer.nowUs : performance.now() * 1_000
    // One ms less than the whole wait, which is denied for certain, and one us more, so that this
    // one is.
    const untilUs = sentUs + Math.min(MAX_AGE_US, (waitMs - 1) * 1_000 + 1)
    this.#denials.set(id, { policySet, costs, answer, atUs, untilUs })
    if (ownKeys !== undefined) this.#hasOwnKeys = true
  }
}

/** The answer as it would be `us` later: all waits are shorter. */
function later(answer: StoreResult, us: number): StoreResult {
  const ms = Math.floor(us / 1_000)
  const figures: PolicyResult[] = []
  for (const { policy, cost, limit, remaining, retryAfterMs, resetAfterMs } of answer.figures) {
    figures.push({
      policy,
      cost,
      limit,
      remaining,
      retryAfterMs: retryAfterMs > ms ? retryAfterMs - ms : 0,
      resetAfterMs: resetAfterMs > ms ? resetAfterMs - ms : 0,
    })
  }
  const { nowUs, untilUs } = answer
  return { allowed: false, nowUs: nowUs + us, untilUs, figures, source: 'local', degraded: false }
}
