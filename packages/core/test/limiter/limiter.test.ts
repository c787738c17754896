import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingLog,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const policy = slidingLog({ limit: 2, window: '1m' })

/** A store that must not be asked. */
const untouched: Store = {
  decide: () => expect.unreachable('the store was asked'),
  reset: () => expect.unreachable('the store was asked'),
}

describe('misuse is refused before the store is asked', () => {
  const limiter = new RateLimiter({ store: untouched, policy })
  const methods = ['consume', 'peek', 'penalty', 'refund'] as const

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -5, 1.5, 2 ** 53, 'x', '1', null, {}, 1n])(
    'cost %s',
    async (cost) => {
      for (const method of methods) {
        const promise = limiter[method]('k', { cost: cost as never })
        await expect(promise).rejects.toMatchObject({ code: 'WEIR_INVALID_COST' })
      }
    },
  )

  test('a cost is read once: the value that was checked counts', async () => {
    const own = new RateLimiter({ policy: fixedWindow({ limit: 10, window: '1m' }) })
    const costs = [2]
    const options = {
      get cost() {
        return costs.pop() ?? Number.NaN
      },
    }
    expect(await own.consume('k', options)).toMatchObject({ remaining: 8 })
  })

  test.each([
    ['no options', undefined, 'WEIR_INVALID_OPTION'],
    ['no policy', {}, 'WEIR_INVALID_POLICY'],
    ['no policies', { policy: [] }, 'WEIR_INVALID_POLICY'],
    ['a policy by hand', { policy: { limit: 10, window: 1000 } }, 'WEIR_INVALID_POLICY'],
    ['two policies of one name', { policy: [policy, policy] }, 'WEIR_INVALID_POLICY'],
    ['a policy key that is none', { policy: [{ policy, key: '' }] }, 'WEIR_INVALID_KEY'],
    ['an own cost that is none', { policy: [{ policy, cost: -1 }] }, 'WEIR_INVALID_COST'],
    ['a store that is none', { policy, store: {} }, 'WEIR_INVALID_OPTION'],
    ['an observer that is none', { policy, onDecision: 1 }, 'WEIR_INVALID_OPTION'],
    ['a name that is none', { policy, name: 'a b' }, 'WEIR_INVALID_NAME'],
    ['an option that does not exist', { policy, keyPrefix: 'x' }, 'WEIR_INVALID_OPTION'],
    [
      'an own option that does not exist',
      { policy: [{ policy, Key: 'x' }] },
      'WEIR_INVALID_POLICY',
    ],
    ['a look-alike of a policy', { policy: { signature: 'x' } }, 'WEIR_INVALID_POLICY'],
    [
      'an unlimited policy of the name of another',
      { policy: [policy, unlimited({ name: policy.name })] },
      'WEIR_INVALID_POLICY',
    ],
  ])('at construction: %s', (_, options, code) => {
    expect(() => new RateLimiter(options as never)).toThrow(expect.objectContaining({ code }))
  })

  test('values without a text had no code', async () => {
    const odd = Object.create(null)
    const own = new RateLimiter({ store: untouched, policy, shared: true })
    await expect(own.consume(odd)).rejects.toMatchObject({ code: 'WEIR_INVALID_KEY' })
    await expect(own.consume('k', { cost: odd })).rejects.toMatchObject({
      code: 'WEIR_INVALID_COST',
    })
    expect(() => slidingLog({ limit: 1, window: odd })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_DURATION' }),
    )
  })

  test.each([null, 5, { maxkeys: 5 }])('memoryStore with %j', (options) => {
    expect(() => memoryStore(options as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test.each([0, 1.5, Number.NaN, -1, Date.now(), 'now'])('a clock that returns %s', (now) => {
    const clock = { nowUs: () => now as number }
    expect(() => memoryStore({ clock })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_CLOCK' }),
    )
    expect(() => memoryStore({ clock: now as never })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_CLOCK' }),
    )
  })
})

describe('a decision', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const burst = tokenBucket({ name: 'burst', capacity: 4, refill: 1, every: '1s' })
  const daily = fixedWindow({ name: 'daily', limit: 10, window: '1d' })

  test('has as its binding policy the smallest share left when allowed, and the longest wait when denied', async () => {
    const limiter = new RateLimiter({ name: 'binding', store, policy: [daily, burst] })
    const first = await limiter.consume('k', { cost: 3 })
    expect(first).toMatchObject({
      allowed: true,
      policy: burst,
      limit: 4,
      remaining: 1,
      degraded: false,
      source: 'store',
    })
    expect(first.policies.map(({ policy: { name }, remaining }) => [name, remaining])).toEqual([
      ['daily', 7],
      ['burst', 1],
    ])
    const second = await limiter.consume('k', { cost: 4 })
    expect(second).toMatchObject({
      allowed: false,
      policy: burst,
      retryAfterMs: 3_000,
      reason: 'limit',
    })
    clock.advance('1h')
    await limiter.consume('k', { cost: 4 })
    const third = await limiter.consume('k', { cost: 4 })
    expect(third).toMatchObject({
      allowed: false,
      policy: daily,
      retryAfterMs: 86_400_000 - 3_600_000,
    })
    expect(await limiter.consume('k', { cost: 5 })).toMatchObject({
      policy: burst,
      reason: 'cost-exceeds-limit',
      retryAfterMs: Infinity,
    })
  })

  test('names a policy that denied, even if another one has nothing left', async () => {
    const limiter = new RateLimiter({
      name: 'zero-cost',
      store,
      policy: [{ policy: slidingLog({ name: 'spent', limit: 1, window: '30d' }), cost: 0 }, burst],
    })
    await limiter.penalty('k', { policy: [slidingLog({ name: 'spent', limit: 1, window: '30d' })] })
    const denied = await limiter.consume('k', { cost: 5 })
    expect(denied.policy.name).toBe('burst')
  })

  test('for an unlimited policy is made without the store', async () => {
    const limiter = new RateLimiter({ store: untouched, policy: unlimited() })
    expect(await limiter.consume('k')).toMatchObject({
      allowed: true,
      remaining: Infinity,
      source: 'none',
    })
    await limiter.reset('k')
  })

  test('may use a policy that is chosen by key, synchronously or later', async () => {
    const tiers: Record<string, Policy> = {
      free: slidingLog({ limit: 1, window: '1m' }),
      paid: unlimited(),
    }
    const limiter = new RateLimiter({
      name: 'tiers',
      store,
      policy: (key) => tiers[key.split(':')[0] as string] as Policy,
    })
    const later = new RateLimiter({
      name: 'tiers',
      store,
      policy: async (key) => tiers[key.split(':')[0] as string] as Policy,
    })
    await limiter.consume('free:1')
    expect((await later.consume('free:1')).allowed).toBe(false)
    expect((await limiter.consume('paid:1')).remaining).toBe(Infinity)
    await expect(limiter.consume('unknown:1')).rejects.toMatchObject({ code: 'WEIR_POLICY_FAILED' })
  })
})

describe('an observer', () => {
  let warn: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test.each([
    ['that rejects ended the process', async () => Promise.reject(new Error('no metrics'))],
    [
      'that throws what has no text failed the decision',
      () => {
        throw Object.create(null)
      },
    ],
    [
      'that writes on its decision turned it into a denial',
      (decision: object) => {
        Object.assign(decision, { allowed: false })
      },
    ],
  ])('%s', async (_, onDecision) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const limiter = new RateLimiter({
      policy,
      name: `observed-${Math.random()}`.replace('0.', ''),
      onDecision,
    })
    expect((await limiter.consume('k')).allowed).toBe(true)
    await new Promise((resolve) => setImmediate(resolve))
    expect(warn).toHaveBeenCalledTimes(1)
    expect(unhandled).not.toHaveBeenCalled()
    process.off('unhandledRejection', unhandled)
  })
})

test('a decision as JSON contained the source of its scripts', async () => {
  const decision = await new RateLimiter({ policy }).consume('k')
  expect(JSON.stringify(decision).length).toBeLessThan(1_000)
  expect(() => structuredClone(decision)).not.toThrow()
})

test('promises of other libraries were taken for answers', async () => {
  const answers = memoryStore()
  const thenable = <Value>(value: Value) => ({
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    then: (resolve: (settled: Value) => void) => resolve(value),
  })
  const store = {
    ...answers,
    decide: (group: never) => thenable(answers.decide(group)),
  } as unknown as Store
  const limiter = new RateLimiter({ store, policy: (() => thenable(policy)) as never })
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 1 })
})

test('a clock that fails later admitted everything', async () => {
  let nowUs = Date.now() * 1_000
  const limiter = new RateLimiter({ store: memoryStore({ clock: { nowUs: () => nowUs } }), policy })
  await limiter.consume('k')
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 0]) {
    nowUs = wrong
    await expect(limiter.consume('k')).rejects.toMatchObject({ code: 'WEIR_INVALID_CLOCK' })
  }
})

describe('a policy function that fails', () => {
  beforeEach(() => void vi.spyOn(process, 'emitWarning').mockImplementation(() => {}))
  afterEach(() => void vi.restoreAllMocks())

  const good = slidingLog({ limit: 3, window: '1m' })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no database')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no database'))],
    ['returns nothing', () => undefined as never],
    ['returns numbers', () => ({ limit: Number.NaN }) as never],
  ] as [string, () => Policy | Promise<Policy>][])(
    '%s: its last policy for the key applies, and never "unlimited"',
    async (_, bad) => {
      let policyOf: () => Policy | Promise<Policy> = () => good
      const limiter = new RateLimiter({ policy: () => policyOf() })
      await limiter.consume('k')
      policyOf = bad
      expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 1, limit: 3 })
      await expect(limiter.consume('new')).rejects.toMatchObject({
        code: 'WEIR_POLICY_FAILED',
        cause: expect.anything(),
      })
    },
  )

  const fail = (): never => {
    throw new Error('no database')
  }

  test('the error says what to do', async () => {
    await expect(new RateLimiter({ policy: fail }).consume('k')).rejects.toThrow(
      'the policy function of limiter "default" failed: Error: no database, and never chose a ' +
        'policy for this key; fix it, or set whenPolicyFails',
    )
  })

  test("whenPolicyFails: 'allow' lets the request pass, and says that nothing was counted", async () => {
    const limiter = new RateLimiter({ policy: fail, whenPolicyFails: 'allow' })
    const allowed = { allowed: true, degraded: true, source: 'local', limiter: 'default' }
    expect(await limiter.consume('k')).toMatchObject(allowed)
    expect(await limiter.peek('k')).toMatchObject(allowed)
  })

  test("whenPolicyFails: 'deny' denies with a separate reason", async () => {
    const seen: Decision[] = []
    const onDecision = (decision: Decision) => void seen.push(decision)
    const limiter = new RateLimiter({ policy: fail, whenPolicyFails: 'deny', onDecision })
    const denied = { allowed: false, reason: 'policy-failed', retryAfterMs: 1_000, key: 'k' }
    expect(await limiter.consume('k')).toMatchObject(denied)
    expect(seen).toMatchObject([denied])
  })

  test.each(['allow', 'deny'] as const)(
    'whenPolicyFails: %o also applies to costs by names, none of which is known',
    async (whenPolicyFails) => {
      const limiter = new RateLimiter({ policy: fail, whenPolicyFails })
      const expected = { allowed: whenPolicyFails === 'allow' }
      const cost = { tokens: 50 }
      expect(await limiter.consume('k', { cost })).toMatchObject(expected)
      expect(await limiter.wait('k', { cost })).toMatchObject(expected)
      const malformed = limiter.consume('k', { cost: { tokens: -1 } })
      await expect(malformed).rejects.toMatchObject({ code: 'WEIR_INVALID_COST' })
    },
  )

  test('whenPolicyFails: a policy limits instead, but the last one that the function returned for the key takes precedence', async () => {
    let policyOf: () => Policy = () => good
    const spare = slidingLog({ name: 'spare', limit: 1, window: '1m' })
    const limiter = new RateLimiter({ policy: () => policyOf(), whenPolicyFails: [spare] })
    await limiter.consume('old')
    policyOf = fail
    expect(await limiter.consume('old')).toMatchObject({ allowed: true, limit: 3 })
    expect(await limiter.consume('new')).toMatchObject({ allowed: true, limit: 1 })
    expect(await limiter.consume('new')).toMatchObject({ allowed: false, reason: 'limit' })
  })

  test('it applies to consume and peek only, since other methods could not do their work', async () => {
    const limiter = new RateLimiter({ policy: fail, whenPolicyFails: 'allow' })
    const failed = expect.objectContaining({ code: 'WEIR_POLICY_FAILED' })
    for (const call of ['penalty', 'refund', 'reset'] as const)
      await expect(limiter[call]('k')).rejects.toEqual(failed)
  })

  test.each(['open', true, null, 5])('whenPolicyFails: %o is refused', (whenPolicyFails) => {
    expect(
      () => new RateLimiter({ policy: good, whenPolicyFails: whenPolicyFails as never }),
    ).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }))
  })
})

test.each([undefined, null, 'false', 0])('%s does not switch a limiter off', async (value) => {
  const limiter = new RateLimiter({ policy: slidingLog({ limit: 1, window: '1m' }) })
  expect(() => {
    limiter.enabled = value as never
  }).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }))
  expect(limiter.enabled).toBe(true)
})

test('a limiter that is switched off allows everything, says so, and counts on when it is switched on', async () => {
  const limiter = new RateLimiter({ policy: slidingLog({ limit: 1, window: '1m' }) })
  await limiter.consume('k')
  limiter.enabled = false
  expect(await limiter.consume('k')).toMatchObject({
    allowed: true,
    degraded: true,
    source: 'none',
  })
  limiter.enabled = true
  expect((await limiter.consume('k')).allowed).toBe(false)
})
