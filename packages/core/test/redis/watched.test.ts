// All processes hear with their heartbeats that somebody watches, on real servers, and it costs
// nothing while nobody does. Time passes when a test says so; the servers have their own.

import { waitUntil } from '@weir/testkit'
import { type Cluster, Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fixedWindow, RateLimiter, type RedisStore } from '../../src/index.js'
import { settingsOf } from '../../src/live/checks.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import { textConnection } from '../../src/redis/clients/text.js'
import type { Connection } from '../../src/redis/connection.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { redisStoreIn } from '../../src/redis/store.js'
import type { Settings } from '../../src/settings.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'
import { clusterClient, newName, singleClient, strictStore } from './clients.js'
import { ownServer } from './own.js'
import { CALM, patientOptions } from './patient.js'

const server = await ownServer()

type Watching = Required<Pick<Settings, 'watch' | 'onWatched'>>

function watchingOf(store: RedisStore): Watching {
  return settingsOf(store) as Settings & Watching
}

async function clientOf(options: object = {}): Promise<Redis> {
  const client = new Redis(server.port, { ...patientOptions, ...options })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  await waitUntil('the client is ready', async () => client.status === 'ready')
  return client
}

interface Member extends Watching {
  readonly time: VirtualTime
  readonly store: RedisStore
  /** The calls of a listener. */
  readonly told: boolean[]
  /** Waits until the listener has been called with these. */
  hears(...told: readonly boolean[]): Promise<void>
}

let members = 0

/** A process that has decided, and so has heartbeats. */
async function join(connection: Connection, options: RedisStoreOptions): Promise<Member> {
  members += 1
  const time = virtualTime(members)
  const store = redisStoreIn(time, connection, { deadlineMs: 60_000, ...options })
  onTestFinished(() => time.settle(store.close()))
  const told: boolean[] = []
  const watching = watchingOf(store)
  watching.onWatched((isWatched) => void told.push(isWatched))
  const policy = fixedWindow({ name: 'p', limit: 100, window: '1h' })
  const limiter = new RateLimiter({ name: 'a', store, policy, shared: true })
  let source: string | undefined
  void limiter.consume('k').then((decision) => {
    source = decision.source
  })
  await time.advance(1)
  await waitUntil('it has decided', async () => source === 'store')
  return {
    ...{ time, store, told },
    watch: (ttlMs) => watching.watch(ttlMs),
    onWatched: (listener) => watching.onWatched(listener),
    async hears(...expected) {
      await waitUntil(`it is told ${expected}`, async () => {
        await time.advance(3_000)
        return told.length >= expected.length
      })
      expect(told).toEqual(expected)
    },
  }
}

const texts = (): Connection => {
  const client = singleClient()
  return textConnection({ callText: (command, args) => client.call(command, args) })
}

const places: readonly (readonly [
  string,
  () => Connection | Promise<Connection>,
  () => Redis | Cluster | Promise<Redis>,
  RedisStoreOptions,
])[] = [
  ['a single server', () => ioredisConnection(singleClient(), CALM), singleClient, {}],
  [
    'a Cluster with hash tags and hashed keys',
    () => ioredisConnection(clusterClient(), CALM),
    clusterClient,
    { hashTags: 16, hashKeys: 'a secret of the tests' },
  ],
  ['a client whose replies are texts', texts, singleClient, {}],
  [
    'a client whose numbers are texts',
    async () => ioredisConnection(await clientOf({ stringNumbers: true }), CALM),
    () => clientOf(),
    {},
  ],
]

test.each(places)(
  'on %s, each process hears when somebody begins to watch, and when nobody does any more',
  async (_, connect, clientAt, options) => {
    const prefix = newName()
    const client = await clientAt()
    const connection = await connect()
    const [one, two] = [
      await join(connection, { ...options, prefix }),
      await join(connection, { ...options, prefix }),
    ]
    await one.time.advance(3_000)
    expect(one.told).toEqual([])
    await one.watch(60_000)
    await one.hears(true)
    await two.hears(true)
    const late: boolean[] = []
    const stop = two.onWatched((isWatched) => void late.push(isWatched))
    expect(late).toEqual([true])
    stop()
    await client.del(`${prefix}:{instances}:watched`)
    await one.hears(true, false)
    await two.hears(true, false)
    expect(late).toEqual([true])
    expect(one.store.health().instances).toBe(2)
  },
)

const ofServer = async (options: object = {}) => ioredisConnection(await clientOf(options), CALM)

test('of several who watch, the one with the longest time counts', async () => {
  const prefix = newName()
  const key = `${prefix}:{instances}:watched`
  const client = await clientOf()
  const { watch } = watchingOf(strictStore(client, { prefix }))
  await watch(60_000)
  await watch(6_000)
  expect(await client.pttl(key)).toBeGreaterThan(6_000)
  await watch(60_000)
  expect(await client.pttl(key)).toBeLessThanOrEqual(60_000)
})

test.each([
  ['the time that was said', 6_000, 6_000],
  ['a minute, whatever somebody wrote by hand', 86_400_000, 60_000],
])('without Redis, somebody watches for %s', async (_, writtenMs, ms) => {
  const prefix = newName()
  const own = await clientOf()
  await own.set(`${prefix}:{instances}:watched`, '1', 'PX', writtenMs)
  const member = await join(ioredisConnection(own, CALM), { prefix })
  await member.hears(true)
  own.disconnect()
  await waitUntil('it is gone', async () => own.status === 'end')
  await member.time.advance(ms)
  expect(member.told).toEqual([true, false])
  await member.time.advance(60_000)
  expect(member.told).toEqual([true, false])
})

test('a foreign value written by hand means no watching, and ends when somebody watches', async () => {
  const prefix = newName()
  const key = `${prefix}:{instances}:watched`
  const client = await clientOf()
  const member = await join(await ofServer(), { prefix })
  await client.rpush(key, 'no text')
  await member.time.advance(6_000)
  expect(member.told).toEqual([])
  await client.pexpire(key, 86_400_000)
  await member.hears(true)
  await client.persist(key)
  await member.hears(true, false)
  await member.watch(6_000)
  expect(await client.pttl(key)).toBeGreaterThan(0)
  expect(await client.type(key)).toBe('string')
})

test('while nobody watches, a listener costs no command: a process sends only its heartbeat and its beats', async () => {
  const prefix = newName()
  const member = await join(await ofServer(), { prefix })
  await member.time.advance(500)
  const monitor = await (await clientOf()).monitor()
  onTestFinished(() => monitor.disconnect())
  const sent: string[][] = []
  monitor.on('monitor', (_time, args: string[], source: string) => {
    if (source !== 'lua') sent.push(args)
  })
  for (let beats = 1; beats <= 5; beats += 1) {
    await member.time.advance(3_000)
    await waitUntil('it is monitored', async () => sent.length >= beats)
  }
  await (await clientOf()).call('ECHO', 'the end')
  await waitUntil('it is over', async () => sent.some(([, text]) => text === 'the end'))
  const isBeat = (arg: string): boolean => arg.includes(':weir:beats:')
  const own = sent.filter(
    (args) => args.some((arg) => arg.startsWith(prefix)) && !args.some(isBeat),
  )
  expect(own.map(([command, , count]) => `${command} ${count}`)).toEqual(Array(5).fill('eval 2'))
  // One more sends the script of beats.
  expect(sent.filter(([command]) => command === 'eval').length).toBeLessThanOrEqual(6)
})

test('a user who may not watch gets a warning with what to permit, which is sufficient', async () => {
  const rules = '~*:{instances}* +ping +info'
  const admin = await clientOf()
  await admin.call('ACL', 'SETUSER', 'viewer', 'reset', 'on', '>word', ...rules.split(' '))
  const own = await clientOf({ username: 'viewer', password: 'word' })
  const prefix = newName()
  const { watch } = watchingOf(strictStore(own, { prefix }))
  const error = await watch(6_000).catch((failure: Error) => failure)
  expect(error).toMatchObject({ code: 'WEIR_STORE_FAILED' })
  const [, told = ''] = /ACL SETUSER <user> (.*) \(see /.exec((error as Error).message) ?? []
  await admin.call('ACL', 'SETUSER', 'viewer', ...told.split(' '))
  await watch(6_000)
  expect(await admin.pttl(`${prefix}:{instances}:watched`)).toBeGreaterThan(0)
})

test('a listener that throws, or rejects, causes a warning, and the others are called', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => emitted.mockRestore())
  const member = await join(await ofServer(), { prefix: newName() })
  member.onWatched(() => {
    throw new Error('no page')
  })
  member.onWatched((async () => Promise.reject(new Error('no page'))) as () => void)
  const last: boolean[] = []
  member.onWatched((isWatched) => void last.push(isWatched))
  await member.watch(60_000)
  await member.hears(true)
  expect(last).toEqual([true])
  expect(emitted.mock.calls.map(([, options]) => options)).toMatchObject([
    { code: 'WEIR_OBSERVER_FAILED' },
  ])
})

test.each([5_999, 60_001, 6_000.5, '10s'])(
  'to watch for %s ms is refused before Redis is asked',
  async (ttlMs) => {
    const { watch } = watchingOf(strictStore(singleClient(), { prefix: newName() }))
    await expect(watch(ttlMs as number)).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
  },
)

test('a listener that is not a function is refused', () => {
  const { onWatched } = watchingOf(strictStore(singleClient(), { prefix: newName() }))
  expect(() => onWatched({} as never)).toThrow('WEIR_INVALID_OPTION'.toLowerCase())
})
