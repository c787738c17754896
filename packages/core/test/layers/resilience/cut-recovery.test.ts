// The store goes away again while what was admitted without it is counted in it, in virtual time.

import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import type { Store, StoreRequest } from '../../../src/store.js'
import { virtualTime } from '../../virtual-time.js'
import { memoryIn } from '../requests.js'

const KEYS = Array.from({ length: 300 }, (_, i) => `user-${i}`)
const policy = fixedWindow({ limit: 100, window: '1h' })

test('counts whose replies are lost are made again: of 100 keys at most, and none is left out', async () => {
  const time = virtualTime()
  const memory = memoryIn(time)
  const later = (ms: number) => new Promise<void>((resolve) => void time.after(ms, resolve))
  let isAway = true
  let isMute = false
  const lost: StoreRequest[] = []
  const users: Store = {
    recovers: true,
    async decide(request) {
      await later(1)
      if (isAway) throw new Error('away')
      const result = memory.decide(request)
      if (request.mode === 'reconcile' && lost.length === 0) {
        isMute = true
        time.after(2_000, () => {
          isMute = false
        })
      }
      if (!isMute) return result
      if (request.mode === 'reconcile') lost.push(request)
      return new Promise(() => {})
    },
    async reset() {},
  }
  const store = resilientIn(time, users, {})
  const limiter = new RateLimiter({ name: 'cut', store, policy })
  for (const key of KEYS) await time.settle(limiter.consume(key))
  isAway = false
  await time.advance(20_000)
  expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
  const decisions = await time.settle(Promise.all(KEYS.map((key) => limiter.peek(key))))
  const counted = decisions.reduce((sum, { limit, remaining }) => sum + limit - remaining, 0)
  expect(lost.length).toBeGreaterThan(0)
  expect(lost.length).toBeLessThanOrEqual(100)
  expect(counted).toBe(KEYS.length + lost.length)
})
