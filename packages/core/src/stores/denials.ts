// Answers requests that were denied a moment ago, without asking Redis again. That is sound because a denied request
// changes nothing, and nothing but a refund, a reset or other numbers lets it pass before its wait is over; such a
// change made elsewhere shows within a second, one made here at once.

import type { PolicyFigures } from '../decision.js'
import type { Answer, Group, Plan } from '../store.js'
import { Recent } from './recent.js'

const MAX_AGE_US = 1_000_000
const MAX_KEYS = 20_000

interface Denial {
  readonly plan: Plan
  readonly costs: readonly number[]
  readonly answer: Answer
  readonly atUs: number
  /** Up to here it can be told what Redis would say. */
  readonly untilUs: number
}

export class Denials {
  readonly #denials: Recent<Denial> = new Recent(MAX_KEYS)
  readonly #nowUs: () => number

  /** @param nowUs a clock that does not step, or the injected one */
  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** What Redis would answer; undefined: it must be asked. Only a request of the very same costs is answered. */
  answer(id: string, group: Group): Answer | undefined {
    if (this.#denials.isEmpty) return undefined
    const denial = this.#denials.get(id)
    if (denial === undefined || denial.plan !== group.plan || group.mode !== 'consume') return undefined
    const nowUs = this.#nowUs()
    if (nowUs >= denial.untilUs || nowUs < denial.atUs) return undefined
    for (let i = 0; i < denial.costs.length; i += 1) if (denial.costs[i] !== group.costs[i]) return undefined
    return later(denial.answer, nowUs - denial.atUs)
  }

  /** Remembers a denial by the store; forgets the key after anything that may let it pass. */
  noted(id: string, group: Group, answer: Answer): void {
    if (group.mode === 'peek') return
    if (answer.allowed) {
      if (!this.#denials.isEmpty) this.#denials.delete(id)
      return
    }
    let waitUs = MAX_AGE_US
    for (const { retryAfterMs } of answer.figures) {
      if (retryAfterMs > 0) waitUs = Math.min(waitUs, retryAfterMs * 1_000)
    }
    const atUs = this.#nowUs()
    this.#denials.set(id, { plan: group.plan, costs: group.costs, answer, atUs, untilUs: atUs + waitUs })
  }

  forget(id: string): void {
    this.#denials.delete(id)
  }
}

/** The answer as it would be `us` later: all waits are shorter. */
function later(answer: Answer, us: number): Answer {
  const ms = Math.floor(us / 1_000)
  const figures: PolicyFigures[] = []
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
