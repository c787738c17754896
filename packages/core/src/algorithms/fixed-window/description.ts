import {
  type AlgorithmDescription,
  counted,
  inAnyWindow,
  ofWindows,
  twoWindows,
  UNITS,
} from '../description.js'
import { fixedWindow } from './policies.js'

export const description: AlgorithmDescription = {
  policies: {
    fixedWindow: {
      create: fixedWindow,
      of: (limit, window, name) => fixedWindow({ name, limit, window }),
      bound(policy) {
        const { limit: units } = policy
        if (policy.kernel?.periodAt === undefined) {
          const says = 'in any span as long as a window: twice the limit, around an edge'
          return inAnyWindow(2 * units, policy, says)
        }
        const says = 'in each period of the calendar: the limit'
        return { units, says, windowMs: undefined }
      },
      gridMs: ofWindows,
      limits: { ranges: () => counted(), isMonotone: true },
      cost: {
        first: 'get set',
        next: 'get set',
        denied: 'get',
        peek: 'get',
        bytes: 104,
        batched: 1.6,
        alone: 6.5,
      },
    },
  },
  examples: [
    {
      label: 'fixed window from the first request',
      limit: 7,
      make: (limit, times = 1) => fixedWindow({ name: 'fixed', limit, window: times * 10_000 }),
    },
    {
      label: 'fixed window, aligned',
      limit: 7,
      make: (limit, times = 1) =>
        fixedWindow({ name: 'fixed', limit, window: times * 420_000, aligned: true }),
    },
    {
      label: 'fixed window, of the calendar',
      limit: 7,
      make: (limit, times = 1) => {
        const window = (['day', 'week', 'month'] as const)[times - 1] ?? 'year'
        return fixedWindow({ name: 'fixed', limit, window, timeZone: 'America/New_York' })
      },
    },
  ],
  longestMs: twoWindows,
  api: UNITS,
}
