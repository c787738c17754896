// Policies from any source, in virtual time: each key is requested once, and no failure of the
// source leaves anybody without a limit.

import { expect, onTestFinished, test, vi } from 'vitest'
import type { LimitsFromOptions } from '../../src/entries/live.js'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  type PolicyInput,
  RateLimiter,
  slidingWindow,
  unlimited,
} from '../../src/index.js'
import { limitsFromIn } from '../../src/live/limits-from.js'
import { virtualTime } from '../virtual-time.js'

const byDefault = slidingWindow({ name: 'api', limit: 10, window: '1m' })
const own = (limit: number) => slidingWindow({ name: 'api', limit, window: '1m' })

function bench(options: Partial<LimitsFromOptions> & Pick<LimitsFromOptions, 'load'>) {
  const time = virtualTime()
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const failures: string[] = []
  const limits = limitsFromIn(time, {
    default: byDefault,
    onFailure: (error, key) => failures.push(`${key}: ${error.message}`),
    ...options,
  })
  const limitOf = async (key: string): Promise<number> =>
    ((await time.settle(Promise.resolve(limits.for(key)))) as Policy).limit
  return { time, limits, limitOf, failures, warned: () => warn.mock.calls }
}

test('a stampede of 10,000 keys, each ten times, requests each key once', async () => {
  const asked = new Map<string, number>()
  const { time, limits } = bench({
    maxKeys: 20_000,
    load: async (key) => {
      asked.set(key, (asked.get(key) ?? 0) + 1)
      await new Promise<void>((resolve) => time.after(50, resolve))
      return Number(key.slice(1)) % 2 === 0 ? own(7) : undefined
    },
  })
  const answers: (PolicyInput | Promise<PolicyInput>)[] = []
  for (let turn = 0; turn < 10; turn += 1)
    for (let i = 0; i < 10_000; i += 1) answers.push(limits.for(`u${i}`))
  const policies = await time.settle(Promise.all(answers))
  expect(asked.size).toBe(10_000)
  expect(new Set(asked.values())).toEqual(new Set([1]))
  expect(policies.filter((policy) => (policy as Policy).limit === 7)).toHaveLength(50_000)
  expect(limits.status()).toEqual({ loading: 0, loads: 10_000, failures: 0 })
  // Synchronously from then on.
  expect(limits.for('u4')).toMatchObject({ limit: 7 })
  expect(limits.for('u5')).toBe(byDefault)
})

test('after its ttl a policy is still used while the new one is loaded, and no request waits', async () => {
  let limit = 5
  let loads = 0
  const { time, limits, limitOf } = bench({
    ttl: '10s',
    load: async () => {
      loads += 1
      await new Promise<void>((resolve) => time.after(100, resolve))
      return own(limit)
    },
  })
  expect(await limitOf('u1')).toBe(5)
  limit = 6
  await time.advance(9_999)
  expect(limits.for('u1')).toMatchObject({ limit: 5 })
  expect(loads).toBe(1)
  await time.advance(1)
  for (let i = 0; i < 5; i += 1) expect(limits.for('u1')).toMatchObject({ limit: 5 })
  await time.advance(100)
  expect(limits.for('u1')).toMatchObject({ limit: 6 })
  expect(loads).toBe(2)
})

test("the source's answer that a key has no policy is also remembered", async () => {
  let loads = 0
  const { limitOf } = bench({
    load: () => {
      loads += 1
      return undefined
    },
  })
  expect([await limitOf('u1'), await limitOf('u1')]).toEqual([10, 10])
  expect(loads).toBe(1)
})

/** The second policy is named like the default. */
const misnamed = (policy: Policy, i: number) =>
  i === 0 ? { ...policy, name: 'other' } : { ...policy, name: 'api' }

const BROKEN: readonly (readonly [string, () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error('no database')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no database'))],
  ['rejects with no error', () => Promise.reject('gone')],
  ['hangs', () => new Promise(() => {})],
  ['answers null', () => null],
  ['answers rubbish', () => ({ limit: Number.POSITIVE_INFINITY })],
  ['answers no policies', () => []],
  ['answers policies and rubbish', () => [own(5), { limit: 5 }]],
  ['answers two policies of one name', () => [own(5), own(6)]],
  ['answers a policy with a wrong key', () => [{ policy: own(5), key: '' }]],
  ['answers a policy with a wrong cost', () => [{ policy: own(5), cost: -1 }]],
  ['answers a policy with a misspelt option', () => [{ policy: own(5), costs: 1 }]],
  [
    'answers policies, and one is of another kind',
    () => [own(5), fixedWindow({ name: 'daily', limit: 5, window: '1d' })].map(misnamed),
  ],
  [
    'answers a policy of another kind',
    () => fixedWindow({ name: 'api', limit: 1e9, window: '1m' }),
  ],
]

test.each(BROKEN)(
  'a source that %s leaves the default, or the last valid policy',
  async (_, broken) => {
    let isBroken = true
    const { time, limits, limitOf, failures, warned } = bench({
      load: () => (isBroken ? (broken() as Policy) : own(5)),
    })
    expect(await limitOf('u1')).toBe(10)
    expect(failures).toHaveLength(1)
    // It is not asked again at once.
    expect(await limitOf('u1')).toBe(10)
    expect(limits.status().loads).toBe(1)
    isBroken = false
    await time.advance(1_000)
    expect(limits.for('u1')).toBe(byDefault)
    await time.advance(0)
    expect(limits.for('u1')).toMatchObject({ limit: 5 })
    isBroken = true
    await time.advance(120_000)
    expect(limits.for('u1')).toMatchObject({ limit: 5 })
    await time.advance(2_000)
    expect(limits.for('u1')).toMatchObject({ limit: 5 })
    expect(failures.length).toBeGreaterThan(1)
    for (const [, options] of warned())
      expect(options).toMatchObject({ code: 'WEIR_SOURCE_FAILED' })
  },
)

test('an answer after the deadline is not used, and does not disturb a later load', async () => {
  const answers: ((policy: Policy) => void)[] = []
  const { time, limits, limitOf } = bench({
    ttl: '1s',
    deadlineMs: 200,
    load: () => new Promise<Policy>((resolve) => answers.push(resolve)),
  })
  expect(await limitOf('u1')).toBe(10)
  await time.advance(1_000)
  limits.for('u1')
  await time.advance(0)
  answers[0]?.(own(1))
  await time.advance(0)
  expect(limits.for('u1')).toBe(byDefault)
  answers[1]?.(own(2))
  await time.advance(0)
  expect(limits.for('u1')).toMatchObject({ limit: 2 })
})

test('a flood of keys takes bounded memory, even while the source hangs', async () => {
  const { time, limits, warned } = bench({ maxKeys: 100, load: () => new Promise(() => {}) })
  for (let i = 0; i < 10_000; i += 1) void limits.for(`u${i}`)
  expect(limits.status()).toMatchObject({ loading: 100, loads: 100 })
  expect(limits.for('u9999')).toBe(byDefault)
  expect(warned()).toContainEqual([expect.stringContaining('100 keys'), expect.anything()])
  await time.advance(1_000)
  expect(limits.status()).toEqual({ loading: 0, loads: 100, failures: 100 })
  expect(time.timers).toBe(0)
})

test('policies in use stay known, however many others come', async () => {
  let loads = 0
  const { limitOf, limits } = bench({
    maxKeys: 100,
    load: (key) => {
      if (key === 'hot') loads += 1
      return own(5)
    },
  })
  for (let i = 0; i < 1_000; i += 1) {
    await limitOf(`u${i}`)
    await limitOf('hot')
  }
  expect([loads, limits.status().loads]).toEqual([1, 1_001])
})

test('a key that is forgotten waits for what is loaded then', async () => {
  let limit = 5
  const { limits, limitOf } = bench({ load: () => own(limit) })
  expect(await limitOf('u1')).toBe(5)
  limit = 6
  limits.forget('u1')
  expect(await limitOf('u1')).toBe(6)
  limit = 7
  limits.forget()
  expect(await limitOf('u1')).toBe(7)
})

test('a key that is forgotten while it is loaded is loaded again, also for waiting requests', async () => {
  const answers: ((policy: Policy) => void)[] = []
  const { time, limits } = bench({
    load: () => new Promise<Policy>((resolve) => answers.push(resolve)),
  })
  const waiting = Promise.resolve(limits.for('u1'))
  await time.advance(0)
  limits.forget('u1')
  answers[0]?.(own(5))
  await time.advance(0)
  answers[1]?.(own(6))
  expect(await time.settle(waiting)).toMatchObject({ limit: 6 })
  expect(limits.for('u1')).toMatchObject({ limit: 6 })
  expect(limits.status()).toEqual({ loading: 0, loads: 2, failures: 0 })
})

test('a number is the same key as its text', async () => {
  const keys: string[] = []
  const { limits, time } = bench({
    load: (key) => {
      keys.push(key)
      return own(5)
    },
  })
  await time.settle(Promise.resolve(limits.for(42)))
  for (const key of [42, 42n, '42']) expect(limits.policy(key)).toMatchObject({ limit: 5 })
  expect(keys).toEqual(['42'])
  limits.forget(42)
  expect(limits.for('42')).toBeInstanceOf(Promise)
})

test('it is the policy of a limiter, and a source may return unlimited', async () => {
  const { limits, time } = bench({
    load: (key) => (key === 'partner' ? unlimited() : undefined),
  })
  const store = memoryStore({ clock: time })
  const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy })
  expect(await time.settle(limiter.consume('u1'))).toMatchObject({ limit: 10, remaining: 9 })
  expect((await time.settle(limiter.consume('partner'))).limit).toBe(Number.POSITIVE_INFINITY)
  expect(limits.policy({ a: 'request' })).toBe(byDefault)
})

const daily = (limit: number) => fixedWindow({ name: 'daily', limit, window: '1d' })
test('several policies of a key are one decision, and a default may be several', async () => {
  const { limits, time } = bench({
    default: [own(3), daily(5)],
    load: (key) => (key === 'pro' ? [own(10), daily(4)] : key === 'one' ? own(2) : undefined),
  })
  const store = memoryStore({ clock: time })
  const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy })
  const ask = (key: string, cost = 1) => time.settle(limiter.consume(key, { cost }))
  expect(await ask('free', 3)).toMatchObject({ allowed: true, remaining: 0 })
  expect(
    (await ask('free')).policies.map(({ policy, remaining }) => [policy.name, remaining]),
  ).toEqual([
    ['api', 0],
    ['daily', 2],
  ])
  expect(await ask('pro', 4)).toMatchObject({ allowed: true, policy: { name: 'daily' } })
  expect(await ask('pro')).toMatchObject({ allowed: false, policy: { name: 'daily' } })
  expect(await time.settle(limiter.peek('pro'))).toMatchObject({ policies: [{ remaining: 6 }, {}] })
  expect(await ask('one', 2)).toMatchObject({ allowed: true, policies: [{}] })
  expect(await ask('one')).toMatchObject({ allowed: false })
})

test.each([
  [{ default: [] }, 'default has no policy'],
  [{ default: [own(5), own(6)] }, 'default has two policies named "api"'],
  [{ default: [own(5), { limit: 5 }] }, 'default'],
  [{ load: undefined }, 'load'],
  [{ load: 5 }, 'load'],
  [{ default: undefined }, 'default'],
  [{ default: { limit: 5 } }, 'default'],
  [{ ttl: 0 }, 'ttl'],
  [{ ttl: 'soon' }, 'ttl'],
  [{ maxKeys: 1 }, 'maxKeys'],
  [{ deadlineMs: 0 }, 'deadlineMs'],
  [{ deadlineMs: 60_001 }, 'deadlineMs'],
  [{ onFailure: 'log' }, 'onFailure'],
  [{ cache: true }, 'cache'],
])('options that are refused: %o', (wrong, named) => {
  const options = { load: () => undefined, default: byDefault, ...wrong } as never
  expect(() => limitsFromIn(virtualTime(), options)).toThrow(named)
})
