// The names of counters, and so which requests share one.

import { describe, expect, test } from 'vitest'
import { httpLimiter } from '../../src/http/index.js'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { type FakeRequest, FakeResponse, fake } from '../http/exchange.js'
import { catchWarnings } from '../warnings.js'

const warnings = catchWarnings()

let limiters = 0
/** Warnings are given once for each name. */
function freshName(): string {
  limiters += 1
  return `names${limiters}`
}

describe('the time scale of a policy', () => {
  test.each<[string, Policy]>([
    ['1m', slidingWindow({ limit: 100, window: '1m' })],
    ['1d', fixedWindow({ limit: 10, window: '24h' })],
    ['1d-aligned', fixedWindow({ limit: 10, window: '1d', aligned: true })],
    ['1500ms', slidingLog({ limit: 10, window: 1_500 })],
    ['2s', tokenBucket({ capacity: 20, refill: 10, every: '1s' })],
    ['10s', gcra({ limit: 1, period: '1s', burst: 10 })],
    ['42857ms', tokenBucket({ capacity: 5, refill: 7, every: '1m' })],
    ['1ms', tokenBucket({ capacity: 1, refill: 8_000, every: 1 })],
    ['1ms', tokenBucket({ capacity: 0, refill: 1, every: '1d' })],
  ])('is %s, the window or the time in which an empty bucket refills', (scale, policy) => {
    expect(policy.timeScale).toBe(scale)
  })

  test('of buckets in other units is the same if they refill in the same time', () => {
    const scales = [
      tokenBucket({ capacity: 100, refill: 100, every: '1m' }),
      tokenBucket({ capacity: 20, refill: 20, every: '1m' }),
      tokenBucket({ capacity: 7, refill: 7 / 60, every: '1s' }),
      gcra({ limit: 3, period: '1m' }),
    ].map(({ timeScale }) => timeScale)
    expect(scales).toEqual(['1m', '1m', '1m', '1m'])
  })
})

describe('a policy without a name', () => {
  async function nameIn(name: string | undefined, policy: Policy): Promise<string> {
    const limiter = new RateLimiter({ ...(name !== undefined && { name }), policy })
    return (await limiter.consume('k')).policy.name
  }

  test.each([
    ['sliding-window-1m', slidingWindow({ limit: 100, window: '1m' })],
    ['token-bucket-10s', tokenBucket({ capacity: 20, refill: 2, every: '1s' })],
    ['gcra-1s', gcra({ limit: 3, period: '1s' })],
  ])('is %s in a limiter with a name', async (name, policy) => {
    expect(await nameIn(freshName(), policy)).toBe(name)
  })

  test.each([
    ['sliding-window-100-per-1m', slidingWindow({ limit: 100, window: '1m' })],
    ['token-bucket-20-per-10s', tokenBucket({ capacity: 20, refill: 2, every: '1s' })],
  ])('is %s in a limiter without a name', async (name, policy) => {
    expect(await nameIn(undefined, policy)).toBe(name)
  })

  test('and one with a name: the given name stays', async () => {
    expect(await nameIn(freshName(), slidingWindow({ name: 'mine', limit: 1, window: '1m' }))).toBe(
      'mine',
    )
  })

  test('keeps its count when its limit changes, in a limiter with a name', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const name = freshName()
    const before = new RateLimiter({
      name,
      store,
      policy: slidingWindow({ limit: 3, window: '1m' }),
    })
    const after = new RateLimiter({
      name,
      store,
      policy: slidingWindow({ limit: 4, window: '1m' }),
      shared: true,
    })
    await before.consume('k', { cost: 3 })
    expect((await after.consume('k')).remaining).toBe(0)
  })

  test('counts separately from another limit, in limiters without a name', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const three = new RateLimiter({ store, policy: slidingWindow({ limit: 3, window: '1m' }) })
    const four = new RateLimiter({ store, policy: slidingWindow({ limit: 4, window: '1m' }) })
    await three.consume('k', { cost: 3 })
    expect((await four.consume('k')).remaining).toBe(3)
    expect(warnings.all).toEqual([])
  })

  test.each([true, false])(
    'and with a function for its limit also counts separately (%s)',
    async (isFunction) => {
      const store = memoryStore({ clock: fakeClock() })
      const decided = (limit: number) => {
        const options = {
          store,
          key: () => 'k',
          limit: isFunction ? () => limit : limit,
          window: '1m',
        } as const
        const request: FakeRequest = {}
        return Promise.resolve(httpLimiter(options, fake).check(request, undefined)).then(
          () => request.rateLimit,
        )
      }
      for (let i = 0; i < 3; i += 1) await decided(3)
      expect((await decided(4))?.remaining).toBe(3)
    },
  )

  test('beside another one with the same algorithm and time scale has its limit in its name, with a warning', async () => {
    const name = freshName()
    const policy = [
      fixedWindow({ limit: 5, window: '1m' }),
      fixedWindow({ limit: 9, window: '1m' }),
      fixedWindow({ limit: 9, window: '1h' }),
    ]
    const { policies } = await new RateLimiter({ name, policy }).consume('k')
    expect(policies.map((each) => each.policy.name)).toEqual([
      'fixed-window-5-per-1m',
      'fixed-window-9-per-1m',
      'fixed-window-1h',
    ])
    expect(warnings.codes).toEqual(['WEIR_LIMIT_IN_NAME'])
    expect(warnings.texts[0]).toContain(`"${name}"`)
  })

  test('is hidden under the name that its limiter uses', async () => {
    const options = { name: freshName(), policy: fixedWindow({ limit: 5, window: '1m' }) }
    const { check } = httpLimiter({ ...options, hide: ['fixed-window-1m'] }, fake)
    const response = new FakeResponse()
    await check({}, response)
    expect(response.headers).toEqual({})
    expect(() => httpLimiter({ ...options, hide: ['fixed-window-5-per-1m'] }, fake)).toThrow(
      'there are fixed-window-1m',
    )
  })
})

describe('a warning', () => {
  test('is not given for two limiters of one name whose policies have policy keys', () => {
    const [name, store] = [freshName(), memoryStore()]
    const policy = slidingLog({ limit: 5, window: '1m' })
    for (const key of ['a', 'b']) new RateLimiter({ name, store, policy: [{ policy, key }] })
    expect(warnings.all).toEqual([])
  })

  test('is not given for two limiters of one name that share nothing', () => {
    const [name, store] = [freshName(), memoryStore()]
    new RateLimiter({ name, store, policy: slidingLog({ name: 'p', limit: 5, window: '1m' }) })
    new RateLimiter({ name, store, policy: slidingLog({ name: 'p', limit: 5, window: '1h' }) })
    expect(warnings.all).toEqual([])
  })

  test.each([true, false])(
    'is given for different algorithms under one name (two limiters: %s)',
    async (two) => {
      const name = freshName()
      const store = memoryStore()
      const bucket = tokenBucket({ name: 'p', capacity: 5, refill: 5, every: '1m' })
      const window = fixedWindow({ name: 'p', limit: 5, window: '1m' })
      const first = new RateLimiter({ name, store, policy: bucket })
      if (two) new RateLimiter({ name, store, policy: window })
      else await first.consume('k', { policy: window })
      expect(warnings.codes).toEqual(['WEIR_CHANGED_ALGORITHM'])
      expect(warnings.texts[0]).toContain(`"p" of limiter "${name}"`)
    },
  )
})
