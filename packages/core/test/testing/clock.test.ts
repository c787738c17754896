// What a fake clock moves, and what it does not.

import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryStore, RateLimiter, slidingWindow } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

test('it does not wake what waits, which timers do: a test moves both', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = fakeClock()
  const policy = slidingWindow({ limit: 1, window: '1m' })
  const limiter = new RateLimiter({ name: 'api', store: memoryStore({ clock }), policy })
  await limiter.consume('u42')

  const decided = vi.fn()
  const waiting = limiter.wait('u42', { timeout: '5m' }).then(decided)
  clock.advance('1m')
  await new Promise(setImmediate)
  expect(decided).not.toHaveBeenCalled()
  // At once: stores of other files have timers that sweep each second, hundreds of them.
  vi.advanceTimersByTime(60_000)
  await waiting
  expect(decided).toHaveBeenCalledWith(expect.objectContaining({ allowed: true }))
})
