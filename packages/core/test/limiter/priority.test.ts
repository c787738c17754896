// Classes of requests: which of them may take the last part of a limit.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  RateLimiter,
  slidingLog,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { Priorities } from '../../src/limiter/priority.js'
import { makePolicySet } from '../../src/request.js'
import type { ConsumeRequest } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { priorityWalks, type Sums, takePriorityWalk, walkedPolicies } from './priority-walk.js'

const policy = fixedWindow({ limit: 100, window: '1m' })
const reserve = { normal: 0.2, batch: 0.5 }

function limiterOf(options: Partial<ConstructorParameters<typeof RateLimiter>[0]> = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  onTestFinished(() => store.close())
  return { clock, limiter: new RateLimiter({ name: 'p', store, policy, reserve, ...options }) }
}

/** How many of these requests pass. */
async function passed(limiter: RateLimiter, count: number, priority?: string): Promise<number> {
  const all = Array.from({ length: count }, () => limiter.consume('k', { priority }))
  return (await Promise.all(all)).filter(({ allowed }) => allowed).length
}

test.each(Object.entries(walkedPolicies))(
  'whatever is requested, a class takes nothing of what it leaves to others: %s, in memory',
  async (name, policiesOf) => {
    const clock = fakeClock()
    const sums: Sums = { denied: 0, kept: 0 }
    const walks = priorityWalks(name.includes('beside') ? 2 : 1)
    await fc.assert(
      fc.asyncProperty(walks, async (walk) => {
        const policies = policiesOf(walk.limits)
        const store = memoryStore({ clock })
        await takePriorityWalk({ walk, policies, store, clock, name: 'walk' }, sums)
        await store.close?.()
      }),
      { numRuns: stepsOf(12, 300) },
    )
    // The walk is only meaningful if some class is denied by what it leaves.
    expect(sums.kept).toBeGreaterThan(20)
    expect(sums.denied).toBeGreaterThan(sums.kept)
  },
)

test('a request without a class leaves nothing', async () => {
  const { limiter } = limiterOf()
  expect(await passed(limiter, 200)).toBe(100)
})

test('a decision without a class has no field for one', async () => {
  const { limiter } = limiterOf()
  expect(Object.keys(await limiter.consume('k'))).not.toContain('priority')
})

test('listeners get the class', async () => {
  const seen: (string | undefined)[] = []
  const onDecision = ({ priority }: Decision) => void seen.push(priority)
  const { limiter } = limiterOf({ onDecision })
  await limiter.consume('k', { priority: 'batch' })
  await limiter.consume('k')
  await limiter.wait('k', { priority: 'normal' })
  await limiter.consumeUpTo('k', 60, { priority: 'batch' })
  expect(seen).toEqual(['batch', undefined, 'normal', 'batch'])
})

test('without a limit, no class is denied', async () => {
  const { limiter } = limiterOf({ policy: unlimited(), reserve: { off: 1 } })
  expect((await limiter.consume('k', { priority: 'off' })).allowed).toBe(true)
  const away = limiterOf({ reserve: { off: 1 } }).limiter
  away.enabled = false
  expect((await away.consume('k', { priority: 'off' })).allowed).toBe(true)
})

test('limits that a function chooses have their own parts left', async () => {
  const { limiter } = limiterOf({
    policy: (key) => fixedWindow({ name: 'plan', limit: key === 'big' ? 10 : 4, window: '1m' }),
  })
  const passing = async (key: string) =>
    (await limiter.consumeUpTo(key, 100, { priority: 'batch' })).granted
  expect([await passing('big'), await passing('small')]).toEqual([5, 2])
})

test.each([
  [0, 10, 0],
  [0.2, 5, 1],
  [0.2, 1, 1],
  [0.07, 100, 7],
  [0.1 + 0.2, 10, 3],
  [0.29, 100, 29],
  [0.1, 3, 1],
  [1 / 3, 3, 1],
  [2 / 3, 3, 2],
  [0.5, 2 ** 50, 2 ** 49],
  [1, 2 ** 50, 2 ** 50],
  [1, 7, 7],
  [0.5, 0, 0],
])('%d of %i is %i units', (fraction, limit, units) => {
  const policySet = makePolicySet('p', [fixedWindow({ limit, window: '1m' })])
  const target = { policySet, key: 'k' }
  const request: ConsumeRequest = { mode: 'consume', target, costs: [1], count: 1 }
  const { keep } = new Priorities({ low: fraction }).request(request, 'low')
  expect(keep).toEqual([units])
})

describe('an unknown class is refused with a code, before anything is charged', () => {
  const { limiter } = (() => {
    const store = memoryStore()
    return { limiter: new RateLimiter({ name: 'wrong', store, policy, reserve }) }
  })()
  const wrong = ['bacth', '', 'constructor', '__proto__', 5, null, {}, ['batch'], Symbol('batch')]

  test.each(wrong)('%s', async (priority) => {
    const call = { priority: priority as string }
    const refused = { code: 'WEIR_INVALID_PRIORITY' }
    await expect(limiter.consume('k', call)).rejects.toMatchObject(refused)
    await expect(limiter.peek('k', call)).rejects.toMatchObject(refused)
    await expect(limiter.wait('k', call)).rejects.toMatchObject(refused)
    await expect(limiter.consumeUpTo('k', 1, call)).rejects.toMatchObject(refused)
    expect(() => limiter.decide('k', call)).toThrow(expect.objectContaining(refused))
    expect(await limiter.peek('k')).toMatchObject({ remaining: 100 })
  })

  test('the error names the known classes', () => {
    expect(() => limiter.decide('k', { priority: 'bacth' })).toThrow(
      'priority is "bacth"; give "critical", "normal", "batch"',
    )
  })

  test('without a name there is one class', async () => {
    const plain = new RateLimiter({ name: 'plain', policy })
    expect((await plain.consume('k', { priority: 'critical' })).allowed).toBe(true)
    await expect(plain.consume('k', { priority: 'batch' })).rejects.toThrow('give "critical"')
  })

  test('calls that take or give back unconditionally have no class', async () => {
    const call = { priority: 'batch' } as never
    const refused = { code: 'WEIR_INVALID_OPTION' }
    await expect(limiter.penalty('k', call)).rejects.toMatchObject(refused)
    await expect(limiter.refund('k', call)).rejects.toMatchObject(refused)
  })
})

test.each([
  [5, 'WEIR_INVALID_OPTION'],
  ['batch', 'WEIR_INVALID_OPTION'],
  [null, 'WEIR_INVALID_OPTION'],
  [[0.5], 'WEIR_INVALID_OPTION'],
  [{ batch: -0.1 }, 'WEIR_INVALID_OPTION'],
  [{ batch: 1.1 }, 'WEIR_INVALID_OPTION'],
  [{ batch: Number.NaN }, 'WEIR_INVALID_OPTION'],
  [{ batch: '0.5' }, 'WEIR_INVALID_OPTION'],
  [{ batch: undefined }, 'WEIR_INVALID_OPTION'],
  [{ '': 0.5 }, 'WEIR_INVALID_NAME'],
  [{ 'a b': 0.5 }, 'WEIR_INVALID_NAME'],
  [{ ['x'.repeat(65)]: 0.5 }, 'WEIR_INVALID_NAME'],
])('a reserve of %j is refused: %s', (wrong, code) => {
  const make = () => new RateLimiter({ policy, reserve: wrong as never })
  expect(make).toThrow(expect.objectContaining({ code }))
})

test('the class that always exists may also leave something', async () => {
  const { limiter } = limiterOf({ reserve: { critical: 0.1, batch: 0.5 } })
  expect(await passed(limiter, 200, 'critical')).toBe(90)
})

test('the charge of a class is refunded whole, and settled', async () => {
  const { limiter } = limiterOf()
  const decision = await limiter.consume('k', { cost: 50, priority: 'batch' })
  expect((await limiter.consume('k', { priority: 'batch' })).allowed).toBe(false)
  await limiter.refund(decision, { cost: 20 })
  expect(await limiter.peek('k')).toMatchObject({ remaining: 70 })
  const other = await limiter.consume('k', { cost: 5, priority: 'batch' })
  await limiter.settle(other, 60)
  expect(await limiter.peek('k')).toMatchObject({ remaining: 10 })
})

describe('a request that waits', () => {
  test.each([
    ['a bucket', tokenBucket({ capacity: 4, refill: 4, every: '1m' })],
    ['a window', slidingLog({ limit: 4, window: '1m' })],
  ])('in a lower class does not delay one in a higher class: %s', async (_, slow) => {
    const { limiter } = limiterOf({ policy: slow })
    await limiter.consume('k', { cost: 2 })
    const lower = limiter.wait('k', { priority: 'batch' })
    const higher = await limiter.wait('k', { priority: 'critical' })
    expect(higher).toMatchObject({ allowed: true, remaining: 1, priority: 'critical' })
    limiter.close()
    await expect(lower).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
  })

  test('is denied at once if that takes too long, and told what is left to its class', async () => {
    const { limiter } = limiterOf()
    await limiter.consume('k', { cost: 60 })
    const denied = await limiter.wait('k', { priority: 'batch', timeout: '1s' })
    expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_000 })
  })

  test('in a lower class reserves no turn of a bucket, so that others continue', async () => {
    const policy = tokenBucket({ capacity: 10, refill: 1, every: '1m', maxWait: '1h' })
    const { limiter } = limiterOf({ policy })
    expect(await passed(limiter, 20, 'batch')).toBe(5)
    const waiting = limiter.wait('k', { priority: 'batch' })
    expect(await limiter.peek('k')).toMatchObject({ remaining: 5 })
    const turn = limiter.wait('k', { cost: 6, priority: 'critical' })
    expect(await limiter.peek('k')).toMatchObject({ remaining: 0 })
    limiter.close()
    await expect(waiting).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
    await expect(turn).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
  })
})
