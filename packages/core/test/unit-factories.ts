// The factories of policies that count units, which requests take by their costs and classes leave
// to each other. For lock-outs, which count attempts, and for concurrency, which has slots, see
// limiter/lockouts.test.ts and limiter/slots.test.ts.

import { type PolicyFactory, policyFactories } from '../src/testing/algorithms.js'

/** By name. */
export const unitFactories: Readonly<Record<string, PolicyFactory>> = Object.fromEntries(
  Object.entries(policyFactories).filter(([, { of }]) => {
    const traits = of(1, '1m').kernel?.traits
    return !traits?.blocks && !traits?.holds
  }),
)
