// Decisions of one turn share a call, and equal ones a group, with the same results as without.

import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { memoryStore, RateLimiter, slidingLog, tokenBucket } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { newName, notedStore, singleClient, strictStore } from './clients.js'

const policy = slidingLog({ limit: 10, window: '1m' })

/** A limiter whose script the server knows, and the numbers of keys of its calls. */
async function warmLimiter() {
  const { store, calls } = notedStore()
  const limiter = new RateLimiter({ name: newName(), store, policy })
  await limiter.consume('warm')
  calls.length = 0
  return { limiter, sizes: () => calls.map((args) => args[1]) }
}

test('a turn of decisions is one call, equal ones one key, in order of arrival', async () => {
  const { limiter, sizes } = await warmLimiter()
  const hot = Array.from({ length: 16 }, () => limiter.consume('hot'))
  const others = Array.from({ length: 20 }, (_, i) => limiter.consume(`k${i}`))
  const decisions = await Promise.all(hot)
  expect((await Promise.all(others)).every(({ remaining }) => remaining === 9)).toBe(true)
  expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    ...Array.from({ length: 10 }, (_, i) => [true, 9 - i]),
    ...Array.from({ length: 6 }, () => [false, 0]),
  ])
  expect(sizes()).toEqual(['21'])
})

test('a batch is sent when it has 32 keys', async () => {
  const { limiter, sizes } = await warmLimiter()
  await Promise.all(Array.from({ length: 600 }, (_, i) => limiter.consume(`k${i}`)))
  expect(sizes()).toEqual([...Array(18).fill('32'), '24'])
})

test('a request after one that came alone waits not for the end of the turn, but for what is requested beside it', async () => {
  const { limiter, sizes } = await warmLimiter()
  const beside = Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
  expect(sizes()).toEqual([])
  await Promise.resolve()
  expect(sizes()).toEqual(['3'])
  // A call is in progress now, and the next request waits until the turn is over.
  const next = limiter.consume('d')
  await Promise.resolve()
  expect(sizes()).toEqual(['3'])
  await Promise.all([beside, next])
  // These came together, so the next one also waits.
  await Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
  const last = limiter.consume('e')
  await Promise.resolve()
  expect(sizes()).toEqual(['3', '1', '3'])
  await last
})

test('every caller continues in its async context', async () => {
  const context = new AsyncLocalStorage<number>()
  const { limiter } = await warmLimiter()
  const seen = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      context.run(i, async () => {
        await limiter.consume(i % 2 ? 'hot' : `k${i}`)
        return context.getStore()
      }),
    ),
  )
  expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i))
})

test.each([
  ['1s', 1],
  ['1m', 7],
  ['1s', 333],
  ['1d', 99_999],
] as const)(
  'receipts of merged requests give back what each of them took, and no more: %s, %s',
  async (every, refill) => {
    const bucket = tokenBucket({ capacity: 5, refill, every })
    for (const afterMs of [0, 1, 50, 4_000]) {
      const seen = []
      const clock = fakeClock()
      for (const store of [memoryStore({ clock }), strictStore(singleClient(), { clock })]) {
        const limiter = new RateLimiter({ name: newName(), store, policy: bucket })
        const decisions = await Promise.all([0, 1, 2].map(() => limiter.consume('k')))
        clock.advance(afterMs)
        for (const decision of decisions) {
          await limiter.refund(decision)
          seen.push((await limiter.peek('k')).remaining)
        }
        clock.advance(-afterMs)
      }
      expect(seen.slice(3)).toEqual(seen.slice(0, 3))
      if (afterMs === 0) expect(seen.slice(0, 3)).toEqual([3, 4, 5])
    }
  },
)
