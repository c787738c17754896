// The policies that are hammered. Windows are so long that none ends during a test: aligned ones of
// 3,650 days end in December 2029.

import { gcra, leakyBucket, tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import { lockout } from '../../../src/algorithms/lockout/policies.js'
import { slidingCounter } from '../../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../../src/algorithms/sliding-log/policies.js'
import type { PolicyInput } from '../../../src/policy-input.js'

export type SubjectName =
  | 'tokenBucket'
  | 'gcra'
  | 'leakyBucket'
  | 'fixedWindow'
  | 'alignedWindow'
  | 'slidingWindow'
  | 'slidingLog'
  | 'slidingCounter'
  | 'lockout'
  | 'severalPolicies'
  | 'counting'

interface Subject {
  readonly policy: PolicyInput
  /** Units that come back per second; 0: none before the test is over. */
  readonly perSecond: number
}

export const LIMIT = 1_000
const limit = LIMIT

export const subjects: Readonly<Record<SubjectName, Subject>> = {
  tokenBucket: {
    policy: tokenBucket({ capacity: limit, refill: 300, every: '1s' }),
    perSecond: 300,
  },
  gcra: { policy: gcra({ burst: limit, limit: 7, period: '1m' }), perSecond: 7 / 60 },
  leakyBucket: { policy: leakyBucket({ capacity: limit, leak: 333, every: '1s' }), perSecond: 333 },
  fixedWindow: { policy: fixedWindow({ limit, window: '1h' }), perSecond: 0 },
  alignedWindow: { policy: fixedWindow({ limit, window: '3650d', aligned: true }), perSecond: 0 },
  slidingWindow: { policy: slidingWindow({ limit, window: '1h' }), perSecond: 0 },
  slidingLog: { policy: slidingLog({ limit, window: '1h' }), perSecond: 0 },
  slidingCounter: { policy: slidingCounter({ limit, window: '3650d' }), perSecond: 0 },
  lockout: {
    policy: lockout({ limit, window: '1h', block: ['1h'], forget: '1d' }),
    perSecond: 0,
  },
  /** Counts everything that passes. */
  counting: {
    policy: fixedWindow({ name: 'counting', limit: 2 ** 40, window: '1h' }),
    perSecond: 0,
  },
  severalPolicies: {
    policy: [
      slidingLog({ limit, window: '1h' }),
      fixedWindow({ limit: limit + 500, window: '1h' }),
      slidingCounter({ limit: 2 * limit, window: '3650d' }),
    ],
    perSecond: 0,
  },
}

/** The policies that deny at LIMIT. */
export const subjectNames: readonly SubjectName[] = (Object.keys(subjects) as SubjectName[]).filter(
  (name) => name !== 'counting',
)
