// What is not an option of a Redis store is refused when the store is made.

import { expect, test } from 'vitest'
import { redisStore } from '../../src/index.js'
import { singleClient } from './clients.js'

test.each<[unknown]>([
  [null],
  [{ deadlineMs: 0 }],
  [{ deadlineMs: 1.5 }],
  [{ maxInFlight: -1 }],
  [{ whenUnavailable: 'maybe' }],
  [{ instances: 0 }],
  [{ instances: null }],
  [{ breaker: 5 }],
  [{ log: 5 }],
  [{ denyCache: 'no' }],
  [{ timeoutMs: 5 }],
  [{ hashTags: 1 }],
  [{ hashTags: 1.5 }],
  [{ hashTags: '16' }],
  [{ leases: null }],
  [{ leases: 5 }],
  [{ leases: {} }],
  [{ leases: { units: 1, holdMs: 1 } }],
  [{ leases: { units: 10, holdMs: 4 } }],
  [{ leases: { units: 10, holdMs: 5_000 } }],
])('%j is refused', (options) => {
  expect(() => redisStore(singleClient(), options as never)).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
  )
})

test.each(['', 'too short', 42, null, {}])(
  'the secret %j is refused, and not shown',
  (hashKeys) => {
    const make = () => redisStore(singleClient(), { hashKeys: hashKeys as string })
    expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }))
    expect(make).toThrow('hashKeys is not valid')
  },
)
