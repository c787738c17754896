import { type AlgorithmDescription, inAnyWindow, noGrid, UNITS } from '../description.js'
import type { Policy } from '../policy.js'
import { lockout } from './policies.js'

function lockoutOf(limit: number, times: number, starts: 'limit' | 'excess'): Policy {
  const block = [1_000, 7_000, 30_000] as const
  return lockout({ name: 'lockout', limit, window: times * 10_000, block, forget: '1m', starts })
}

export const description: AlgorithmDescription = {
  policies: {
    lockout: {
      create: lockout,
      of: (limit, window, name) =>
        lockout({ name, limit, window, block: [window], forget: window }),
      bound(policy) {
        // A count ends with a block or with its window. A span as long as the window has at most
        // one window's edge in it.
        const blockMs = policy.numbers[4] as number
        const counts = 1 + Math.ceil(policy.windowMs / blockMs)
        const says =
          'in any span as long as a window: the limit, again after each of the first blocks'
        return inAnyWindow(counts * policy.limit, policy, says)
      },
      gridMs: noGrid,
      cost: {
        first: 'get set',
        next: 'get set',
        denied: 'get',
        peek: 'get',
        bytes: 120,
        batched: 5,
        alone: 16,
      },
    },
  },
  examples: [
    {
      label: 'lock-out',
      limit: 7,
      make: (limit, times = 1) => lockoutOf(limit, times, 'limit'),
      exempt: ['d', 'k'],
    },
    {
      label: 'lock-out by the excess',
      limit: 7,
      make: (limit, times = 1) => lockoutOf(limit, times, 'excess'),
      exempt: ['a', 'd', 'k'],
    },
  ],
  // A block lasts at most as long as the time after which it is forgotten.
  longestMs: ({ windowMs, numbers }) => Math.max(windowMs, numbers[2] as number) + 1,
  api: {
    ...UNITS,
    consume: 'takes 1',
    consumeUpTo: 'is refused',
    wait: 'does not wait',
    penalty: 'takes 1',
    settle: 'changes nothing',
    reserve: 'leaves nothing',
    block: 'denies',
    leases: 'take nothing',
    problem: 'abnormal-usage-detected',
  },
}
