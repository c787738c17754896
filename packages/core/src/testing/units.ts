// Asks a policy in units, as a store is asked: under a lock-out, a limiter would count one attempt,
// whatever it costs. So suites test the arithmetic of all kernels in one way.

import type { Policy } from '../algorithms/policy.js'
import type { Decision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import { decisionOf } from '../limiter/pending-decision.js'
import { correctionOf, makePolicySet } from '../request.js'
import type { Mode, Store, StoreRequest } from '../store.js'

/** The methods of a limiter that suites call. */
export type Subject = Pick<RateLimiter, 'consume' | 'peek' | 'penalty' | 'refund' | 'reset'>

/** @param name the limiter's name */
export function inUnits(store: Store, name: string, policy: Policy): Subject {
  const policySet = makePolicySet(name, [policy])

  async function ask(mode: Mode, key: unknown, cost: unknown = 1): Promise<Decision> {
    const target = { policySet, key: String(key) }
    const request = { mode, target, costs: [cost], count: 1 } as StoreRequest
    return decisionOf(request, await store.decide(request))
  }

  async function refund(of: unknown, { cost }: { readonly cost?: unknown } = {}): Promise<void> {
    const { receipt } = of as Extract<Decision, { allowed: true }>
    if (typeof of !== 'object') await ask('refund', of, cost)
    else if (receipt.request !== undefined && receipt.result !== undefined && !receipt.spent) {
      receipt.spent = true
      const { target, costs } = receipt.request
      await store.decide(correctionOf('refund', target, costs, receipt.result))
    }
  }

  return {
    consume: (key, options) => ask('consume', key, options?.cost),
    peek: (key, options) => ask('peek', key, options?.cost),
    penalty: (key, options) => ask('penalty', key, options?.cost),
    refund,
    reset: async (key) => store.reset({ policySet, key: String(key) }),
  }
}
