// `weir why` with a policies file, on a real Redis: it agrees with `peek` of the application.

import { type PolicyInput, RateLimiter, slidingWindow } from '@weir/core'
import { type HttpAdapter, httpLimiter } from '@weir/core/http'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ask,
  askJson,
  clientAt,
  limiterOf,
  policiesFile,
  policiesIn,
  storeOf,
} from './why-bench.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

let client: Redis
let at: readonly string[]
beforeEach(async () => {
  await server.command('FLUSHALL')
  client = await clientAt(server.port)
  at = ['--redis', `redis://127.0.0.1:${server.port}`]
})

const ALGORITHMS = [
  `tokenBucket({ name: 'p0', capacity: 5, refill: 1, every: '1m' })`,
  `gcra({ name: 'p1', limit: 1, period: '1m', burst: 5 })`,
  `leakyBucket({ name: 'p2', capacity: 5, leak: 1, every: '1m' })`,
  `fixedWindow({ name: 'p3', limit: 5, window: '1h' })`,
  `fixedWindow({ name: 'p4', limit: 5, window: 'month', timeZone: 'Europe/Berlin' })`,
  `slidingLog({ name: 'p5', limit: 5, window: '1h' })`,
  `slidingWindow({ name: 'p6', limit: 5, window: '1h' })`,
  `slidingCounter({ name: 'p7', limit: 5, window: '1h' })`,
]

describe.each(ALGORITHMS)('%s', (source) => {
  test('the units used and left, and when a request passes, are those of the application', async () => {
    const file = policiesFile(source)
    const limiter = limiterOf(storeOf(client), await policiesIn(file))
    const command = ['--key', 'u42', '--policy', file, ...at]
    await limiter.consume('u42', { cost: 3 })
    const some = await askJson(...command)
    expect(some).toMatchObject({ code: 0, wouldPass: true })
    const one = {
      name: expect.stringMatching(/^p\d$/),
      passes: true,
      limit: 5,
      used: 3,
      remaining: 2,
      retryAfterMs: 0,
    }
    expect(some.limiters).toMatchObject([{ name: 'default', wouldPass: true, policies: [one] }])
    expect((await ask(...command)).text).toMatch(/^ {4}3 of 5 used, 2 left; all is forgotten in /m)

    await limiter.consume('u42', { cost: 2 })
    const before = await limiter.peek('u42')
    const none = await askJson(...command)
    const after = await limiter.peek('u42')
    expect(none).toMatchObject({ code: 3, wouldPass: false })
    const [{ retryAfterMs, resetAfterMs, ...policy } = expect.fail()] =
      none.limiters[0]?.policies ?? []
    expect(policy).toMatchObject({ passes: false, used: 5, remaining: 0, cost: 1 })
    expect(retryAfterMs).toBeLessThanOrEqual(before.retryAfterMs as number)
    expect(retryAfterMs).toBeGreaterThanOrEqual(after.retryAfterMs as number)
    expect(resetAfterMs).toBeLessThanOrEqual(before.resetAfterMs)
    expect(resetAfterMs).toBeGreaterThanOrEqual(after.resetAfterMs)
    const { text } = await ask(...command)
    expect(text).toMatch(/^"u42" would be refused by limiter "default" for \d.*: by "p\d"$/m)
    expect(text).toMatch(/^ {2}p\d: refuses, and lets it pass in \d/m)
  })
})

test('a cost that fits passes, a larger one is refused, and one above the limit never passes', async () => {
  const file = policiesFile(`slidingLog({ limit: 5, window: '1h' })`)
  await limiterOf(storeOf(client), await policiesIn(file)).consume('u42', { cost: 3 })
  const costing = (cost: number) =>
    askJson('--key', 'u42', '--policy', file, '--cost', String(cost), ...at)
  expect((await costing(2)).code).toBe(0)
  expect((await costing(3)).code).toBe(3)
  expect((await costing(0)).code).toBe(0)
  const never = await costing(6)
  expect(never).toMatchObject({ code: 3, limiters: [{ retryAfterMs: null }] })
  const { text } = await ask('--key', 'u42', '--policy', file, '--cost', '6', ...at)
  expect(text).toContain('a cost of 6 of "u42" would be refused by limiter "default": by ')
  expect(text).toContain('refuses: a cost of 6 is more than its limit, 5, and never passes')
})

test('reserved turns of a bucket are shown, and when the next one is', async () => {
  const file = policiesFile(
    `leakyBucket({ name: 'p', capacity: 2, leak: 1, every: '1m', maxWait: '1h' })`,
  )
  const limiter = limiterOf(storeOf(client), await policiesIn(file))
  await limiter.consume('u42', { cost: 2 })
  const abort = new AbortController()
  const waiting = [1, 2, 3].map(() => limiter.wait('u42', { signal: abort.signal }).catch(() => {}))
  onTestFinished(async () => {
    abort.abort()
    await Promise.all(waiting)
  })
  await vi.waitFor(async () =>
    expect((await limiter.peek('u42')).retryAfterMs).toBeGreaterThan(180_000),
  )
  const { limiters } = await askJson('--key', 'u42', '--policy', file, ...at)
  const [{ turns } = expect.fail()] = limiters[0]?.policies ?? []
  expect(turns?.units).toBe(2)
  expect(turns?.nextMs).toBeGreaterThan(180_000)
  expect((await ask('--key', 'u42', '--policy', file, ...at)).text).toMatch(
    /2 units ahead, by turns in the queue or penalties; the next turn is in [34] min/,
  )
})

test('a lock-out with a block shows until when, its level, and the length of the next block', async () => {
  const file = policiesFile(
    `{ login: lockout({ limit: 2, window: '15m', block: ['1m', '1h'], forget: '1d' }) }`,
  )
  const { login } = await policiesIn<Record<string, PolicyInput>>(file)
  const limiter = limiterOf(storeOf(client), login as PolicyInput, 'login')
  const command = ['--key', 'u42', '--policy', file, ...at]
  await limiter.consume('u42')
  expect(await askJson(...command)).toMatchObject({
    code: 0,
    limiters: [{ policies: [{ used: 1, block: { level: 0, isBlocked: false } }] }],
  })
  await limiter.consume('u42')
  const blocked = await askJson(...command)
  expect(blocked).toMatchObject({
    code: 3,
    limiters: [{ policies: [{ remaining: 0, block: { level: 1, isBlocked: true } }] }],
  })
  const { text } = await ask(...command)
  expect(text).toMatch(/: blocks, and lets it pass in (1 min|\d+\.\d s)$/m)
  expect(text).toMatch(/2 of 2 used, 0 left; the block ends in /)
  expect(text).toContain('level 1: 1 block began; the next: 1h')
  await limiter.unblock('u42')
  expect((await ask(...command)).text).toContain('"u42" would pass limiter "login"')
})

test('held slots are shown, and how long they are held unless they are renewed', async () => {
  const file = policiesFile(`{ jobs: concurrency({ limit: 3, holdTimeout: '10m' }) }`)
  const { jobs } = await policiesIn<Record<string, PolicyInput>>(file)
  const limiter = limiterOf(storeOf(client), jobs as PolicyInput, 'jobs')
  const command = ['--key', 'u42', '--policy', file, ...at]
  const held = [await limiter.acquire('u42'), await limiter.acquire('u42')]
  expect((await ask(...command)).text).toMatch(
    /2 of 3 held, 1 left; unless renewed, all are free in (10 min|9 min)/,
  )
  held.push(await limiter.acquire('u42'))
  expect(await askJson(...command)).toMatchObject({
    code: 3,
    limiters: [{ policies: [{ used: 3, remaining: 0 }] }],
  })
  for (const each of held) await each.release()
  expect((await askJson(...command)).code).toBe(0)
  await limiter.close()
})

test('several policies with policy keys are all shown, with the longest wait of all', async () => {
  const file = policiesFile(`{
    api: { policy: (key) => [
      slidingLog({ name: 'own', limit: 5, window: '1m' }),
      { policy: fixedWindow({ name: 'org', limit: 3, window: '1d' }), key: 'acme', cost: 2 },
    ] },
    other: slidingLog({ name: 'own', limit: 5, window: '1m' }),
  }`)
  const { api } = await policiesIn<{ api: { policy: (key: string) => PolicyInput } }>(file)
  const limiter = limiterOf(storeOf(client), api.policy('u42'), 'api')
  await limiter.consume('u42')
  const command = ['--key', 'u42', '--policy', file, ...at]
  const said = await askJson(...command)
  expect(said).toMatchObject({ code: 3, wouldPass: false })
  expect(said.limiters).toMatchObject([
    {
      name: 'api',
      wouldPass: false,
      policies: [
        { name: 'own', used: 1, passes: true },
        { name: 'org', key: 'acme', used: 2, cost: 2, passes: false },
      ],
    },
    { name: 'other', wouldPass: true, policies: [{ used: 0 }] },
  ])
  expect(said.unknown.join()).toContain('what policy functions choose')
  expect((await ask(...command, '--limiter', 'api')).text).toContain('org of "acme": refuses')
  expect((await ask(...command, '--limiter', 'other')).code).toBe(0)
})

test("policy keys are given by options, under the policy's name in the store", async () => {
  const file = policiesFile(`{ api: [
    slidingLog({ limit: 5, window: '1m' }),
    fixedWindow({ limit: 3, window: '1d' }),
  ] }`)
  const { api } = await policiesIn<{ api: PolicyInput & [never, never] }>(file)
  const [own, org] = api
  const limiter = limiterOf(storeOf(client), [own, { policy: org, key: 'a=b' }], 'api')
  await limiter.consume('u42', { cost: 2 })
  const command = ['--key', 'u42', '--policy', file, ...at]
  const given = await askJson(...command, '--policy-key', 'fixed-window-1d=a=b')
  expect(given.limiters[0]?.policies).toMatchObject([
    { name: 'sliding-log-1m', used: 2 },
    { name: 'fixed-window-1d', key: 'a=b', used: 2 },
  ])
  expect((await askJson(...command)).limiters[0]?.policies[1]).toMatchObject({ used: 0 })
  await expect(ask(...command, '--policy-key', 'daily=acme')).rejects.toMatchObject({
    code: 'WEIR_INVALID_OPTION',
    exitCode: 2,
    message: expect.stringContaining('"sliding-log-1m", "fixed-window-1d"'),
  })
})

test('a policy without a limit is shown as such, alone and beside others', async () => {
  const file = policiesFile(`{
    none: unlimited({ name: 'free' }),
    some: [unlimited({ name: 'free' }), slidingLog({ name: 'own', limit: 0, window: '1m' })],
  }`)
  const said = await askJson('--key', 'u42', '--policy', file, ...at)
  expect(said.limiters).toMatchObject([
    { name: 'none', wouldPass: true, policies: [{ name: 'free', limit: null, passes: true }] },
    {
      name: 'some',
      policies: [
        { name: 'free', passes: true },
        { name: 'own', passes: false },
      ],
    },
  ])
  expect((await ask('--key', 'u42', '--policy', file, ...at)).text).toContain(
    'free: passes, as it limits nothing',
  )
})

test('a limiter without a name, and policies without one, are found as the application counts them', async () => {
  const file = policiesFile(`[
    slidingWindow({ limit: 5, window: '1m' }),
    slidingWindow({ limit: 9, window: '1h' }),
  ]`)
  const policy = await policiesIn(file)
  const store = storeOf(client)
  await new RateLimiter({ store, policy, shared: true }).consume('u42', { cost: 4 })
  const { limiters } = await askJson('--key', 'u42', '--policy', file, ...at)
  expect(limiters[0]?.policies.map(({ name, used }) => [name, used])).toEqual([
    ['sliding-window-5-per-1m', 4],
    ['sliding-window-9-per-1h', 4],
  ])
})

test('a limit and a window are found as a middleware counts them', async () => {
  const adapter = { isMiddleware: true } as HttpAdapter<object, unknown>
  for (const name of ['hello', undefined]) {
    const options = {
      store: storeOf(client),
      name,
      limit: 5,
      window: '10m',
      key: () => 'u42',
    } as const
    const { limiter } = httpLimiter<object, unknown>(options, adapter)
    await limiter.consume('u42', { cost: 4 })
    await limiter.consume('u42')
    const file = policiesFile(
      `{ ${name ?? 'default'}: { limit: 5, window: '10m', key: ({ user }) => user } }`,
    )
    const said = await askJson('--key', 'u42', '--policy', file, ...at)
    expect(said).toMatchObject({ code: 3, limiters: [{ policies: [{ used: 5 }] }] })
    const [{ policy } = expect.fail()] = (await limiter.peek('u42')).policies
    expect(said.limiters[0]?.policies[0]?.name).toBe(policy.name)
  }
})

describe('if nothing is stored under the key', () => {
  const SHORT = "limit: 5, window: '10m'"
  const used = async (options: { name?: string; policy: PolicyInput }) =>
    new RateLimiter({ ...options, store: storeOf(client), shared: true }).consume('u42', {
      cost: 4,
    })

  test('the answer is that of a new key, and names what the application must have', async () => {
    const file = policiesFile(`{
      api: [slidingWindow({ ${SHORT} }), fixedWindow({ name: 'daily', limit: 9, window: '1d' })],
      login: lockout({ limit: 2, window: '15m', block: ['1m'], forget: '1d' }),
      free: unlimited({}),
    }`)
    const command = ['--key', 'u42', '--policy', file, ...at]
    const { code, text } = await ask(...command)
    expect(code).toBe(0)
    expect(text).toContain(
      '"u42" would pass limiter "api" as a new key: nothing is stored under it\n',
    )
    expect(text).toContain('"u42" would pass limiter "free"\n')
    expect(text).toContain(
      "\nthe application's policies must have these names, algorithms and windows: limiter " +
        '"api" has "sliding-window-10m" (sliding-window, 10m), "daily" (fixed-window, 1d); limiter ' +
        '"login" has "lockout-15m-forget-1d" (lockout, 15m-forget-1d)\n',
    )
    const isNewOf = async () => (await askJson(...command)).limiters.map((each) => each.isNewKey)
    expect(await isNewOf()).toEqual([true, true, false])

    const { api } = await policiesIn<{ api: PolicyInput }>(file)
    await used({ name: 'api', policy: api })
    expect(await isNewOf()).toEqual([false, true, false])
    const known = await askJson(...command)
    expect(known.hint).toBeUndefined()
    expect((await ask(...command)).text).toContain('"u42" would pass limiter "api"\n')
  })

  test.each([
    ['a middleware', 'api', { name: 'api' }, 'slidingWindow({ SHORT })', 'api'],
    ['no name', 'api', {}, "slidingWindow({ SHORT, name: 'own' })", 'sliding-window-10m'],
    [
      'a limiter without a name',
      undefined,
      {},
      "slidingWindow({ SHORT, name: 'own' })",
      '5-per-10m',
    ],
  ])('a policy with the name of %s is found', async (_, name, own, source, found) => {
    const policy = slidingWindow({ limit: 5, window: '10m', ...own })
    await used({ ...(name !== undefined && { name }), policy })
    const exported = source.replace('SHORT', SHORT)
    const file = policiesFile(name === undefined ? exported : `{ ${name}: ${exported} }`)
    const command = ['--key', 'u42', '--policy', file, ...at]
    const { code, text } = await ask(...command)
    expect(code).toBe(0)
    expect(text).toMatch(
      new RegExp(
        `^limiter "${name ?? 'default'}" has counted this key under the policy name ` +
          `"\\S*${found}"(, as a middleware .* window)?: 4 of 5 used; give the policy this name`,
        'm',
      ),
    )
    expect(text.includes('as a middleware names')).toBe(found === 'api')
    expect((await askJson(...command)).hint).toContain('give the policy this name in the file')
    expect((await ask('--key', 'x', ...command.slice(2))).text).not.toContain('has counted')
  })
})

test('for an IPv6 address, under which nothing is stored, its network is named', async () => {
  const file = policiesFile(`slidingLog({ limit: 5, window: '1m' })`)
  const hintFor = async (key: string) => (await askJson('--key', key, '--policy', file, ...at)).hint
  expect(await hintFor('2001:db8:1:2::3')).toContain('count this address as "2001:db8:1::/56"')
  for (const key of ['2001:db8:1::/56', 'org:7', '192.0.2.1'])
    expect(await hintFor(key)).toMatch(/^nothing is stored under this key: /)
})

test('without --name it says that live policies were not asked', async () => {
  const file = policiesFile(`slidingLog({ limit: 5, window: '1m' })`)
  const { text } = await ask('--key', 'u42', '--policy', file, ...at)
  expect(text).toContain('live policies and overrides, if the application has some: give --name')
})
