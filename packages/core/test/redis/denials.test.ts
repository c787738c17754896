// A recent denial is repeated without a call, and only as long as Redis would deny as well;
// layers/deny-cache.test.ts has everything else about it.

import { expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  type PolicyInput,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'
import { newName, singleClient, strictStore } from './clients.js'

/** A limiter with the deny cache and one without on the same counters, over calls that take some
 *  time. */
function twins(policy: PolicyInput, latencyMs: () => number) {
  const clock = fakeClock()
  const slow = {
    async callBuffer(command: string, args: string[]) {
      clock.advance(latencyMs())
      const reply = await singleClient().callBuffer(command, args)
      clock.advance(latencyMs())
      return reply
    },
  }
  const name = newName()
  const cached = strictStore(slow, { clock, instances: 1 })
  const exact = strictStore(singleClient(), { clock, instances: 1, denyCache: false })
  return {
    clock,
    cached: new RateLimiter({ name, policy, store: cached }),
    exact: new RateLimiter({ name, policy, store: exact }),
  }
}

test.each([
  gcra({ limit: 2_000, period: '1s', burst: 1 }),
  tokenBucket({ capacity: 5, refill: 100, every: '1s' }),
  fixedWindow({ limit: 3, window: 20 }),
  slidingLog({ limit: 3, window: 20 }),
  slidingWindow({ limit: 30, window: 120 }),
  slidingCounter({ limit: 5, window: 30 }),
])('Redis would deny what is denied without a call: $algorithm, $name', async (policy) => {
  const random = randomFrom(7)
  const { clock, cached, exact } = twins(policy, () => random() * 1.5)
  let remembered = 0
  for (let step = 0; step < 400; step += 1) {
    const key = random() < 0.8 ? 'hot' : 'cold'
    const cost = random() < 0.8 ? 1 : 2
    const roll = random()
    if (roll < 0.02) await cached.reset(key)
    else if (roll < 0.05) await cached.refund(key)
    else if (roll < 0.07) await cached.penalty(key)
    const decision = await cached.consume(key, { cost })
    if (decision.source === 'cache') {
      remembered += 1
      const then = await exact.peek(key, { cost })
      if (then.allowed || decision.allowed) expect.unreachable(`step ${step}: Redis would allow`)
      else expect(decision.retryAfterMs).toBeGreaterThanOrEqual(then.retryAfterMs)
    }
    clock.advance(random() * random() * 3)
  }
  expect(remembered).toBeGreaterThan(5)
})

test('a change that another process makes shows within a second', async () => {
  const { clock, cached, exact } = twins(fixedWindow({ limit: 1, window: '1h' }), () => 0.3)
  for (let round = 0; round < 10; round += 1) {
    await cached.consume('k')
    await cached.consume('k')
    clock.advance(round * 37)
    expect((await cached.consume('k')).source).toBe('cache')
    await exact.reset('k')
    const sinceUs = clock.nowUs()
    while (!(await cached.peek('k')).allowed || !(await cached.consume('k')).allowed)
      clock.advance(1)
    expect(clock.nowUs() - sinceUs).toBeLessThanOrEqual(1_002_000)
  }
})
