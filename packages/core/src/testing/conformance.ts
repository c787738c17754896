// The contract of a store, as a suite that any test runner can run over any store:
//
//   for (const { name, run } of storeConformance((clock) => myStore({ clock }))) test(name, run)
//
// The letters are those of docs/algorithms.md, "The contract".

import { gcra } from '../algorithms/bucket/gcra.js'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.js'
import type { Policy } from '../algorithms/policy.js'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.js'
import type { Decision } from '../limiter/decision.js'
import { RateLimiter } from '../limiter/limiter.js'
import type { PolicyInput } from '../limiter/policy-set.js'
import { makePolicySet } from '../request.js'
import type { Store } from '../store.js'
import type { PolicyExample } from './algorithms.js'
import { policyExamples } from './algorithms.js'
import { type FakeClock, fakeClock } from './clock.js'
import { replayTrace } from './trace.js'
import { traces } from './traces.generated.js'
import { mixedWalk, walk } from './walk.js'

export interface ConformanceCase {
  readonly name: string
  /** Rejects with an Error that says what broke the contract. */
  run(): Promise<void>
}

/**
 * The cases of the suite. Each makes a store of its own, on a clock of its own, and uses keys that
 * no other run uses, so the stores may share a server.
 */
export function storeConformance(
  createStore: (clock: FakeClock) => Store | Promise<Store>,
): ConformanceCase[] {
  async function inStore(check: (bench: Bench) => Promise<void>): Promise<void> {
    const clock = fakeClock()
    const store = await createStore(clock)
    const run = `r${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`
    try {
      await check({
        clock,
        store,
        run,
        limiter: (policy) => new RateLimiter({ name: run, store, policy, shared: true }),
      })
    } finally {
      await store.close?.()
    }
  }
  const perPolicy = policyExamples.flatMap(({ label, limit, make }) => {
    return CASES.map(([name, check]) => ({
      name: `${label}: ${name}`,
      run: () => inStore((bench) => check(bench, make(limit), make)),
    }))
  })
  const perTrace = Object.entries(traces).map(([name, text]) => {
    return {
      name: `trace ${name}`,
      run: () => inStore(({ store, clock, run }) => replayTrace(text, store, clock, run)),
    }
  })
  const general = GENERAL.map(([name, check]) => ({ name, run: () => inStore(check) }))
  return [...perPolicy, ...perTrace, ...general]
}

interface Bench {
  readonly clock: FakeClock
  readonly store: Store
  /** Unique to this case and run. */
  readonly run: string
  limiter(policy: PolicyInput): RateLimiter
}

type Make = PolicyExample['make']

type PolicyCase = readonly [string, (bench: Bench, policy: Policy, make: Make) => Promise<void>]

const CASES: readonly PolicyCase[] = [
  [
    'a random walk keeps (a) to (d), (f), (h) and (j)',
    async ({ limiter, clock }, policy) => walk(limiter(policy), clock, policy, 'k', 120),
  ],
  [
    'the limit is exact',
    async ({ limiter }, policy) => {
      const subject = limiter(policy)
      for (let left = policy.limit - 1; left >= 0; left -= 1) {
        const decision = await subject.consume('k')
        same('allowed', decision.allowed, true)
        same('remaining', decision.remaining, left)
      }
      same('allowed past the limit', (await subject.consume('k')).allowed, false)
    },
  ],
  [
    '(i) all or nothing',
    async ({ limiter }, policy) => {
      const tight = slidingLog({ name: 'tight', limit: 1, window: '1h' })
      const subject = limiter([policy, tight])
      same('first', (await subject.consume('k')).allowed, true)
      const denied = await subject.consume('k')
      same('second', denied.allowed, false)
      same('binding policy', denied.policy.name, 'tight')
      same('other policy left alone', (await limiter(policy).peek('k')).remaining, policy.limit - 1)
    },
  ],
  [
    '(k) another limit of the same name and time scale goes on from the same usage',
    async ({ limiter }, policy, make) => {
      await limiter(policy).penalty('k', { cost: policy.limit })
      const { remaining, limit } = await limiter(make(policy.limit * 2)).peek('k')
      // Windows keep the count and buckets the share: at twice the limit both leave one old limit.
      const { algorithm, kernel } = policy
      same(
        algorithm,
        remaining,
        kernel?.traits.drains ? limit - policy.limit * 2 : limit - policy.limit,
      )
    },
  ],
  [
    '(k) another time scale is another counter',
    async ({ limiter }, policy, make) => {
      await limiter(policy).penalty('k', { cost: policy.limit })
      const other = await limiter(make(policy.limit, 2)).consume('k')
      same('remaining of the other', other.remaining, policy.limit - 1)
      same('remaining of the first', (await limiter(policy).peek('k')).remaining, 0)
    },
  ],
  [
    '(k) what one limit denies changes nothing for another',
    async ({ limiter }, policy, make) => {
      const larger = make(policy.limit * 3)
      await limiter(larger).consume('k', { cost: policy.limit * 2 })
      const before = await limiter(larger).peek('k')
      same('allowed', (await limiter(policy).consume('k', { cost: policy.limit })).allowed, false)
      const after = await limiter(larger).peek('k')
      same('remaining', after.remaining, before.remaining)
      same('reset', after.resetAfterMs, before.resetAfterMs)
    },
  ],
  [
    '(k) of several limits, in any order, no more pass than of the most generous alone, and one limit',
    async ({ limiter, clock }, policy, make) => mixedWalk(limiter, clock, policy, make, 150),
  ],
  [
    'a penalty goes past the limit and a refund gives it back',
    async ({ limiter }, policy) => {
      const subject = limiter(policy)
      const { remaining } = await subject.penalty('k', { cost: policy.limit + 3 })
      same('remaining', remaining, 0)
      await subject.refund('k', { cost: 3 })
      same('still none', (await subject.peek('k')).remaining, 0)
      await subject.refund('k', { cost: 2 })
      same('two more', (await subject.peek('k')).remaining, 2)
      await subject.refund('k', { cost: 10 * policy.limit })
      same('never more than the limit', (await subject.peek('k')).remaining, policy.limit)
    },
  ],
  [
    'a decision is refunded once, and not when it no longer counts',
    async ({ limiter, clock }, policy) => {
      const subject = limiter(policy)
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
  ],
  [
    'reset forgets',
    async ({ limiter }, policy) => {
      const subject = limiter(policy)
      await subject.penalty('k', { cost: policy.limit })
      await subject.reset('k')
      same('remaining', (await subject.peek('k')).remaining, policy.limit)
    },
  ],
]

const GENERAL: readonly (readonly [string, (bench: Bench) => Promise<void>])[] = [
  [
    'a limit of 0 denies all, for ever',
    async ({ limiter }) => {
      for (const policy of policyExamples.map(({ make }) => make(0))) {
        const decision = await limiter(policy).consume('k')
        same('reason', !decision.allowed && decision.reason, 'cost-exceeds-limit')
        same('cost 0', (await limiter(policy).consume('k', { cost: 0 })).allowed, true)
      }
    },
  ],
  [
    'a policy in debt to which a request costs nothing tells when a unit is there',
    async ({ limiter, clock }) => {
      for (const { label, make } of policyExamples) {
        const policy = make(4)
        const debtor = limiter([{ policy, cost: 6 }])
        const full = fixedWindow({ name: 'full', limit: 0, window: '1m' })
        await debtor.penalty(label)
        const unit = (await limiter([policy]).peek(label)).policies[0]?.retryAfterMs as number
        const denied = await limiter([{ policy, cost: 0 }, full]).consume(label)
        same(`${label}: allowed`, denied.allowed, false)
        same(`${label}: while denied`, denied.policies[0]?.retryAfterMs, unit)
        same(
          `${label}: while allowed`,
          (await limiter([{ policy, cost: 0 }]).consume(label)).policies[0]?.retryAfterMs,
          unit,
        )
        clock.advance(unit)
        same(`${label}: and then it is`, (await limiter([policy]).peek(label)).remaining > 0, true)
      }
    },
  ],
  [
    'policies with keys and costs of their own are one decision',
    async ({ limiter }) => {
      const address = slidingLog({ name: 'address', limit: 10, window: '1m' })
      const account = slidingLog({ name: 'account', limit: 3, window: '1m' })
      const policies = (cost: number) => [
        address,
        { policy: account, key: 'account-7', tag: 'pair', cost },
      ]
      const use = (cost: number) =>
        policies(cost).map((each) =>
          'policy' in each ? each : { policy: each, key: 'a1', tag: 'pair' },
        )
      await limiter(use(2)).consume('a1')
      const denied = await limiter(use(2)).consume('a1')
      same('allowed', denied.allowed, false)
      same('binding policy', denied.policy.name, 'account')
      same('address is charged once', denied.policies[0]?.remaining, 9)
      same('account keeps one', denied.policies[1]?.remaining, 1)
    },
  ],
  [
    'keys of any shape have counters of their own',
    async ({ limiter }) => {
      const subject = limiter(slidingLog({ limit: 2, window: '1m' }))
      for (const key of HOSTILE) await subject.consume(key)
      for (const key of HOSTILE)
        same(JSON.stringify(key).slice(0, 40), (await subject.peek(key)).remaining, 1)
    },
  ],
  [
    'limiters of the same name on one store share counters, others do not',
    async ({ store, run }) => {
      const policy = fixedWindow({ limit: 5, window: '1m' })
      const first = new RateLimiter({ name: `${run}.a`, store, policy, shared: true })
      const second = new RateLimiter({ name: `${run}.a`, store, policy, shared: true })
      const other = new RateLimiter({ name: `${run}.b`, store, policy, shared: true })
      await first.consume('k', { cost: 2 })
      same('same name', (await second.peek('k')).remaining, 3)
      same('other name', (await other.peek('k')).remaining, 5)
    },
  ],
  [
    'requests at once are decided one by one',
    async ({ limiter }) => {
      const subject = limiter(gcra({ limit: 1, period: '1h', burst: 10 }))
      const decisions: Decision[] = await Promise.all(
        Array.from({ length: 30 }, () => subject.consume('k')),
      )
      same('allowed', decisions.filter(({ allowed }) => allowed).length, 10)
    },
  ],
  [
    'of equal requests that are one, as many are granted as fit',
    async ({ store, run }) => {
      const policySet = makePolicySet(`${run}.count`, [fixedWindow({ limit: 3, window: '1m' })])
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
  ],
]

const HOSTILE: readonly string[] = [
  'a',
  'A',
  'a:b',
  'a%3Ab',
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
  'y'.repeat(2 ** 20),
]

/** @throws {Error} if the two differ */
function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected))
    throw new Error(`${what}: expected ${String(expected)}, got ${String(found)}`)
}
