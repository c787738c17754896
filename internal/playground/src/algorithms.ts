// Every algorithm, as a policy with the page's settings, and the most that it lets through in any
// window, by the formulas that also generate the table in docs/algorithms.md.

import {
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { aimedAtGrid, anyWindow, aroundEdge, fromBucket } from '../../fleet/src/promises/bounds.js'
import { type Settings, WINDOWS } from './settings.js'

/** The settings that a policy is made from. */
export type Numbers = Pick<Settings, 'limit' | 'window' | 'burst'>

export interface Algorithm {
  readonly id: string
  readonly title: string
  /** What the algorithm does, in a sentence. */
  readonly says: string
  policy(numbers: Numbers): Policy
  /** The policy in code, as a user writes it. */
  call(numbers: Numbers): string
  /** The most units in any window. */
  bound(numbers: Numbers): number
  /** The bound, in words. */
  readonly because: string
  /** Whether its windows begin on the clock's. */
  readonly isOnClock: boolean
}

const AROUND_EDGE = 'twice the limit, around an edge'

export const ALGORITHMS: readonly Algorithm[] = [
  {
    id: 'sliding-window',
    title: 'Sliding window',
    says: 'The default. Strict; above a limit of 61, what was taken comes back by sixtieths of the window.',
    policy: ({ limit, window }) => slidingWindow({ limit, window }),
    call: ({ limit, window }) => `slidingWindow({ limit: ${limit}, window: '${window}' })`,
    bound: ({ limit }) => anyWindow(limit),
    because: 'the limit',
    isOnClock: false,
  },
  {
    id: 'sliding-log',
    title: 'Sliding log',
    says: 'Exact to the millisecond: each unit comes back one window after it was taken.',
    policy: ({ limit, window }) => slidingLog({ limit, window }),
    call: ({ limit, window }) => `slidingLog({ limit: ${limit}, window: '${window}' })`,
    bound: ({ limit }) => anyWindow(limit),
    because: 'the limit',
    isOnClock: false,
  },
  {
    id: 'fixed-window',
    title: 'Fixed window',
    says: 'Begins with a key’s first request. All comes back when the window ends.',
    policy: ({ limit, window }) => fixedWindow({ limit, window }),
    call: ({ limit, window }) => `fixedWindow({ limit: ${limit}, window: '${window}' })`,
    bound: ({ limit }) => aroundEdge(limit),
    because: AROUND_EDGE,
    isOnClock: false,
  },
  {
    id: 'fixed-window-aligned',
    title: 'Fixed window, aligned',
    says: 'Windows of the clock, marked below. All comes back at each edge.',
    policy: ({ limit, window }) => fixedWindow({ limit, window, aligned: true }),
    call: ({ limit, window }) =>
      `fixedWindow({ limit: ${limit}, window: '${window}', aligned: true })`,
    bound: ({ limit }) => aroundEdge(limit),
    because: AROUND_EDGE,
    isOnClock: true,
  },
  {
    id: 'sliding-counter',
    title: 'Sliding counter',
    says: 'Two counts on the clock’s windows, the older one weighted: an estimate, and small.',
    policy: ({ limit, window }) => slidingCounter({ limit, window }),
    call: ({ limit, window }) => `slidingCounter({ limit: ${limit}, window: '${window}' })`,
    bound: ({ limit }) => aimedAtGrid(limit),
    because: 'less than twice the limit, aimed at its grid',
    isOnClock: true,
  },
  {
    id: 'token-bucket',
    title: 'Token bucket',
    says: 'Holds one burst, and fills up steadily by the limit in each window.',
    policy: ({ limit, window, burst }) =>
      tokenBucket({ capacity: burst, refill: limit, every: window }),
    call: ({ limit, window, burst }) =>
      `tokenBucket({ capacity: ${burst}, refill: ${limit}, every: '${window}' })`,
    bound: ofBucket,
    because: 'burst + limit − 1',
    isOnClock: false,
  },
  {
    id: 'gcra',
    title: 'GCRA',
    says: 'The token bucket’s arithmetic, in the words of traffic shaping: the same picture.',
    policy: ({ limit, window, burst }) => gcra({ limit, period: window, burst }),
    call: ({ limit, window, burst }) =>
      `gcra({ limit: ${limit}, period: '${window}', burst: ${burst} })`,
    bound: ofBucket,
    because: 'burst + limit − 1',
    isOnClock: false,
  },
  {
    id: 'leaky-bucket',
    title: 'Leaky bucket',
    says: 'The token bucket seen from below: requests fill it, and it leaks. The same picture.',
    policy: ({ limit, window, burst }) =>
      leakyBucket({ capacity: burst, leak: limit, every: window }),
    call: ({ limit, window, burst }) =>
      `leakyBucket({ capacity: ${burst}, leak: ${limit}, every: '${window}' })`,
    bound: ofBucket,
    because: 'burst + limit − 1',
    isOnClock: false,
  },
]

function ofBucket({ limit, window, burst }: Numbers): number {
  return fromBucket(burst, limit, WINDOWS[window], WINDOWS[window])
}
