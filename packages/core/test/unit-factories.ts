// The policies that count units, which requests take by their costs and classes leave to each
// other. For lock-outs, which count attempts, and for concurrency, which has slots, see
// limiter/lockouts.test.ts and limiter/slots.test.ts.

import type { PolicyDescription } from '../src/algorithms/description.js'
import { algorithms } from '../src/testing/algorithms.js'

/** By the names of their factories. */
export const unitFactories: Readonly<Record<string, PolicyDescription>> = Object.assign(
  {},
  ...Object.values(algorithms)
    .filter(({ api }) => api.consume === 'takes 3')
    .map(({ policies }) => policies),
)
