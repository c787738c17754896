// The policies of Weir that are measured, by the names of their rows.

import {
  fixedWindow,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'

export const BUCKET = 'Weir token bucket'
export const FIXED = 'Weir fixed window'
export const COUNTER = 'Weir sliding counter'
export const SLIDING = 'Weir sliding window'
export const LOG = 'Weir exact log'

/** @param windowMs after this time a single unit that was taken has come back */
type MakePolicy = (limit: number, windowMs: number) => Policy

export const POLICIES: Readonly<Record<string, MakePolicy>> = {
  [BUCKET]: (capacity, every) => tokenBucket({ capacity, refill: 1, every }),
  [FIXED]: (limit, window) => fixedWindow({ limit, window }),
  [COUNTER]: (limit, window) => slidingCounter({ limit, window }),
  [SLIDING]: (limit, window) => slidingWindow({ limit, window }),
  [LOG]: (limit, window) => slidingLog({ limit, window }),
}
