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
import type { PolicyInput } from '../policy-input.js'
import { makePolicySet } from '../request.js'
import type { Store, StoreResult } from '../store.js'
import type { PolicyExample } from './algorithms.js'
import { policyExamples } from './algorithms.js'
import { type FakeClock, fakeClock } from './clock.js'
import { SETTINGS_CASES } from './settings.js'
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
  async function inStore(check: (bench: Bench) => Promise<unknown>): Promise<void> {
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
  const turns = TURNS.map(([name, check]) => {
    const run = () => inStore(async (bench) => bench.store.reserves && check(bench))
    return { name, run }
  })
  const settings = SETTINGS_CASES.map(([name, check]) => {
    const run = () =>
      inStore(
        async ({ store, run: of, clock }) => store.settings && check(store.settings, of, clock),
      )
    return { name, run }
  })
  return [...perPolicy, ...perTrace, ...general, ...turns, ...settings]
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
    'fewer units than at least are not granted, and the wait is until they are there',
    async ({ clock, store, run }, policy) => {
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const some = { mode: 'consume', target, costs: [1], count: policy.limit } as const
      const first = await store.decide({ ...some, atLeast: 1 })
      same('all that there is', first.granted, policy.limit)
      await store.decide({ ...some, mode: 'refund', count: 1 })
      const denied = await store.decide({ ...some, count: 3, atLeast: 2 })
      same('granted', denied.granted, 0)
      same('remaining', denied.policies[0]?.remaining, 1)
      const waitMs = denied.policies[0]?.retryAfterMs as number
      clock.advance(waitMs - 1)
      same('before', (await store.decide({ ...some, count: 2, atLeast: 2 })).granted, 0)
      clock.advance(1)
      same('after', (await store.decide({ ...some, count: 2, atLeast: 2 })).granted, 2)
    },
  ],
  [
    'what must remain remains, and is not said to be left',
    async ({ store, run }, policy) => {
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
  ],
  [
    'a settlement gives back, or charges past the limit',
    async ({ limiter, store, run }, policy) => {
      const subject = limiter(policy)
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

const TURNS: readonly (readonly [string, (bench: Bench) => Promise<void>])[] = [
  [
    'turns of a bucket are reserved in order, up to how long each would wait',
    async ({ limiter, clock, store, run }) => {
      const policy = gcra({ name: 'line', limit: 10, period: '1s', burst: 2, maxWait: '1s' })
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const one = { mode: 'consume', target, costs: [1], count: 1, atLeast: 1 } as const
      const turnMs = async (maxWaitMs: number, cost = 1): Promise<number | undefined> => {
        const result = await store.decide({ ...one, costs: [cost], maxWaitMs })
        const turnUs = (result.untilUs[0] as number) - result.nowUs - policy.windowMs * 1_000
        return result.granted === 0 ? undefined : Math.max(0, turnUs / 1_000)
      }
      await limiter(policy).consume('k', { cost: 2 })
      same('nobody waits', await turnMs(0), undefined)
      same('first turn', await turnMs(100), 100)
      same('second turn', await turnMs(1_000), 200)
      same('not so long', await turnMs(299), undefined)
      same('two units', await turnMs(1_000, 2), 400)
      same('never', await turnMs(1_000, 3), undefined)
      same('not at once', (await limiter(policy).peek('k')).remaining, 0)
      clock.advance(400)
      same('after them', await turnMs(100), 100)
      for (let i = 0; i < 9; i += 1) await turnMs(1_000)
      same('up to the longest wait', await turnMs(10_000), undefined)
    },
  ],
  [
    'a turn is cancelled as far as no later one stands on it',
    async ({ store, run }) => {
      const policy = gcra({ limit: 10, period: '1s', burst: 1, maxWait: '1s' })
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const one = { mode: 'consume', target, costs: [1], count: 1 } as const
      const results: StoreResult[] = []
      for (let i = 0; i < 4; i += 1)
        results.push(await store.decide({ ...one, atLeast: 1, maxWaitMs: 1_000 }))
      const cancel = async (place: number): Promise<number | undefined> => {
        const { untilUs, nowUs: seenUs } = results[place] as StoreResult
        const after = await store.decide({ ...one, mode: 'cancel', untilUs, seenUs })
        return after.policies[0]?.resetAfterMs
      }
      same('in the middle', await cancel(2), 400)
      same('the last', await cancel(3), 300)
      same('another that is last', await cancel(2), 200)
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
  'y'.repeat(8_192),
]

/** @throws {Error} if the two differ */
function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected))
    throw new Error(`${what}: expected ${String(expected)}, got ${String(found)}`)
}
