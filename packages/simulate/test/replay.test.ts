// Live decisions of a limiter are recorded as a log, with times in microseconds. A replay of the
// log gives the same decisions: for every algorithm, for several policies in one decision, and for
// costs. Recorded in memory, and once on a real Redis: stores agree, by core's conformance tests.

import {
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  memoryStore,
  type PolicyInput,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  type Store,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { startRedis } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { logReader, simulation } from '../src/index.js'

const START_US = Date.UTC(2026, 9, 10, 23, 59, 50) * 1_000

const POLICIES: readonly (readonly [string, PolicyInput])[] = [
  ['sliding window', slidingWindow({ limit: 5, window: '2s' })],
  ['sliding window in parts', slidingWindow({ limit: 9, window: '2s', parts: 3 })],
  ['sliding log', slidingLog({ limit: 4, window: '1500ms' })],
  ['sliding counter', slidingCounter({ limit: 6, window: '2s' })],
  ['fixed window', fixedWindow({ limit: 5, window: '2s' })],
  ['fixed window, aligned', fixedWindow({ limit: 5, window: '3s', aligned: true })],
  [
    'day of a time zone, whose midnight passes',
    fixedWindow({ limit: 9, window: 'day', timeZone: 'Europe/London' }),
  ],
  ['hour of the calendar', fixedWindow({ limit: 9, window: 'hour', timeZone: 'Asia/Kolkata' })],
  ['token bucket', tokenBucket({ capacity: 5, refill: 7, every: '3s' })],
  ['GCRA', gcra({ limit: 3, period: '1s', burst: 4 })],
  ['leaky bucket', leakyBucket({ capacity: 6, leak: 2, every: '1s' })],
  ['lock-out', lockout({ limit: 4, window: '2s', block: ['1s', '2s'], forget: '5s' })],
  [
    'lock-out by the excess',
    lockout({ limit: 4, window: '2s', block: ['1s', '2s'], forget: '5s', starts: 'excess' }),
  ],
  [
    'several policies, one for all keys and one with a cost of its own',
    [
      tokenBucket({ name: 'burst', capacity: 6, refill: 4, every: '1s' }),
      slidingWindow({ name: 'steady', limit: 9, window: '3s' }),
      { policy: fixedWindow({ name: 'all', limit: 40, window: '5s' }), key: 'all', cost: 1 },
    ],
  ],
]

interface Recorded {
  readonly line: string
  readonly decision: Decision
}

/** Lock-outs count attempts, whatever they cost. */
function isOfAttempts(policy: PolicyInput): boolean {
  return !Array.isArray(policy) && (policy as { algorithm: string }).algorithm === 'lockout'
}

async function record(
  policy: PolicyInput,
  storeOf: (clock: { nowUs(): number }) => Store,
  name: string,
): Promise<readonly Recorded[]> {
  const { next } = randomOf(name.length * 7 + 2)
  let nowUs = START_US
  const store = storeOf({ nowUs: () => nowUs })
  const limiter = new RateLimiter({ name, store, policy, reserve: { batch: 0.3 } })
  const recorded: Recorded[] = []
  for (let i = 0; i < 400; i += 1) {
    nowUs += Math.floor(next() ** 4 * 900_000)
    const key = `k${Math.floor(next() * 4)}`
    const tokens = isOfAttempts(policy) ? Math.floor(next() * 2) : Math.floor(next() * 4)
    const priority = next() < 0.3 ? 'batch' : 'critical'
    const decision = await limiter.consume(key, { cost: tokens, priority })
    const line = JSON.stringify({ ts: nowUs, user: { id: key }, tokens, priority })
    recorded.push({ line, decision })
  }
  await store.close?.()
  return recorded
}

function replayed(policy: PolicyInput, name: string, lines: readonly string[]): Decision[] {
  const decisions: Decision[] = []
  const simulated = simulation({
    policies: {
      [name]: {
        policy,
        reserve: { batch: 0.3 },
        priority: (entry) => String(entry.field('priority')),
      },
    },
    onDecision: (decision) => decisions.push(decision),
  })
  const fields = { time: 'ts', key: 'user.id', cost: 'tokens' }
  const reader = logReader({ format: 'json', fields }, (entry) => simulated.add(entry))
  reader.write(`${lines.join('\n')}\n`)
  reader.end()
  const report = simulated.report()
  expect(report).toMatchObject({ entries: lines.length, isCoarse: false, order: { wentBack: 0 } })
  return decisions
}

/** A decision without its source. */
function told(decision: Decision) {
  const { allowed, key, policy, remaining, limit, resetAfterMs, reason, retryAfterMs } = decision
  const policies = decision.policies.map(({ cost, remaining: left }) => ({ cost, left }))
  const binding = policy.name
  return { allowed, key, binding, remaining, limit, resetAfterMs, reason, retryAfterMs, policies }
}

describe.each(POLICIES)('%s', (name, policy) => {
  const limiter = name.replace(/[^a-z]+/gi, '-')

  test('a log of decisions in memory replays to the same decisions', async () => {
    const live = await record(policy, (clock) => memoryStore({ clock }), limiter)
    expect(live.filter(({ decision }) => !decision.allowed).length).toBeGreaterThan(10)
    expect(live.filter(({ decision }) => decision.allowed).length).toBeGreaterThan(10)
    const again = replayed(
      policy,
      limiter,
      live.map(({ line }) => line),
    )
    expect(again.map(told)).toEqual(live.map(({ decision }) => told(decision)))
  })
})

test('a log of decisions in a real Redis replays to the same decisions', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const client = new Redis(server.port, recommendedRedisOptions)
  onTestFinished(() => client.disconnect())
  const [, policy] = POLICIES.at(-1) as (typeof POLICIES)[number]
  // Without the deny cache, which may repeat an answer for up to a second.
  const options = { whenUnavailable: 'throw', deadlineMs: 60_000, denyCache: false } as const
  const live = await record(policy, (clock) => redisStore(client, { ...options, clock }), 'redis')
  expect(live.every(({ decision }) => decision.source === 'store')).toBe(true)
  const again = replayed(
    policy,
    'redis',
    live.map(({ line }) => line),
  )
  expect(again.map(told)).toEqual(live.map(({ decision }) => told(decision)))
})
