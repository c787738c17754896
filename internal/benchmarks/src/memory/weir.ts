import { type Decision, memoryStore, RateLimiter } from '@weir/core'
import { BUCKET, COUNTER, POLICIES } from '../policies.js'
import type { Subject } from '../subject.js'
import type { MemoryOptions, MemorySubjectKind } from './subject.js'

/** Each uses `decide`, which answers synchronously; the last one `consume`. */
export const weir: readonly MemorySubjectKind[] = [
  ...Object.keys(POLICIES).map((name): MemorySubjectKind => {
    return {
      ...{ name, kind: 'weir', sync: true, onGrid: name === COUNTER },
      open: (options) => subjectOf(limiterOf(name, options)),
    }
  }),
  {
    name: `${BUCKET}, consume`,
    kind: 'weir',
    sync: false,
    not: ['many-keys'],
    open: (options) => {
      const limiter = limiterOf(BUCKET, options)
      return { ...subjectOf(limiter), ask: (key) => limiter.consume(key) }
    },
  },
]

function limiterOf(name: string, { limit, windowMs, most }: MemoryOptions): RateLimiter {
  const policy = POLICIES[name]?.(limit, windowMs) as never
  return new RateLimiter({ store: memoryStore({ maxKeys: most }), policy })
}

function subjectOf(limiter: RateLimiter): Subject {
  return {
    ask: (key) => limiter.decide(key),
    left: (answer) => (answer as Decision).remaining,
    allowed: (answer) => (answer as Decision).allowed,
    close: () => limiter.store.close?.(),
  }
}
