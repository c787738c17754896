// The first requests of a process, by the clock: how long they wait for a connection.

import { createServer, type Server, type Socket } from 'node:net'
import { freePort, judged, type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'

const policy = fixedWindow({ name: 'p', limit: 3, window: '5m' })

const open: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of open.splice(0).reverse()) await close()
})

let runs = 0
function newName(): string {
  runs += 1
  return `s${Date.now().toString(36)}${runs}`
}

function redis(options: object, at: number): Redis {
  const client = new Redis(at, { ...recommendedRedisOptions, ...options }).on('error', () => {})
  open.push(() => client.disconnect())
  return client
}

function storeOn(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStore(client, { instances: 1, ...options })
  open.push(() => store.close())
  return store
}

/** Accepts connections, and never answers. */
async function silentServer(): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  const at = await freePort()
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return at
}

test.each([{ enableOfflineQueue: false }, { enableOfflineQueue: true }, { lazyConnect: true }])(
  'requests to a host that drops connections wait until the deadline of the first one, with %j',
  (options) => judged(() => waitsForDeadline(options)),
)

async function waitsForDeadline(options: object): Promise<void> {
  // Such options are unsafe, since they make requests wait.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const silent = { connectTimeout: 60_000, ...options }
  const deadlineMs = 2_000
  const store = storeOn(redis(silent, await silentServer()), { deadlineMs })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const timed = async () => {
    const startedMs = performance.now()
    const { source } = await limiter.consume('k')
    return { source, ms: performance.now() - startedMs }
  }
  const first = timed()
  await new Promise((resolve) => setTimeout(resolve, deadlineMs / 2))
  const [one, two] = await Promise.all([first, timed()])
  const later = await timed()
  expect([one, two, later].map(({ source }) => source)).toEqual(['local', 'local', 'local'])
  expect(one.ms).toBeGreaterThan(deadlineMs - 5)
  expect(one.ms).toBeLessThan(2 * deadlineMs)
  expect(two.ms).toBeLessThan(deadlineMs)
  expect(later.ms).toBeLessThan(deadlineMs / 2)
}

test('a server that is started after the client is used, and what was admitted before counts in it', async () => {
  const at = await freePort()
  const store = storeOn(redis({}, at))
  const limiter = new RateLimiter({ name: newName(), store, policy })
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  const server: RedisServer = await startRedis({ port: at })
  open.push(() => server.stop())
  await waitUntil('Redis decides', async () => {
    const { source, remaining } = await limiter.peek('k')
    return source === 'store' && remaining === 2
  })
})

test('nobody waits for a connection that is lost later', async () => {
  const server = await startRedis()
  const client = redis({ retryStrategy: () => 60_000 }, server.port)
  const limiter = new RateLimiter({
    name: newName(),
    store: storeOn(client, { deadlineMs: 60_000 }),
    policy,
  })
  expect((await limiter.consume('k')).source).toBe('store')
  await server.stop()
  await waitUntil('it is lost', async () => client.status === 'reconnecting')
  const startedMs = performance.now()
  expect((await limiter.consume('k')).source).toBe('local')
  // Where it waited, it would for a minute.
  expect(performance.now() - startedMs).toBeLessThan(30_000)
})
