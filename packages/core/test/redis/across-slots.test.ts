// Policies with keys in different slots of a real Cluster, in one decision.

import { expect, test } from 'vitest'
import { type PolicyInput, RateLimiter, slidingLog } from '../../src/index.js'
import { clusterClient, newName, strictStore } from './clients.js'

const address = slidingLog({ name: 'address', limit: 5, window: '1m' })
const account = slidingLog({ name: 'account', limit: 2, window: '1m' })

function limiterOf(policy: PolicyInput): RateLimiter {
  return new RateLimiter({ name: newName(), store: strictStore(clusterClient()), policy })
}

test('are all charged, or none, and refunded', async () => {
  const limiter = limiterOf(address)
  const policy = [address, { policy: account, key: 'account-of-another-slot' }]
  const decisions = []
  for (let i = 0; i < 4; i += 1) decisions.push(await limiter.consume('a1', { policy }))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, false])
  expect(decisions[2]).toMatchObject({
    policy: account,
    policies: [
      { policy: address, remaining: 3 },
      { policy: account, remaining: 0 },
    ],
  })
  expect((await limiter.peek('a1')).remaining).toBe(3)
  await limiter.refund(decisions[0] as (typeof decisions)[0])
  expect((await limiter.peek('a1', { policy })).policies.map(({ remaining }) => remaining)).toEqual(
    [4, 1],
  )
})

test('a reset was refused with CROSSSLOT', async () => {
  const limiter = limiterOf([address, { policy: account, key: 'a1', tag: 'of-another-slot' }])
  for (let i = 0; i < 2; i += 1) {
    for (const allowed of [true, true, false])
      expect((await limiter.consume('a1')).allowed).toBe(allowed)
    await limiter.reset('a1')
  }
})
