import { durationMs } from '../../base/duration.js'
import {
  type AlgorithmDescription,
  inAnyWindow,
  noGrid,
  twoWindows,
  UNITS,
} from '../description.js'
import { budget } from './policies.js'

export const description: AlgorithmDescription = {
  policies: {
    budget: {
      create: budget,
      of(limit, window, name) {
        const windowMs = durationMs(window, 'window')
        const holdTimeout = Math.min(86_400_000, Math.max(1_000, windowMs))
        return budget({ name, limit, holdTimeout, forgetAfter: Math.max(2_000, 2 * windowMs) })
      },
      bound: (policy) => inAnyWindow(policy.limit, policy, 'in use at any instant: the limit'),
      gridMs: noGrid,
      notInLogs: 'a log does not say what each request was settled to',
      cost: {
        first: 'getrange set',
        next: 'getrange setrange',
        denied: 'getrange',
        peek: 'getrange',
        bytes: 144,
        batched: 5,
        alone: 16,
      },
    },
  },
  examples: [
    {
      label: 'budget of holds',
      limit: 7,
      make: (limit, times = 1) => {
        const holds = { holdTimeout: 10_007, forgetAfter: 40_028 } as const
        return budget({ name: `holds-${times}`, limit, ...holds })
      },
      exempt: ['by-key'],
    },
    {
      label: 'budget',
      limit: 7,
      make: (limit, times = 1) => budget({ name: `budget-${times}`, limit, forgetAfter: '20s' }),
    },
  ],
  longestMs: twoWindows,
  api: {
    ...UNITS,
    leases: 'take nothing',
    header: 'has no window',
  },
}
