// Live policies in Redis: how they get from one process to another, and what happens when the
// server is away, restarts, or refuses them. Time passes when a test says so.

import { startProxy, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { beforeEach, expect, type MockInstance, onTestFinished, test, vi } from 'vitest'
import { processTime, type Time } from '../../src/base/time.js'
import type { LivePolicies } from '../../src/entries/live.js'
import type { RedisLike } from '../../src/entries/store.js'
import { type RedisStoreOptions, slidingWindow } from '../../src/index.js'
import { livePoliciesIn } from '../../src/live/live-policies.js'
import { fakeClock } from '../../src/testing/index.js'
import { virtualTime } from '../virtual-time.js'
import { clusterClient, singleClient, strictStore } from './clients.js'
import { ownServer } from './own.js'
import { patientOptions, redisStoreOf } from './patient.js'

const api = (limit: number) => slidingWindow({ name: 'api', limit, window: '1m' })
const defaults = { free: api(10), pro: api(100) }
const SECRET = 'a secret of the tests'

let emitted: MockInstance
const server = await ownServer()
beforeEach(() => {
  emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  return () => emitted.mockRestore()
})

const codes = () => emitted.mock.calls.map(([, options]) => (options as { code: string }).code)

let names = 0

interface Fleet {
  readonly name: string
  /** Starts another process. */
  join(client: RedisLike): LivePolicies<'free' | 'pro'>
  /** Lets this much time pass, and makes each process ask. */
  step(ms: number): Promise<boolean[]>
}

/** Processes on one clock, which is also the server's. The steps are their timers. */
function fleetOf(options: RedisStoreOptions = {}): Fleet {
  const clock = fakeClock()
  const nowMs = () => clock.nowUs() / 1_000
  const time = { ...processTime, nowMs, after: () => () => {} }
  names += 1
  const name = `plans-${names}-${Date.now()}`
  const members: LivePolicies<'free' | 'pro'>[] = []
  onTestFinished(() => {
    for (const each of members) each.close()
  })
  return {
    name,
    join(client) {
      const store = strictStore(client, { clock, ...options })
      onTestFinished(() => store.close())
      const live = livePoliciesIn(time, store, { name, defaults })
      members.push(live)
      return live
    },
    async step(ms) {
      // An answer that is on its way would be from another time.
      await Promise.all(members.map((each) => each.refresh()))
      clock.advance(ms)
      return Promise.all(members.map((each) => each.refresh()))
    },
  }
}

async function clientOf(port: number, options: object = {}): Promise<Redis> {
  const client = new Redis(port, { ...patientOptions, ...options })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  await waitUntil('the client is ready', async () => client.status === 'ready')
  return client
}

const places: readonly (readonly [
  string,
  () => RedisLike | Promise<RedisLike>,
  RedisStoreOptions,
])[] = [
  ['a single server with hashed keys', singleClient, { hashKeys: SECRET }],
  ['a Cluster with hash tags and a prefix', clusterClient, { hashTags: 16, prefix: 'other:app' }],
  ['a client with a keyPrefix', () => clientOf(server.port, { keyPrefix: 'mine:' }), {}],
  [
    'a client that gathers commands',
    () => clientOf(server.port, { enableAutoPipelining: true }),
    {},
  ],
]

test.each(places)(
  'on %s, a change reaches other processes, including those that start later',
  async (_, clientAt, options) => {
    const fleet = fleetOf(options)
    const client = await clientAt()
    const [one, two] = [fleet.join(client), fleet.join(client)]
    expect(await fleet.step(0)).toEqual([true, true])
    expect(await one.set('free', api(20))).toMatchObject({ version: 1, isNewCounter: false })
    await one.override('u\n1:{x}', api(30))
    await fleet.step(1_400)
    const all = [one, two, fleet.join(client)]
    const limits = () =>
      all.map((each) => [each.for('free').limit, each.for('pro', 'u\n1:{x}').limit])
    await fleet.step(99)
    expect(limits()).toEqual(all.map(() => [10, 100]))
    await fleet.step(1)
    expect(limits()).toEqual(all.map(() => [20, 30]))
    expect(await two.history()).toMatchObject([{ version: 2, kind: 'key' }, { version: 1 }])
    expect(codes()).toEqual([])
  },
)

test('with hashed keys, nothing in Redis reveals whose override it is, and prefixes are refused', async () => {
  const fleet = fleetOf({ hashKeys: SECRET })
  const live = fleet.join(singleClient())
  await live.override('alice@example.org', api(30))
  await live.remove('alice@example.org')
  await live.override('alice@example.org', api(40))
  await fleet.step(1_500)
  expect(live.for('free', 'alice@example.org').limit).toBe(40)
  const stored = await singleClient().hgetall(`weir:{settings:${fleet.name}}`)
  expect(JSON.stringify(stored)).not.toMatch(/alice|example/)
  await expect(live.override({ prefix: 'alice' }, api(1))).rejects.toMatchObject({
    code: 'WEIR_INVALID_OPTION',
  })
})

test('a key that Weir did not write is left alone, and the defaults apply', async () => {
  const fleet = fleetOf()
  const key = `weir:{settings:${fleet.name}}`
  await singleClient().set(key, 'mine', 'EX', 60)
  const live = fleet.join(singleClient())
  expect(await live.refresh()).toBe(false)
  await expect(live.set('free', api(20))).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  expect(live.for('free')).toBe(defaults.free)
  await singleClient().del(key)
  await singleClient().hset(key, 'version', 'seven')
  expect(await live.refresh()).toBe(false)
  expect(await singleClient().hgetall(key)).toEqual({ version: 'seven' })
  await singleClient().del(key)
  expect(await live.refresh()).toBe(true)
  expect(codes()).toEqual(['WEIR_SETTINGS_UNREAD'])
})

test('a change that was edited by hand stops none of the later ones', async () => {
  const fleet = fleetOf()
  const live = fleet.join(singleClient())
  await live.set('free', api(20))
  await fleet.step(1_500)
  const key = `weir:{settings:${fleet.name}}`
  await singleClient().hset(key, '~2', '2\nsoon\nlater\n.free\n{}\n', 'version', '2')
  await fleet.step(0)
  expect(live.status()).toMatchObject({ version: 2, pending: 0 })
  await live.set('free', api(30))
  await fleet.step(1_500)
  expect(live.for('free').limit).toBe(30)
  expect((await live.history()).map(({ version }) => version)).toEqual([3, 1])
})

test.each(['inf', '1.5', '-3', '9'.repeat(16), '7', 'x'])(
  'a version that was edited by hand to %s is refused, and does not block the server',
  async (version) => {
    const fleet = fleetOf()
    await singleClient().hset(`weir:{settings:${fleet.name}}`, 'id', 'x', 'version', version)
    const live = fleet.join(singleClient())
    expect(await live.refresh()).toBe(false)
    expect(await singleClient().ping()).toBe('PONG')
    expect(live.for('free')).toBe(defaults.free)
    expect(codes()).toContain('WEIR_SETTINGS_UNREAD')
  },
)

test.each(['999999999999999', '3', 'x'])(
  'a version that was edited by hand to %s is repaired by the next change, and nothing is lost',
  async (version) => {
    const fleet = fleetOf()
    const [live, other] = [fleet.join(singleClient()), fleet.join(singleClient())]
    await live.set('free', api(20))
    await live.override('u1', api(0))
    await fleet.step(1_500)
    const key = `weir:{settings:${fleet.name}}`
    await singleClient().hset(key, 'version', version)
    await fleet.step(500)
    expect([live.for('free').limit, live.for('free', 'u1').limit]).toEqual([20, 0])
    // Setting what is already there also repairs it.
    expect(await live.set('free', api(20))).toMatchObject({ version: 3, policy: api(20) })
    expect(await live.set('pro', api(200))).toMatchObject({ version: 4 })
    await fleet.step(1_500)
    const fresh = fleet.join(singleClient())
    await fleet.step(0)
    for (const each of [live, other, fresh]) {
      expect([each.for('free').limit, each.for('pro').limit]).toEqual([20, 200])
      expect(each.for('free', 'u1').limit).toBe(0)
      expect(each.status()).toMatchObject({ version: 4, isCurrent: true })
    }
    expect(codes()).toEqual(['WEIR_SETTINGS_UNREAD'])
    expect(String(emitted.mock.calls[0]?.[0])).toContain('any change mends it')
  },
)

test('an override for all keys that was written by hand is refused, and lifts no limit', async () => {
  const fleet = fleetOf()
  const live = fleet.join(singleClient())
  await live.set('free', api(20))
  await fleet.step(1_500)
  const key = `weir:{settings:${fleet.name}}`
  const none = '{"algorithm":"unlimited","name":"api"}'
  await singleClient().hset(key, '=api*""', none, '=api:""', none)
  const fresh = fleet.join(singleClient())
  await fleet.step(500)
  expect(fresh.for('free', 'u1').limit).toBe(20)
  expect(fresh.status()).toMatchObject({ overrides: 0, refused: 2 })
  expect(codes()).toEqual(['WEIR_SETTING_REFUSED'])
})

test('a number of overrides that was edited by hand prevents no change', async () => {
  const fleet = fleetOf()
  const live = fleet.join(singleClient())
  await live.override('u1', api(1))
  await singleClient().hset(`weir:{settings:${fleet.name}}`, 'counted', 'many')
  await live.override('u2', api(2))
  await live.remove('u1')
  await fleet.step(1_500)
  expect(live.overrides()).toHaveLength(1)
})

test('a server that has lost its data, or its scripts, gets what was known', async () => {
  const fleet = fleetOf()
  const client = await clientOf(server.port)
  const [one, two] = [fleet.join(client), fleet.join(client)]
  for (let i = 0; i < 300; i += 1) await one.override(`u${i}`, api(i))
  await one.set('pro', api(500))
  await fleet.step(1_500)
  await client.flushall()
  await client.script('FLUSH')
  await fleet.step(500)
  const fresh = fleet.join(client)
  await fleet.step(500)
  for (const each of [one, two, fresh]) {
    expect(each.status()).toMatchObject({ version: 301, overrides: 300 })
    expect([each.for('pro').limit, each.for('pro', 'u299').limit]).toEqual([500, 299])
  }
  expect(new Set(codes())).toEqual(new Set(['WEIR_SETTINGS_LOST']))
  expect(await two.override('u7', api(8))).toMatchObject({ version: 302, was: api(7) })
  await client.del(`weir:{settings:${fleet.name}}`)
})

test('a first connection that takes longer than a request may wait is no failure', async () => {
  const proxy = await startProxy(server.port)
  onTestFinished(() => proxy.stop())
  await proxy.set('blackhole')
  const options = { ...patientOptions, connectTimeout: 60_000, lazyConnect: true }
  const client = new Redis(proxy.port, options)
  onTestFinished(() => client.disconnect())
  const time = virtualTime()
  const own: Time = { ...time, soon: processTime.soon }
  const { settings } = redisStoreOf(own, client, { deadlineMs: 50, instances: 1 })
  const news = settings?.news('slow')
  await time.advance(999)
  await proxy.set('pass')
  expect(await news).toMatchObject({ version: 0 })
})

test.each([
  [100, 1_000],
  [10_000, 10_000],
])('with a deadline of %i ms, a silent server has failed after %i ms', async (deadlineMs, ms) => {
  const time = virtualTime()
  const silent: RedisLike = { callBuffer: () => new Promise(() => {}) }
  const { settings } = redisStoreOf(time, silent, { deadlineMs, instances: 1 })
  let failure: unknown
  settings?.news('plans').catch((error) => {
    failure = error
  })
  await time.advance(ms - 1)
  expect(failure).toBeUndefined()
  await time.advance(1)
  expect(failure).toMatchObject({ code: 'WEIR_STORE_FAILED' })
})

test('a user without permission gets a warning with what to permit, which is sufficient', async () => {
  const fleet = fleetOf()
  const client = await clientOf(server.port)
  await client.call('ACL', 'SETUSER', 'live', 'reset', 'on', '>word', '~weir:*', '+ping', '+info')
  const own = await clientOf(server.port, { username: 'live', password: 'word' })
  const live = fleet.join(own)
  const error = await live.set('free', api(20)).catch((failure: Error) => failure)
  const [, rules = ''] = /ACL SETUSER <user> (.*) \(see /.exec((error as Error).message) ?? []
  await client.call('ACL', 'SETUSER', 'live', ...rules.split(' '))
  expect(await live.set('free', api(20))).toMatchObject({ version: 1 })
  await live.override('u1', api(1))
  await live.remove('u1')
  expect(await fleet.step(1_500)).toEqual([true])
  expect(live.for('free').limit).toBe(20)
  await client.del(`weir:{settings:${fleet.name}}`)
  await fleet.step(1_000)
  expect(await live.history()).toEqual([])
  expect(await live.set('free', api(21))).toMatchObject({ version: 4 })
})

test('a partial report of a user with some permissions does not stay forever', async () => {
  const fleet = fleetOf()
  const client = await clientOf(server.port)
  const rules = '~weir:* +@all -zadd'
  await client.call('ACL', 'SETUSER', 'part', 'reset', 'on', '>word', ...rules.split(' '))
  const live = fleet.join(await clientOf(server.port, { username: 'part', password: 'word' }))
  await live.set('free', api(20))
  await waitUntil('it has tried', async () => {
    await fleet.step(1_000)
    return codes().includes('WEIR_SETTINGS_UNREPORTED')
  })
  expect(await client.keys(`weir:{settings:${fleet.name}}*`)).toEqual([
    `weir:{settings:${fleet.name}}`,
  ])
})

test('reports of processes leave nothing behind in Redis', async () => {
  const fleet = fleetOf()
  const live = fleet.join(singleClient())
  await live.refresh()
  const key = `weir:{settings:${fleet.name}}`
  await waitUntil(
    'it is reported',
    async () => (await live.list()).processes[0]?.process !== undefined,
  )
  await waitUntil('it has a TTL', async () => (await singleClient().pttl(`${key}:reported`)) > 0)
  expect(await singleClient().pttl(`${key}:processes`)).toBeLessThanOrEqual(15_000)
  live.close()
  await waitUntil('it is gone', async () => {
    return (await singleClient().exists(`${key}:processes`, `${key}:reported`)) === 0
  })
})
