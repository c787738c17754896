// An application that installs only this package can test its limits.

import { memoryStore, RateLimiter, slidingWindow } from '@weir/express'
import { fakeClock } from '@weir/express/testing'
import { expect, test } from 'vitest'

test('the fake clock is reachable without @weir/core', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiter = new RateLimiter({ store, policy: slidingWindow({ limit: 1, window: '1m' }) })
  expect((await limiter.consume('u1')).allowed).toBe(true)
  expect((await limiter.consume('u1')).allowed).toBe(false)
  clock.advance(60_000)
  expect((await limiter.consume('u1')).allowed).toBe(true)
})
