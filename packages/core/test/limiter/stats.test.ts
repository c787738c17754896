// What limiters count, over the memory store and stores that fail.

import { channel } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type PolicyStats, resilient } from '../../src/entries/store.js'
import {
  type Decision,
  fixedWindow,
  type LimiterStats,
  memoryStore,
  RateLimiter,
  type Store,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { type FakeRequest, limitOn } from '../http/exchange.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The non-zero counts. */
function decisionsOf({ decisions }: LimiterStats): Record<string, number> {
  const some = decisions.filter(({ count }) => count > 0)
  return Object.fromEntries(
    some.map(({ outcome, source, degraded, count }) => {
      return [`${outcome} ${source}${degraded ? ' degraded' : ''}`, count]
    }),
  )
}

function policyOf(limiter: RateLimiter, name: string): PolicyStats {
  return limiter.stats().policies.find(({ policy }) => policy === name) as PolicyStats
}

const failing: Store = {
  decide() {
    throw new Error('away')
  },
  reset() {},
}

describe('decisions', () => {
  const policy = fixedWindow({ name: 'few', limit: 5, window: '1h' })

  test('do not include calls that take nothing, or that are no decision', async () => {
    const limiter = new RateLimiter({ policy })
    await limiter.peek('a')
    await limiter.penalty('a', { cost: 3 })
    await limiter.refund('a', { cost: 2 })
    await limiter.reset('a')
    await expect(limiter.consume('')).rejects.toThrow('key')
    expect(decisionsOf(limiter.stats())).toEqual({})
    expect(policyOf(limiter, 'few').units).toEqual({ taken: 0, refunded: 2, penalty: 3, denied: 0 })
  })

  test('that nothing limits count as such, and those of a limiter that is off separately', async () => {
    const free = new RateLimiter({ policy: unlimited() })
    await free.consume('a')
    await free.peek('a')
    free.enabled = false
    await free.consume('a')
    await free.wait('a')
    await free.consumeUpTo('a', 3)
    await free.peek('a')
    expect(decisionsOf(free.stats())).toEqual({ 'allowed none': 1, 'allowed none degraded': 3 })
    expect(free.stats().enabled).toBe(false)
  })

  test('that fail are errors, whichever method asks', async () => {
    const limiter = new RateLimiter({ policy, store: failing })
    await expect(limiter.consume('a')).rejects.toThrow('away')
    expect(() => limiter.decide('a')).toThrow('away')
    await expect(limiter.wait('a')).rejects.toThrow('away')
    await expect(limiter.consumeUpTo('a', 2)).rejects.toThrow('away')
    await expect(limiter.peek('a')).rejects.toThrow('away')
    expect(decisionsOf(limiter.stats())).toEqual({ 'error none degraded': 4 })
    const choosing = new RateLimiter({ policy: () => fail() })
    await expect(choosing.consume('a')).rejects.toThrow('no tier')
    expect(decisionsOf(choosing.stats())).toEqual({ 'error none degraded': 1 })
  })

  const when = (whenUnavailable: 'allow' | 'deny' | 'local') =>
    resilient(failing, { whenUnavailable })
  test.each<[string, string, Partial<ConstructorParameters<typeof RateLimiter>[0]>]>([
    ['store', 'a store', { store: memoryStore() }],
    ['local', 'a store that is away, allowing', { store: when('allow') }],
    ['local', 'a store that is away, denying', { store: when('deny') }],
    ['local', 'a store that is away, deciding here', { store: when('local') }],
    ['local', 'no policy, allowing', { policy: fail, whenPolicyFails: 'allow' }],
    ['local', 'no policy, denying', { policy: fail, whenPolicyFails: 'deny' }],
    ['store', 'no policy, with another', { policy: fail, whenPolicyFails: policy }],
    ['none', 'a policy without a limit', { policy: unlimited() }],
    ['none', 'a limiter that is switched off', {}],
  ])('name the source, "%s", with the word of the metric: %s', async (source, what, options) => {
    vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
    const name = what.replaceAll(/\W+/g, '-').slice(0, 64)
    const limiter = new RateLimiter({ name, policy, ...options })
    limiter.enabled = what !== 'a limiter that is switched off'
    const taken = [
      await limiter.consume('a'),
      await limiter.decide('a'),
      await limiter.consumeUpTo('a', 2),
      await limiter.wait('a', { timeout: 0 }),
    ]
    for (const decision of [...taken, await limiter.peek('a')]) {
      expect(decision.source).toBe(source)
      expect(decision.degraded).toBe(source === 'local' || !limiter.enabled)
    }
    const counted = limiter.stats().decisions.filter(({ count }) => count > 0)
    expect(counted.map((row) => row.source)).toEqual(counted.map(() => source))
    expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(taken.length)
    await limiter.store.close?.()
  })
})

test.each<[string, Partial<ConstructorParameters<typeof RateLimiter>[0]>, boolean]>([
  ['a policy limits', {}, true],
  ['nothing limits', { policy: unlimited() }, true],
  ['the limiter is off', {}, false],
  ['a policy function fails', { policy: () => fail(), whenPolicyFails: 'deny' }, true],
])('where %s, an observer sees each decision that is counted', async (_, options, enabled) => {
  vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  const seen: boolean[] = []
  const limiter = new RateLimiter({
    policy: fixedWindow({ limit: 3, window: '1h' }),
    onDecision: ({ allowed }) => void seen.push(allowed),
    ...options,
  })
  limiter.enabled = enabled
  const made = [
    await limiter.consume('a'),
    await limiter.wait('a', { timeout: 0 }),
    await limiter.consumeUpTo('a', 5),
    await limiter.decide('a'),
  ]
  expect(seen).toEqual(made.map(({ allowed }) => allowed))
  const counts = limiter.stats().decisions.map(({ count }) => count)
  expect(counts.reduce((sum, count) => sum + count)).toBe(4)
})

function fail(): never {
  throw new Error('no tier')
}

describe('policies', () => {
  test('by the thousand are 200 and one for the others, and no unit is lost', async () => {
    const limiter = new RateLimiter({
      policy: (key) => fixedWindow({ name: `for-${key}`, limit: 1, window: '1h' }),
    })
    for (let i = 0; i < 3_000; i += 1) await limiter.consume(String(i))
    const { policies } = limiter.stats()
    expect(policies).toHaveLength(201)
    const others = policies.at(-1) as PolicyStats
    expect(others).toMatchObject({ policy: '_other', algorithm: undefined, limit: undefined })
    expect(policies.reduce((sum, { units }) => sum + units.taken, 0)).toBe(3_000)
  })

  test('show their settings; tiers under one name show the one that was last used', async () => {
    const limits: Record<string, number> = { free: 10, paid: 100 }
    const limiter = new RateLimiter({
      policy: (key) =>
        tokenBucket({ name: 'tier', capacity: limits[key] ?? 1, refill: 1, every: 100 }),
    })
    await limiter.consume('free')
    await limiter.consume('paid')
    const tier = { algorithm: 'token-bucket', limit: 100, windowMs: 10_000 }
    expect(policyOf(limiter, 'tier')).toMatchObject(tier)
    await limiter.consume('free')
    expect(policyOf(limiter, 'tier').limit).toBe(10)
  })

  test('whose limit changes, and changes back, show the present limit', async () => {
    let limit = 100
    const limiter = new RateLimiter({
      name: 'changing',
      policy: () => fixedWindow({ name: 'w', limit, window: '1h' }),
    })
    for (const next of [100, 50, 100]) {
      limit = next
      await limiter.consume('a')
      expect(policyOf(limiter, 'w').limit).toBe(next)
    }
  })
})

describe('classes', () => {
  const policy = fixedWindow({ name: 'few', limit: 10, window: '1h' })
  const some = ({ priorities }: LimiterStats) =>
    priorities
      .filter(({ count }) => count > 0)
      .map(({ priority, outcome, count }) => `${priority} ${outcome} ${count}`)

  test('have the errors of a store that fails, and denials in shadow mode', async () => {
    const reserve = { batch: 0.5 }
    const call = { priority: 'batch' }
    const limiter = new RateLimiter({ name: 'classes', policy, store: failing, reserve })
    await expect(limiter.consume('a', call)).rejects.toThrow('away')
    await expect(limiter.wait('a', call)).rejects.toThrow('away')
    await expect(limiter.consumeUpTo('a', 2, call)).rejects.toThrow('away')
    await expect(limiter.peek('a', call)).rejects.toThrow('away')
    expect(some(limiter.stats())).toEqual(['batch error 3'])
    const options = { limit: 2, window: '1h', shadow: true, reserve, priority: 'batch' } as const
    const shadow = limitOn(options)
    for (let i = 0; i < 3; i += 1) await shadow.send()
    expect(some(shadow.limiter.stats())).toEqual(['batch allowed 1', 'batch shadow_denied 2'])
  })

  test('are only those of reserve: without it there are none', async () => {
    const limiter = new RateLimiter({ policy })
    await limiter.consume('a', { priority: 'critical' })
    expect(limiter.stats().priorities).toEqual([])
    expect(decisionsOf(limiter.stats())).toEqual({ 'allowed store': 1 })
  })
})

describe('waiting requests', () => {
  test('are counted while they wait, and then by how long they did', async () => {
    const clock = fakeClock()
    const limiter = new RateLimiter({
      policy: fixedWindow({ limit: 1, window: '1h', name: 'one' }),
      store: memoryStore({ clock }),
    })
    const seen: unknown[] = []
    const note = (message: unknown) => void seen.push(message)
    channel('weir:wait').subscribe(note)
    await limiter.wait('a')
    const leaving = new AbortController()
    const waits = limiter.wait('a', { signal: leaving.signal })
    expect(limiter.stats().waiting).toBe(1)
    leaving.abort(new Error('left'))
    await expect(waits).rejects.toThrow('left')
    const { waiting, waits: histogram } = limiter.stats()
    channel('weir:wait').unsubscribe(note)
    expect(waiting).toBe(0)
    expect(histogram.counts.reduce((sum, count) => sum + count)).toBe(1)
    expect(seen).toEqual([{ limiter: 'default', waitedMs: expect.any(Number) }])
    // A request that leaves gets no decision.
    expect(decisionsOf(limiter.stats())).toEqual({ 'allowed store': 1 })
    limiter.close()
  })
})

describe('over HTTP', () => {
  test('a limiter in shadow mode reports what it would have denied', async () => {
    const { limiter, send } = limitOn({ limit: 2, window: '1h', shadow: true })
    for (let i = 0; i < 5; i += 1) expect(await send()).toBeUndefined()
    const stats = limiter.stats()
    expect(stats.shadow).toBe(true)
    expect(decisionsOf(stats)).toEqual({ 'allowed store': 2, 'shadow_denied store': 3 })
    expect(stats.policies[0]?.denials.limit).toBe(3)
  })

  test('requests without a decision are counted by reason', async () => {
    const { limiter, send } = limitOn({
      allow: ['192.0.2.1'],
      deny: ['192.0.2.2'],
      skip: ({ headers }) => headers?.['x-skip'] !== undefined,
      key: ({ headers }) => headers?.['x-key'],
      onMissingKey: 'deny',
    })
    const address = '192.0.2.3'
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
    const requests: FakeRequest[] = [
      { address: '192.0.2.1' },
      { address: '192.0.2.2' },
      { address, headers: { 'x-skip': '1' } },
      { address },
      { address, method: 'OPTIONS', headers: preflight },
      { address, headers: { 'x-key': 'u1' } },
    ]
    for (const request of requests) await send(request)
    const { undecided, decisions } = limiter.stats()
    expect(undecided).toEqual({ skip: 1, allowList: 1, denyList: 1, preflight: 1, noKey: 1 })
    expect(decisions.reduce((sum, { count }) => sum + count, 0)).toBe(1)
  })
})

describe('channel weir:decision', () => {
  const all: Decision[] = []
  const note = (message: unknown) => void all.push(message as Decision)

  afterEach(() => {
    channel('weir:decision').unsubscribe(note)
    all.length = 0
  })

  test('has a frozen copy of each decision that takes something', async () => {
    const policy = fixedWindow({ limit: 2, window: '1h' })
    const limiter = new RateLimiter({ name: 'watched', policy })
    channel('weir:decision').subscribe(note)
    const first = await limiter.consume('a')
    await limiter.peek('a')
    await limiter.consume('a', { cost: 2 })
    await limiter.consume('b', { policy: unlimited() })
    limiter.enabled = false
    await limiter.consume('a')
    expect(all.map(({ allowed, key }) => `${key} ${allowed}`)).toEqual([
      'a true',
      'a false',
      'b true',
      'a true',
    ])
    expect(all[0]).toEqual(first)
    expect(all[0]).not.toBe(first)
    expect(all.every(Object.isFrozen)).toBe(true)
  })

  test('a subscriber that throws changes no decision: Node reports the error', async () => {
    const thrown = new Promise<unknown>((resolve) => {
      const earlier = process.listeners('uncaughtException')
      process.removeAllListeners('uncaughtException')
      process.once('uncaughtException', (error) => {
        for (const each of earlier) process.on('uncaughtException', each)
        resolve(error)
      })
    })
    const throws = () => {
      throw new Error('a subscriber')
    }
    channel('weir:decision').subscribe(throws)
    const limiter = new RateLimiter({ policy: fixedWindow({ limit: 2, window: '1h' }) })
    const decision = await limiter.consume('a')
    channel('weir:decision').unsubscribe(throws)
    expect(decision.allowed).toBe(true)
    expect(await thrown).toMatchObject({ message: 'a subscriber' })
  })
})
