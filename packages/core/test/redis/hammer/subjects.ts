// The policies that are hammered: one of each kernel that counts units. Windows are so long that
// none ends during a test.

import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import { lockout } from '../../../src/algorithms/lockout/policies.js'
import { slidingCounter } from '../../../src/algorithms/sliding-counter/policies.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/policies.js'
import type { PolicyInput } from '../../../src/policy-input.js'

export const LIMIT = 1_000
const limit = LIMIT
/** Units that come back to the bucket per second. */
export const PER_SECOND = 300

export type SubjectName =
  | 'tokenBucket'
  | 'fixedWindow'
  | 'slidingLog'
  | 'slidingCounter'
  | 'lockout'
  | 'severalPolicies'
  | 'counting'

export const subjects: Readonly<Record<SubjectName, PolicyInput>> = {
  tokenBucket: tokenBucket({ capacity: limit, refill: PER_SECOND, every: '1s' }),
  fixedWindow: fixedWindow({ limit, window: '1h' }),
  slidingLog: slidingLog({ limit, window: '1h' }),
  slidingCounter: slidingCounter({ limit, window: '3650d' }),
  lockout: lockout({ limit, window: '1h', block: ['1h'], forget: '1d' }),
  severalPolicies: [
    slidingLog({ limit, window: '1h' }),
    fixedWindow({ limit: limit + 500, window: '1h' }),
    slidingCounter({ limit: 2 * limit, window: '3650d' }),
  ],
  /** Counts everything that passes. */
  counting: fixedWindow({ name: 'counting', limit: 2 ** 40, window: '1h' }),
}
