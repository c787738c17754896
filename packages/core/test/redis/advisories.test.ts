// Vulnerabilities of other libraries, on real servers.

import { expect, test } from 'vitest'
import { RateLimiter, slidingLog } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { newName, notedStore } from './clients.js'

test('GHSA-76rv-2r9v-c5m6 (zae-limiter): one abusive key kept a partition busy. Here a denied key costs Redis a call a second', async () => {
  const clock = fakeClock()
  const { store, calls } = notedStore({ instances: 1, clock })
  const policy = slidingLog({ limit: 5, window: '1h' })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  await limiter.penalty('abuser', { cost: 10 })
  calls.length = 0
  for (let i = 0; i < 5_000; i += 1) {
    clock.advance(1)
    expect((await limiter.consume('abuser')).allowed).toBe(false)
  }
  expect(calls).toHaveLength(5)
  // It does not delay another client of the same store.
  expect((await limiter.consume('somebody else')).allowed).toBe(true)
})
