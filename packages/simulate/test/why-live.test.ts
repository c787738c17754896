// `weir why` with the live policies that processes publish, alone and beside a policies file.

import { type Policy, slidingWindow } from '@weir/core'
import { type LivePolicies, livePolicies } from '@weir/core/live'
import { type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ask, askJson, clientAt, earlier, limiterOf, policiesFile, storeOf } from './why-bench.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const SECRET = 'a secret of the tests'
let client: Redis
let at: readonly string[]
beforeEach(async () => {
  await server.command('FLUSHALL')
  client = await clientAt(server.port)
  at = ['--redis', `redis://127.0.0.1:${server.port}`]
})

const api = (limit: number, window: '1h' | '2h' = '1h'): Policy =>
  slidingWindow({ name: 'api', limit, window })

/** A process of the application that has reported. */
async function join(
  defaults: Record<string, Policy> = { free: api(10) },
  store = earlier(client),
): Promise<LivePolicies> {
  const live = livePolicies(store, { name: 'plans', defaults })
  onTestFinished(() => live.close())
  await waitUntil('it has reported', async () => {
    await live.refresh()
    return (await live.list()).processes.some(({ defaults: known }) => {
      return Object.keys(defaults).every((name) => Object.hasOwn(known, name))
    })
  })
  return live
}

const asked = () => ['--key', 'u42', '--name', 'plans', '--limiter', 'api', ...at]

test('the published policies suffice: the default, set ones, overrides of a prefix and of the key', async () => {
  const live = await join()
  const limiter = limiterOf(storeOf(client), live.policy('free'), 'api')
  await limiter.consume('u42', { cost: 4 })
  const first = await askJson(...asked())
  expect(first).toMatchObject({ code: 0, live: { version: 0, processes: 1, notes: [] } })
  expect(first.limiters[0]?.policies).toMatchObject([
    { name: 'api', used: 4, limit: 10, live: { named: 'free', why: 'default' } },
  ])
  expect((await ask(...asked())).text).toContain('the default of "free"; nothing is set')

  await live.set('free', api(20))
  await live.override({ prefix: 'u' }, api(5))
  await live.override({ prefix: 'u4' }, api(6))
  await live.override({ prefix: 'u5' }, api(7))
  expect((await askJson(...asked())).limiters[0]?.policies).toMatchObject([
    {
      used: 4,
      limit: 6,
      live: { named: 'free', why: 'prefix', prefix: 'u4', version: 3, without: { limit: 20 } },
    },
  ])
  await live.override('u42', api(4))
  const own = await askJson(...asked())
  expect(own).toMatchObject({ code: 3, live: { version: 5 } })
  expect(own.limiters[0]?.policies).toMatchObject([
    {
      limit: 4,
      passes: false,
      live: { why: 'key', version: 5, at: expect.stringMatching(/^20.*Z$/) },
    },
  ])
  const { text } = await ask(...asked())
  expect(text).toMatch(
    /an override of this key, set in version 5 at 20\S+Z, in place of "free"; without it \{.*20/,
  )
  expect(text).toContain('which of these policies the application uses for this key')
  const other = await ask('--key', 'x', '--name', 'plans', '--limiter', 'api', ...at)
  expect(other.text).toMatch(/"free" as it was set in version 1 at 20\S+Z$/m)
})

test('a change that has not taken effect is shown, and the present policy is used', async () => {
  const live = await join(undefined, storeOf(client))
  await live.set('free', api(20))
  const said = await askJson(...asked())
  expect(said.limiters[0]?.policies).toMatchObject([{ limit: 10, live: { why: 'default' } }])
  expect(said.live?.notes).toEqual([
    expect.stringMatching(/^version 1 holds in \d+ ms, and changes \.free$/),
    expect.stringContaining('is at version 0 of 1'),
  ])
})

test('policies that share a counter are all shown, since only the application knows which one it uses', async () => {
  const live = await join({ free: api(10), pro: api(100) })
  await limiterOf(storeOf(client), live.policy('pro'), 'api').consume('u42', { cost: 50 })
  const said = await askJson(...asked())
  expect(said.limiters[0]?.policies).toMatchObject([
    { live: { named: 'free' }, passes: false, remaining: 0 },
    { live: { named: 'pro' }, passes: true, remaining: 50 },
  ])
  expect(said.code).toBe(3)
  expect((await ask(...asked())).text).toContain('by "api", where it takes this policy')
})

test('processes that have other defaults, are behind, or refuse what is set, are shown', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => emitted.mockRestore())
  const live = await join({ free: api(10) })
  await join({ free: api(15) })
  await live.set('free', api(20))
  await client.hset('weir:{settings:plans}', '=api:"u42"', '{"algorithm":"gcra"}')
  const { text } = await ask(...asked())
  expect(text).toContain('livePolicies "plans": version 1, 2 processes')
  expect(text).toContain('1 of 2 processes have another default for "free"')
  expect(text).toContain('=api:"u42" is set to what is no policy: ')
  expect(text).toContain('"free" as it was set in version 1')
})

test('with a file and live policies together, set policies apply, and the difference is shown', async () => {
  const live = await join({ free: api(10), pro: api(100) })
  await live.set('pro', api(200))
  const file = policiesFile(`{
    api: [
      slidingWindow({ name: 'api', limit: 100, window: '1h' }),
      slidingWindow({ name: 'daily', limit: 1000, window: '1d' }),
    ],
  }`)
  const command = [...asked(), '--policy', file]
  expect((await askJson(...command)).limiters).toMatchObject([
    {
      name: 'api',
      policies: [
        { limit: 200, live: { named: 'pro', why: 'set' }, inFile: { limit: 100 } },
        { name: 'daily', limit: 1000 },
      ],
    },
  ])
  const { text } = await ask(...command)
  expect(text).toMatch(/the file has something else: \{"algorithm":"sliding-window",.*100,/)
  expect(text).not.toContain('which of these policies')
})

test('for an unknown name, it says what to check', async () => {
  await expect(ask(...asked())).rejects.toMatchObject({
    code: 'WEIR_INVALID_OPTION',
    message: expect.stringContaining('no process has reported livePolicies named "plans"'),
  })
})

test('if nothing that is set can apply, and no process runs, it says why', async () => {
  await client.hset('weir:{settings:plans}', '.free', '{"algorithm":"none"}')
  await expect(ask(...asked())).rejects.toThrow(
    /"plans" have no policy that holds; \.free is set to what is no policy: /,
  )
})

test('if no process runs, what is set suffices', async () => {
  const live = await join()
  await live.set('free', api(20))
  live.close()
  await client.del('weir:{settings:plans}:processes', 'weir:{settings:plans}:reported')
  const said = await askJson(...asked())
  expect(said.live).toMatchObject({ version: 1, processes: 0 })
  expect(said.limiters[0]?.policies).toMatchObject([{ limit: 20, live: { why: 'set' } }])
})

test('with the right secret, keys and overrides are found; with another or none, it asks for the secret', async () => {
  const store = earlier(client, { hashKeys: SECRET, prefix: 'private' })
  const live = await join({ free: api(10) }, store)
  await live.override('u42', api(3))
  await limiterOf(store, live.policy('free'), 'api').consume('u42', { cost: 3 })
  const command = [...asked(), '--prefix', 'private']

  vi.stubEnv('WEIR_HASH_KEYS', SECRET)
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await askJson(...command)).toMatchObject({
    code: 3,
    limiters: [{ policies: [{ used: 3, limit: 3, live: { why: 'key' } }] }],
  })
  vi.stubEnv('WEIR_HASH_KEYS', 'another secret of the tests')
  const wrong = await ask(...command)
  expect(wrong.code).toBe(0)
  expect(wrong.text).toContain('nothing is stored under this key: is WEIR_HASH_KEYS right?')
  vi.stubEnv('WEIR_HASH_KEYS', undefined)
  expect((await askJson(...command)).hint).toContain(
    'If the store has hashKeys, set WEIR_HASH_KEYS',
  )
})

test('the override of a long key is found by the key itself', async () => {
  const live = await join()
  const long = 'é'.repeat(300)
  await live.override(long, api(3))
  const said = await askJson('--key', long, '--name', 'plans', '--limiter', 'api', ...at)
  expect(said.limiters[0]?.policies).toMatchObject([{ limit: 3, live: { why: 'key' } }])
})

test('text from Redis or the command line is printed without terminal control characters', async () => {
  const live = await join()
  await live.override({ prefix: 'u\u001b[31m' }, api(3))
  await client.hset('weir:{settings:plans}', '.x\u009b31m', 'y\u001b', '=api*"u\\u001b"', '\u202e')
  const key = 'u\u001b[31m\u202e42\nnext'
  const { text } = await ask('--key', key, '--name', 'plans', '--limiter', 'api', ...at)
  expect(text).not.toMatch(/[^\P{C}\n]/u)
  expect(text).toContain('"u\\u001b[31m\\u202e42\\u000anext"')
})
