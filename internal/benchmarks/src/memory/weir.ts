import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import type { Subject } from '../subject.js'
import type { MemoryOptions, MemorySubjectKind } from './subject.js'

type MakePolicy = (options: MemoryOptions) => Policy

const bucket: MakePolicy = ({ limit, windowMs }) => {
  return tokenBucket({ capacity: limit, refill: 1, every: windowMs })
}

export const BUCKET = 'Weir token bucket'
const CONSUME = 'Weir token bucket, consume'
export const FIXED = 'Weir fixed window'
export const SLIDING = 'Weir sliding window'

export const weir: readonly MemorySubjectKind[] = [
  deciding(BUCKET, bucket),
  deciding(FIXED, ({ limit, windowMs }) => fixedWindow({ limit, window: windowMs })),
  {
    ...deciding('Weir sliding counter', ({ limit, windowMs }) =>
      slidingCounter({ limit, window: windowMs }),
    ),
    onGrid: true,
  },
  deciding(SLIDING, ({ limit, windowMs }) => slidingWindow({ limit, window: windowMs })),
  deciding('Weir exact log', ({ limit, windowMs }) => slidingLog({ limit, window: windowMs })),
  {
    ...deciding(CONSUME, bucket),
    sync: false,
    not: ['many-keys'],
    open: (options) => {
      const limiter = limiterOf(bucket, options)
      return { ...subjectOf(limiter), ask: (key) => limiter.consume(key) }
    },
  },
]

/** Uses `decide`, which answers synchronously. */
function deciding(name: string, policy: MakePolicy): MemorySubjectKind {
  return {
    name,
    kind: 'weir',
    sync: true,
    open: (options) => subjectOf(limiterOf(policy, options)),
  }
}

function limiterOf(policy: MakePolicy, options: MemoryOptions): RateLimiter {
  return new RateLimiter({ store: memoryStore({ maxKeys: options.most }), policy: policy(options) })
}

function subjectOf(limiter: RateLimiter): Subject {
  return {
    ask: (key) => limiter.decide(key),
    left: (answer) => (answer as Decision).remaining,
    allowed: (answer) => (answer as Decision).allowed,
    close: () => limiter.store.close?.(),
  }
}
