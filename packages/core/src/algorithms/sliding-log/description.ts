import {
  type AlgorithmDescription,
  counted,
  inAnyWindow,
  type PolicyDescription,
  UNITS,
} from '../description.js'
import { slidingLog, slidingWindow } from './policies.js'

/** The largest limit of an exact log whose window has this many ms. */
const LONGEST_LOG = 100_000
/** The largest limit up to which slidingWindow counts exactly. */
const EXACT = 61

/** The quantum is the last number. */
const common: Pick<PolicyDescription, 'bound' | 'gridMs'> = {
  bound: (policy) => inAnyWindow(policy.limit, policy, 'in any window: the limit'),
  gridMs: ({ numbers }) => [numbers[2] as number],
}
const cost = {
  first: 'lindex pexpire rpush',
  denied: '2 lindex',
  peek: '2 lindex',
  bytes: 184,
  batched: 2.4,
  alone: 7.5,
}

export const description: AlgorithmDescription = {
  policies: {
    slidingWindow: {
      ...common,
      create: slidingWindow,
      of: (limit, window, name) => slidingWindow({ name, limit, window }),
      limits: {
        ranges: () => [
          ...counted(EXACT),
          // What is in use has passed in a window and a part of one, which two windows cover.
          ...counted().map((range) => ({ ...range, least: EXACT + 1, timesBefore: 2 })),
        ],
        isMonotone: true,
      },
      cost: { ...cost, next: '2 lindex lset' },
    },
    slidingLog: {
      ...common,
      create: slidingLog,
      of: (limit, window, name) => slidingLog({ name, limit, window }),
      limits: {
        ranges: (windowMs) => counted(windowMs > LONGEST_LOG ? LONGEST_LOG : undefined),
        isMonotone: true,
      },
      cost: { ...cost, next: '2 lindex rpush' },
    },
  },
  examples: [
    {
      label: 'exact log',
      limit: 7,
      make: (limit, times = 1) => slidingLog({ name: 'log', limit, window: times * 10_000 }),
    },
    {
      label: 'sliding window of 10 parts',
      limit: 30,
      make: (limit, times = 1) =>
        slidingWindow({ name: 'log', limit, window: times * 7_000, parts: 10 }),
    },
  ],
  longestMs: ({ windowMs, numbers }) => 2 * (windowMs + (numbers[2] as number)),
  api: UNITS,
}
