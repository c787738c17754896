// What a policy allows, and what it reports about that.

import { makePolicySet } from '../../request.js'
import { mixedWalk, walk } from '../walk.js'
import { type PolicyCase, same } from './bench.js'

export const LIMITS: readonly PolicyCase[] = [
  {
    name: 'a random walk keeps (a) to (d), (f), (h) and (j)',
    modes: ['consume', 'peek'],
    run: async ({ subject, clock }, policy) => walk(subject(policy), clock, policy, 'k', 120),
  },
  {
    name: 'the limit is exact',
    modes: ['consume'],
    run: async ({ limiter }, policy) => {
      const subject = limiter(policy)
      for (let left = policy.limit - 1; left >= 0; left -= 1) {
        const decision = await subject.consume('k')
        same('allowed', decision.allowed, true)
        same('remaining', decision.remaining, left)
      }
      same('allowed past the limit', (await subject.consume('k')).allowed, false)
    },
  },
  {
    name: '(i) all or nothing',
    modes: ['consume', 'peek'],
    run: async ({ limiter, policy: other }, policy) => {
      const tight = other(1, '1h', 'tight')
      const subject = limiter([policy, tight])
      same('first', (await subject.consume('k')).allowed, true)
      const denied = await subject.consume('k')
      same('second', denied.allowed, false)
      same('binding policy', denied.policy.name, 'tight')
      same('other policy left alone', (await limiter(policy).peek('k')).remaining, policy.limit - 1)
    },
  },
  {
    name: '(k) another limit of the same name and time scale goes on from the same usage',
    modes: ['penalty', 'peek'],
    run: async ({ subject }, policy, make) => {
      // Not all units, for which a lock-out would begin a block.
      const used = policy.limit - 1
      await subject(policy).penalty('k', { cost: used })
      const { remaining, limit } = await subject(make(policy.limit * 2)).peek('k')
      // Windows keep the count and buckets the share.
      const { algorithm, kernel } = policy
      same(algorithm, remaining, kernel?.traits.drains ? limit - used * 2 : limit - used)
    },
  },
  {
    name: '(k) another time scale is another counter',
    modes: ['penalty', 'consume', 'peek'],
    run: async ({ subject }, policy, make) => {
      await subject(policy).penalty('k', { cost: policy.limit })
      const other = await subject(make(policy.limit, 2)).consume('k')
      same('remaining of the other', other.remaining, policy.limit - 1)
      same('remaining of the first', (await subject(policy).peek('k')).remaining, 0)
    },
  },
  {
    name: '(a, k) what one limit denies changes nothing for another',
    modes: ['consume', 'peek'],
    letter: 'a',
    run: async ({ subject }, policy, make) => {
      const larger = make(policy.limit * 3)
      await subject(larger).consume('k', { cost: policy.limit * 2 })
      const before = await subject(larger).peek('k')
      same('allowed', (await subject(policy).consume('k', { cost: policy.limit })).allowed, false)
      const after = await subject(larger).peek('k')
      same('remaining', after.remaining, before.remaining)
      same('reset', after.resetAfterMs, before.resetAfterMs)
    },
  },
  {
    name: '(k) of several limits, in any order, no more pass than of the most generous alone, and one limit',
    modes: ['consume', 'peek'],
    letter: 'k',
    run: async ({ limiter, clock }, policy, make) => mixedWalk(limiter, clock, policy, make, 150),
  },
  {
    name: 'fewer units than at least are not granted, and the wait is until they are there',
    modes: ['consume', 'refund'],
    letter: 'by-key',
    run: async ({ clock, store, run }, policy) => {
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const some = { mode: 'consume', target, costs: [1], count: policy.limit } as const
      const first = await store.decide({ ...some, atLeast: 1 })
      same('all that there is', first.granted, policy.limit)
      await store.decide({ ...some, mode: 'refund', count: 1 })
      const denied = await store.decide({ ...some, count: 3, atLeast: 2 })
      same('granted', denied.granted, 0)
      same('remaining', denied.policies[0]?.remaining, 1)
      const waitMs = denied.policies[0]?.retryAfterMs as number
      if (policy.kernel?.traits.isLasting) {
        same('wait', waitMs, Number.POSITIVE_INFINITY)
        return
      }
      clock.advance(waitMs - 1)
      same('before', (await store.decide({ ...some, count: 2, atLeast: 2 })).granted, 0)
      clock.advance(1)
      same('after', (await store.decide({ ...some, count: 2, atLeast: 2 })).granted, 2)
    },
  },
  {
    name: 'what must remain remains, and is not said to be left',
    modes: ['consume', 'peek'],
    run: async ({ store, run }, policy) => {
      const policySet = makePolicySet(run, [policy])
      for (const [key, atLeast] of [['k', 1] as const, ['j', undefined] as const]) {
        const target = { policySet, key }
        const one = { mode: 'consume', target, costs: [1], count: 1, atLeast } as const
        const kept = await store.decide({ ...one, count: policy.limit, keep: [2] })
        same('granted', kept.granted, policy.limit - 2)
        same('left to it', kept.policies[0]?.remaining, 0)
        same('no more', (await store.decide({ ...one, keep: [2] })).granted, 0)
        const look = await store.decide({ ...one, mode: 'peek', keep: [1] })
        same('to a higher one', [look.granted, look.policies[0]?.remaining].join(), '1,1')
        same('cost 0', (await store.decide({ ...one, costs: [0], keep: [2] })).granted, 1)
        same('to others', (await store.decide({ ...one, count: 5 })).granted, 2)
        const { policies } = await store.decide({ ...one, keep: [policy.limit] })
        same('never', policies[0]?.retryAfterMs, Number.POSITIVE_INFINITY)
      }
    },
  },
]
