// Penalties, refunds, settlements and resets.

import { makePolicySet } from '../../request.js'
import { type PolicyCase, same } from './bench.js'

export const CORRECTIONS: readonly PolicyCase[] = [
  {
    name: 'a penalty goes past the limit and a refund gives it back',
    modes: ['penalty', 'refund', 'peek'],
    letter: 'by-key',
    run: async ({ subject: of }, policy) => {
      const subject = of(policy)
      const { remaining } = await subject.penalty('k', { cost: policy.limit + 3 })
      same('remaining', remaining, 0)
      await subject.refund('k', { cost: 3 })
      same('still none', (await subject.peek('k')).remaining, 0)
      await subject.refund('k', { cost: 2 })
      same('two more', (await subject.peek('k')).remaining, 2)
      await subject.refund('k', { cost: 10 * policy.limit })
      same('never more than the limit', (await subject.peek('k')).remaining, policy.limit)
    },
  },
  {
    name: 'a decision is refunded once, and not when it no longer counts',
    modes: ['consume', 'refund', 'peek'],
    run: async ({ subject: of, clock }, policy) => {
      const subject = of(policy)
      const decision = await subject.consume('k', { cost: 2 })
      await subject.refund(decision)
      await subject.refund(decision)
      same('after two refunds of one decision', (await subject.peek('k')).remaining, policy.limit)
      const old = await subject.consume('k', { cost: 2 })
      clock.advance(old.resetAfterMs)
      await subject.consume('k', { cost: 3 })
      await subject.refund(old)
      same(
        'after a refund into a later window',
        (await subject.peek('k')).remaining,
        policy.limit - 3,
      )
    },
  },
  {
    name: 'a settlement gives back, or charges past the limit',
    modes: ['consume', 'settle', 'refund', 'peek'],
    letter: 'by-key',
    run: async ({ subject: of, store, run }, policy) => {
      const subject = of(policy)
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const settle = { mode: 'settle', target, count: 1 } as const
      const { untilUs, nowUs: seenUs } = await store.decide({
        ...settle,
        mode: 'consume',
        costs: [3],
      })
      const { granted, policies } = await store.decide({ ...settle, costs: [-2], untilUs, seenUs })
      same('granted', granted, 1)
      same('remaining', policies[0]?.remaining, policy.limit - 1)
      await store.decide({ ...settle, costs: [policy.limit + 1], untilUs, seenUs })
      await subject.refund('k', { cost: 2 })
      same('past the limit', (await subject.peek('k')).remaining, 0)
      await subject.refund('k', { cost: 1 })
      same('and by so much', (await subject.peek('k')).remaining, 1)
    },
  },
  {
    name: 'reset forgets',
    modes: ['penalty', 'reset', 'peek'],
    run: async ({ subject: of }, policy) => {
      const subject = of(policy)
      await subject.penalty('k', { cost: policy.limit })
      await subject.reset('k')
      same('remaining', (await subject.peek('k')).remaining, policy.limit)
    },
  },
]
