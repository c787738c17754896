// What a real server that hangs does to resets, to closing and to the set of instances. The fault
// matrix (internal/fleet/src/faults) has what it does to decisions.

import { judged, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { processTime } from '../../src/base/time.js'
import {
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
  slidingLog,
} from '../../src/index.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import { Heartbeat } from '../../src/redis/heartbeat.js'
import { CALM } from '../redis/patient.js'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

let runs = 0
function newName(): string {
  runs += 1
  return `r${Date.now().toString(36)}${runs}`
}

function connect(port: number): Redis {
  const client = new Redis(port, recommendedRedisOptions).on('error', () => {})
  open.push({ close: () => client.disconnect() })
  return client
}

async function ready(client: Redis): Promise<Redis> {
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve))
  return client
}

function storeOn(client: Redis, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStore(client, { instances: 1, ...options })
  open.push(store)
  return store
}

test('after a set of instances was lost, the first one that was heard of took the whole limit', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const client = await ready(connect(server.port))
  const prefix = newName()
  const beats = [0, 1, 2].map(
    () =>
      new Heartbeat(ioredisConnection(client, CALM), {
        prefix,
        time: processTime,
        failed() {},
        watched() {},
      }),
  )
  for (const beat of beats) beat.start()
  await waitUntil('all are counted', async () => beats.every(({ peers }) => peers.count === 3))
  await client.del(`${prefix}:{instances}`)
  const newcomer = new Heartbeat(ioredisConnection(client, CALM), {
    prefix,
    time: processTime,
    failed() {},
    watched() {},
  })
  newcomer.start()
  await waitUntil('it is counted', async () => (await client.zcard(`${prefix}:{instances}`)) >= 1)
  expect(beats.map(({ peers }) => peers.count)).toEqual([3, 3, 3])
  await Promise.all([...beats, newcomer].map((beat) => beat.stop()))
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(await client.zcard(`${prefix}:{instances}`)).toBe(0)
})

test('with a client that queues, a reset in a hang, and a decision pending when the store was closed, waited forever', () =>
  judged(hangs))

async function hangs(): Promise<void> {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  const other = await startRedis()
  const client = new Redis(other.port)
  client.on('error', () => {})
  open.push({ close: () => client.disconnect() })
  await ready(client)
  const store = redisStore(client, { instances: 1 })
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: slidingLog({ limit: 9, window: '1m' }),
  })
  await limiter.consume('k')
  other.kill('SIGSTOP')
  const startedMs = performance.now()
  await expect(limiter.reset('k')).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  const pending = limiter.consume('k')
  await new Promise((resolve) => setImmediate(resolve))
  await store.close()
  expect(await pending).toMatchObject({ degraded: true })
  expect(performance.now() - startedMs).toBeLessThan(20_000)
  warn.mockRestore()
  other.kill('SIGCONT')
  await other.stop()
}

test('a store is closed within a second, whatever Redis does, and leaves no listener on the client', () =>
  judged(closes))

async function closes(): Promise<void> {
  const other = await startRedis()
  const client = await ready(connect(other.port))
  const listeners = () => client.eventNames().map((event) => [event, client.listenerCount(event)])
  const before = listeners()
  const store = redisStore(client)
  const limiter = new RateLimiter({ store, policy: slidingLog({ limit: 9, window: '1m' }) })
  await limiter.consume('k')
  other.kill('SIGSTOP')
  const pending = limiter.consume('k')
  const startedMs = performance.now()
  await store.close()
  expect(performance.now() - startedMs).toBeLessThan(5_000)
  expect(listeners()).toEqual(before)
  other.kill('SIGCONT')
  await pending
  await other.stop()
}

test('a reset is not judged late because the event loop was blocked', () =>
  judged(resetWhileBlocked))

async function resetWhileBlocked(): Promise<void> {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const store = storeOn(await ready(connect(server.port)), { deadlineMs: 100 })
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: slidingLog({ limit: 9, window: '1m' }),
  })
  await limiter.consume('k')
  for (let i = 0; i < 5; i += 1) {
    const reset = limiter.reset('k')
    await new Promise((resolve) => setImmediate(resolve))
    for (const end = performance.now() + 150; performance.now() < end; );
    await reset
  }
}
