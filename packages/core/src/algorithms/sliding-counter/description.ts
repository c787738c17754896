import {
  type AlgorithmDescription,
  counted,
  inAnyWindow,
  ofWindows,
  UNITS,
} from '../description.js'
import { slidingCounter } from './policies.js'

export const description: AlgorithmDescription = {
  policies: {
    slidingCounter: {
      create: slidingCounter,
      of: (limit, window, name) => slidingCounter({ name, limit, window }),
      bound(policy) {
        const units = Math.max(policy.limit, 2 * policy.limit - 1)
        const says = 'in any window: less than twice the limit, if requests are aimed at the grid'
        return inAnyWindow(units, policy, says)
      },
      gridMs: ofWindows,
      // Nothing proves it monotone: a refusal in one window lets more pass in the next.
      limits: {
        ranges: (windowMs) => counted(Math.floor(2 ** 53 / windowMs)),
        isMonotone: false,
      },
      cost: {
        first: 'get set',
        next: 'get set',
        denied: 'get',
        peek: 'get',
        bytes: 104,
        batched: 1.7,
        alone: 6.5,
      },
    },
  },
  examples: [
    {
      label: 'sliding counter',
      limit: 9,
      make: (limit, times = 1) =>
        slidingCounter({ name: 'counter', limit, window: times * 10_000 }),
    },
  ],
  // A full reset takes two windows.
  longestMs: ({ windowMs }) => 4 * windowMs,
  api: UNITS,
}
