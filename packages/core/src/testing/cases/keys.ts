// Which counters belong to which key.

import { RateLimiter } from '../../limiter/limiter.js'
import { type Case, same } from './bench.js'

export const KEYS: readonly Case[] = [
  {
    name: 'policies with keys and costs of their own are one decision',
    modes: ['consume'],
    run: async ({ limiter, policy }) => {
      const address = policy(10, '1m', 'address')
      // A lock-out counts attempts.
      const cost = address.kernel?.traits.blocks ? 1 : 2
      const account = policy(2 * cost - 1, '1m', 'account')
      const use = [
        { policy: address, key: 'a1', tag: 'pair' },
        { policy: account, key: 'account-7', tag: 'pair', cost },
      ]
      await limiter(use).consume('a1')
      const denied = await limiter(use).consume('a1')
      same('allowed', denied.allowed, false)
      same('binding policy', denied.policy.name, 'account')
      same('address is charged once', denied.policies[0]?.remaining, 9)
      same('account keeps the rest', denied.policies[1]?.remaining, account.limit - cost)
    },
  },
  {
    name: 'keys of any shape have counters of their own',
    modes: ['consume', 'peek'],
    run: async ({ limiter, policy }) => {
      const subject = limiter(policy(2, '1m'))
      for (const key of HOSTILE) await subject.consume(key)
      for (const key of HOSTILE)
        same(JSON.stringify(key).slice(0, 40), (await subject.peek(key)).remaining, 1)
    },
  },
  {
    name: 'limiters of the same name on one store share counters, others do not',
    modes: ['consume', 'peek'],
    run: async ({ store, run, policy: any }) => {
      const policy = any(5, '1m')
      const first = new RateLimiter({ name: `${run}.a`, store, policy, shared: true })
      const second = new RateLimiter({ name: `${run}.a`, store, policy, shared: true })
      const other = new RateLimiter({ name: `${run}.b`, store, policy, shared: true })
      await first.consume('k')
      await first.consume('k')
      same('same name', (await second.peek('k')).remaining, 3)
      same('other name', (await other.peek('k')).remaining, 5)
    },
  },
]

const HOSTILE: readonly string[] = [
  'a',
  'A',
  'a:b',
  'a%3Ab',
  '%7B',
  '{a}',
  '}',
  '{',
  '{}',
  '}a{',
  'a}b',
  '{x}1',
  '{x}2',
  ' ',
  '\n',
  '\r\n',
  '\r\n$3\r\nfoo\r\n',
  '\u001b[31m',
  '\0',
  '*',
  '?',
  '[a]',
  '#',
  '__proto__',
  'constructor',
  'é',
  'e\u0301',
  '😀',
  '\ud800',
  '\udfff',
  '\ufffd',
  'x'.repeat(128),
  'x'.repeat(129),
  'y'.repeat(8_192),
]
