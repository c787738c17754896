import { leakyBucket } from '../../../src/algorithms/bucket/policies.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/policies.js'

/** 100 a second, one by one. */
export const QUEUE: Policy = leakyBucket({
  name: 'queue',
  capacity: 1,
  leak: 100,
  every: '1s',
  maxWait: '20s',
})
export const WINDOW: Policy = slidingLog({ name: 'window', limit: 20, window: '500ms' })
