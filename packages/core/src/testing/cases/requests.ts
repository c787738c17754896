// Requests under any policy: of no units, at the same time, and several as one.

import type { Decision } from '../../limiter/decision.js'
import { makePolicySet } from '../../request.js'
import { type Case, same } from './bench.js'

export const REQUESTS: readonly Case[] = [
  {
    name: 'a limit of 0 denies all, for ever',
    modes: ['consume'],
    run: async ({ limiter, examples }) => {
      for (const policy of examples.map(({ make }) => make(0))) {
        const decision = await limiter(policy).consume('k')
        same('reason', !decision.allowed && decision.reason, 'cost-exceeds-limit')
        same('cost 0', (await limiter(policy).consume('k', { cost: 0 })).allowed, true)
      }
    },
  },
  {
    name: 'a policy in debt to which a request costs nothing tells when a unit is there',
    modes: ['penalty', 'consume', 'peek'],
    run: async ({ limiter, subject, clock, examples, policy: other }) => {
      for (const { label, make } of examples) {
        const policy = make(4)
        const full = other(0, '1m', 'full')
        await subject(policy).penalty(label, { cost: 6 })
        const unit = (await limiter([policy]).peek(label)).policies[0]?.retryAfterMs as number
        const denied = await limiter([{ policy, cost: 0 }, full]).consume(label)
        same(`${label}: allowed`, denied.allowed, false)
        same(`${label}: while denied`, denied.policies[0]?.retryAfterMs, unit)
        same(
          `${label}: while allowed`,
          (await limiter([{ policy, cost: 0 }]).consume(label)).policies[0]?.retryAfterMs,
          unit,
        )
        // The wait may be only a hint, or for ever.
        const { isHint, isLasting } = policy.kernel?.traits ?? {}
        if (isHint || isLasting) continue
        clock.advance(unit)
        same(`${label}: and then it is`, (await limiter([policy]).peek(label)).remaining > 0, true)
      }
    },
  },
  {
    name: 'of equal requests that are one, as many are granted as fit',
    modes: ['consume'],
    run: async ({ store, run, policy }) => {
      const policySet = makePolicySet(`${run}.count`, [policy(3, '1m')])
      const target = { policySet, key: 'k' }
      const { granted, policies } = await store.decide({
        mode: 'consume',
        target,
        costs: [1],
        count: 5,
      })
      same('granted', granted, 3)
      same('remaining', policies[0]?.remaining, 0)
    },
  },
  {
    name: 'requests at once are decided one by one',
    modes: ['consume'],
    run: async ({ limiter, policy }) => {
      const subject = limiter(policy(10, '1h'))
      const decisions: Decision[] = await Promise.all(
        Array.from({ length: 30 }, () => subject.consume('k')),
      )
      same('allowed', decisions.filter(({ allowed }) => allowed).length, 10)
    },
  },
]
