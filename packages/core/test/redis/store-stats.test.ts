// What a Redis store counts of its calls, on a separate server.

import { channel } from 'node:diagnostics_channel'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoreCall } from '../../src/entries/store.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'

let server: RedisServer
let client: Redis
let store: RedisStore
const calls: StoreCall[] = []
const note = (message: unknown) => void calls.push(message as StoreCall)

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, { ...recommendedRedisOptions, connectTimeout: 5_000 })
  client.on('error', () => {})
  await new Promise((resolve) => client.once('ready', resolve))
  // So that no probe is a call among those of the test.
  store = redisStore(client, { deadlineMs: 60_000, instances: 3, denyCache: false })
  channel('weir:store').subscribe(note)
})
afterAll(async () => {
  channel('weir:store').unsubscribe(note)
  await store.close()
  client.disconnect()
  await server.stop()
})

function limiterOf(name: string): RateLimiter {
  return new RateLimiter({ name, store, policy: fixedWindow({ limit: 5, window: '1h' }) })
}

test('each call is counted once, with its time, and published while somebody listens', async () => {
  const limiter = limiterOf('calls')
  await limiter.consume('a')
  await Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
  const stats = store.stats()
  const [node] = stats.nodes
  expect(stats).toMatchObject({
    kind: 'redis',
    instances: 3,
    unreconciled: 0,
    whenUnavailable: 'local',
  })
  expect(stats.memory).toBeUndefined()
  expect(node).toMatchObject({ node: 'redis', state: 'closed', inFlight: 0 })
  expect(node?.calls).toEqual({ ok: 2, timeout: 0, error: 0, notSent: 0 })
  expect(node?.durations.counts.reduce((sum, count) => sum + count)).toBe(2)
  // Stores of other files may still beat, on the same channel: one request in a call.
  const together = calls.filter(({ requests }) => requests === 3)
  expect(together).toMatchObject([{ node: 'redis', result: 'ok' }])
  const restMs = (node?.durations.sum ?? 0) * 1_000 - (together[0]?.durationMs ?? 0)
  const alone = calls.filter(({ durationMs }) => Math.abs(durationMs - restMs) < 1e-6)
  expect(alone).toMatchObject([{ node: 'redis', result: 'ok', requests: 1 }])
})

test('a refusal of the server is an error, and what cannot be sent is not sent', async () => {
  const limiter = limiterOf('refused')
  await client.set('weir:probe', '1')
  await client.config('SET', 'maxmemory', '1')
  await limiter.consume('a')
  const first = store.stats()
  expect(first.nodes[0]?.calls).toMatchObject({ ok: 2, error: 1, notSent: 0 })
  expect(first.events.fallback).toBe(1)
  expect(calls.filter(({ result }) => result === 'error')).toMatchObject([
    { error: expect.any(Error) },
  ])
  client.disconnect()
  await new Promise<void>((resolve) => {
    if (client.status === 'end') resolve()
    else client.once('end', resolve)
  })
  await limiter.consume('a')
  expect(store.stats().nodes[0]?.calls.notSent).toBe(1)
  expect(store.stats().unreconciled).toBe(1)
})
