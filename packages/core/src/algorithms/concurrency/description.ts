import {
  type AlgorithmDescription,
  inAnyWindow,
  noGrid,
  twoWindows,
  UNITS,
} from '../description.js'
import { concurrency } from './policies.js'

export const description: AlgorithmDescription = {
  policies: {
    concurrency: {
      create: concurrency,
      of: (limit, window, name) => concurrency({ name, limit, holdTimeout: window }),
      bound: (policy) => inAnyWindow(policy.limit, policy, 'at any instant: the limit'),
      gridMs: noGrid,
      notInLogs: 'a log says when a request began or ended, not both',
      cost: {
        first: 'get set',
        next: 'get set',
        denied: 'get',
        peek: 'get',
        bytes: 104,
        batched: 5,
        alone: 16,
      },
    },
  },
  examples: [
    {
      label: 'slots',
      limit: 7,
      make: (limit, times = 1) =>
        concurrency({ name: 'slots', limit, holdTimeout: times * 10_007 }),
      exempt: ['b', 'by-key'],
    },
  ],
  longestMs: twoWindows,
  api: {
    ...UNITS,
    consume: 'takes 1',
    consumeUpTo: 'is refused',
    penalty: 'is refused',
    refund: 'gives nothing back',
    settle: 'changes nothing',
    release: 'gives all back',
    'deny cache': 'asks again',
    leases: 'take nothing',
    header: 'has no window',
    'after a loss': 'is renewed',
  },
}
