// Blocks of lock-outs, and what lock-outs are exempt from: the one refusal that changes the state
// (a), and the level that outlives the reset (d).

import { seenUnits } from '../../algorithms/block-code.js'
import { lockout } from '../../algorithms/lockout/policies.js'
import type { Algorithm, Policy } from '../../algorithms/policy.js'
import { makePolicySet } from '../../request.js'
import { type Case, same } from './bench.js'

const policyOf = (starts: 'limit' | 'excess' = 'limit', limit = 3): Policy =>
  lockout({ name: 'lock', limit, window: '10s', block: ['1s', '3s'], forget: '30s', starts })
const { algorithm } = policyOf()

export const BLOCKS: readonly (Case & { readonly algorithm: Algorithm })[] = [
  {
    name: 'the attempt that reaches the limit begins a block, and the next block is longer',
    algorithm,
    modes: ['consume'],
    run: async ({ limiter, clock }) => {
      const subject = limiter(policyOf())
      for (const [lengthMs, level] of [
        [1_000, 1],
        [3_000, 2],
        [3_000, 3],
      ] as const) {
        for (let left = 2; left >= 0; left -= 1) {
          const { allowed, policies } = await subject.consume('k', { cost: 5 })
          const [{ remaining, block } = {}] = policies
          same('allowed', allowed, true)
          same('remaining', remaining, left)
          same('begun', block?.hasBegun, left === 0)
          same('level', block?.level, left === 0 ? level : level - 1)
        }
        const denied = await subject.consume('k')
        same('reason', denied.reason, 'blocked')
        same('wait', denied.retryAfterMs, lengthMs)
        clock.advance(lengthMs - 1)
        same('before its end', (await subject.consume('k')).allowed, false)
        clock.advance(1)
      }
    },
  },
  {
    name: '(d) after its reset a key of a lock-out has its level, until that is forgotten',
    algorithm,
    modes: ['consume'],
    run: async ({ limiter, clock }) => {
      const subject = limiter(policyOf('limit', 1))
      const blockMs = async () => (await subject.consume('k')).resetAfterMs
      same('first', await blockMs(), 1_000)
      clock.advance(1_000 + 29_999)
      same('a ms before the level is forgotten', await blockMs(), 3_000)
      clock.advance(3_000 + 30_000)
      same('when it is', await blockMs(), 1_000)
    },
  },
  {
    name: '(a) by the excess, the refusal after the limit begins a block, where nobody else refuses',
    algorithm,
    modes: ['consume', 'peek'],
    run: async ({ limiter, policy: other }) => {
      const lock = policyOf('excess', 1)
      await limiter(lock).consume('k')
      await limiter([lock, other(0, '1m', 'full')]).consume('k')
      same('refused elsewhere', (await limiter(lock).peek('k')).resetAfterMs, 1_000)
      const denied = await limiter(lock).consume('k')
      same('reason', denied.reason, 'blocked')
      same('begun', denied.policies[0]?.block?.hasBegun, true)
      same('wait', denied.retryAfterMs, 1_000)
      const again = await limiter(lock).consume('k')
      same('once', again.policies[0]?.block?.hasBegun, false)
    },
  },
  {
    name: 'a refund of an attempt of the count lifts its block, and any other does nothing',
    algorithm,
    modes: ['consume', 'refund'],
    run: async ({ limiter, clock }) => {
      const subject = limiter(policyOf())
      const late = await subject.consume('k')
      clock.advance(10_000)
      const first = await subject.consume('k')
      clock.advance(9_999)
      await subject.consume('k')
      await subject.consume('k')
      await subject.refund(late)
      // The window is over, but its count is kept while the block lasts.
      clock.advance(500)
      same('a late refund', (await subject.consume('k')).reason, 'blocked')
      await subject.refund(first)
      const { remaining, policies } = await subject.consume('k')
      same('of a new count', remaining, 2)
      same('level', policies[0]?.block?.level, 0)
    },
  },
  {
    name: 'a refund of the attempt that began a block lifts the next block of the same count',
    algorithm,
    modes: ['consume', 'refund'],
    run: async ({ limiter, clock }) => {
      const subject = limiter(policyOf())
      const one = await subject.consume('k')
      await subject.consume('k')
      clock.advance(100)
      const third = await subject.consume('k')
      clock.advance(100)
      await subject.refund(one)
      const next = await subject.consume('k')
      same('the next block', next.policies[0]?.block?.isBlocked, true)
      await subject.refund(third)
      const { allowed, policies } = await subject.consume('k')
      same('after both refunds', allowed, true)
      same('level', policies[0]?.block?.level, 1)
    },
  },
  {
    name: 'a block by hand holds, no refund lifts it, and it ends by hand',
    algorithm,
    modes: ['consume', 'refund', 'block', 'unblock'],
    run: async ({ limiter, clock }) => {
      const subject = limiter(policyOf())
      const one = await subject.consume('k')
      await subject.block('k', '20s')
      await subject.block('k', '10s')
      await subject.refund(one)
      await subject.refund('k')
      const denied = await subject.consume('k')
      same('reason', denied.reason, 'blocked')
      same('wait', denied.retryAfterMs, 20_000)
      await subject.unblock('k')
      same('level', (await subject.consume('k')).policies[0]?.block?.level, 0)
      await subject.consume('k')
      same('begun', (await subject.consume('k')).policies[0]?.block?.level, 1)
      await subject.unblock('k')
      clock.advance(1)
      const { remaining, policies } = await subject.consume('k')
      same('remaining', remaining, 2)
      same('the level stays', policies[0]?.block?.level, 1)
    },
  },
  {
    name: 'a reset also forgets the level',
    algorithm,
    modes: ['consume', 'reset'],
    run: async ({ limiter }) => {
      const subject = limiter(policyOf('limit', 1))
      await subject.consume('k')
      await subject.reset('k')
      same('the first block', (await subject.consume('k')).resetAfterMs, 1_000)
    },
  },
  {
    name: 'a level and a block that were seen are restored, and none that was ended by hand',
    algorithm,
    modes: ['consume', 'unblock', 'restore'],
    run: async ({ limiter, store, run, clock }) => {
      if (!store.recovers) return
      const policy = policyOf('limit', 1)
      const subject = limiter(policy)
      await subject.consume('other')
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const seenUs = clock.nowUs()
      const units = seenUnits(1, { level: 2, isBlocked: true })
      const restore = { mode: 'restore', target, costs: [units], count: 1, seenUs } as const
      const restored = async (untilMs: number) =>
        (await store.decide({ ...restore, untilUs: [seenUs + untilMs * 1_000] })).granted
      same('restored', await restored(2_000), 1)
      same('twice', await restored(2_000), 0)
      same('wait', (await subject.consume('k')).retryAfterMs, 2_000)
      clock.advance(1_000)
      await subject.unblock('k')
      same('ended', await restored(2_000), 0)
      const { policies } = await subject.consume('k')
      same('level', policies[0]?.block?.level, 3)
      await subject.unblock('other')
      clock.advance(1)
      same('of a level alone', (await subject.consume('other')).policies[0]?.block?.level, 2)
    },
  },
]
