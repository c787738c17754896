// The memory of a key in Redis.

import { strict as assert } from 'node:assert'
import { RateLimiter, recommendedRedisOptions, redisStore, slidingLog } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { type RedisServer, startRedis } from '@weir/testkit'
import { BEST_PEER, type Goal } from '../goals.js'
import { connected } from '../redis/client.js'
import { koaRatelimit } from '../redis/koa-ratelimit.js'
import { SMALLEST } from '../redis/smallest.js'
import { onRedis } from '../redis/stage.js'
import type { RedisSubject } from '../redis/subject.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, COUNTER, FIXED, LOG } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Samples, Table } from '../table.js'

const USER = 'user-00000000000001'

const keyMetrics: readonly Metric[] = [
  { id: 'bytes', title: 'bytes', digits: 0, better: 'less' },
  { id: 'over', title: 'beyond a plain counter of the same name', digits: 0, better: 'less' },
]
const logMetrics: readonly Metric[] = [
  { id: 'bytes', title: 'bytes', digits: 0, better: 'less' },
  { id: 'each', title: 'a request', digits: 1, better: 'less' },
]

const goals: readonly Goal[] = [
  {
    ...{ table: 'key', metric: 'over', what: 'bytes beyond a plain counter' },
    ...{ of: [BUCKET, FIXED, COUNTER], peer: BEST_PEER, floor: SMALLEST, atMost: 32 },
  },
]

export const redisBytes: Scenario = {
  id: 'redis-bytes',
  title: 'Memory in Redis',
  about: `MEMORY USAGE with SAMPLES 0, of all keys that a subject "${USER}" has after one request, and of a full log. A plain counter is what INCR leaves; it has the same key and a TTL. Sizes come in steps of the server's allocator.`,
  goals,
  measure,
}

async function measure({ fullLog }: Scale): Promise<readonly Table[]> {
  const kinds = subjects
  const rows = await onRedis(kinds, async (server, opened) => {
    const each: Row[] = []
    for (const { name, kind, subject } of opened) {
      const samples = await keyBytes(server, subject)
      if (samples !== undefined) each.push({ subject: name, kind, samples })
    }
    return each
  })
  return [
    { id: 'key', title: 'After one request', metrics: keyMetrics, rows },
    {
      id: 'log',
      title: `A log of ${fullLog} requests at distinct times`,
      metrics: logMetrics,
      rows: [await weirLog(fullLog), await koaLog(fullLog)],
    },
  ]
}

/** The keys of one user after one request; undefined if no key belongs to a user. */
async function keyBytes(server: RedisServer, subject: RedisSubject): Promise<Samples | undefined> {
  await server.command('FLUSHDB')
  await subject.ask(USER)
  const keys = await keysOf(server, USER)
  if (keys.length === 0) return undefined
  const bytes = await bytesOf(server, keys)
  for (const key of keys) await server.command('SET', key, '1', 'PX', 600_000)
  return { bytes: [bytes], over: [bytes - (await bytesOf(server, keys))] }
}

async function keysOf(server: RedisServer, part: string): Promise<readonly string[]> {
  const keys = (await server.command('KEYS', '*')) as readonly string[]
  return keys.filter((key) => key.includes(part))
}

async function bytesOf(server: RedisServer, keys: readonly string[]): Promise<number> {
  let bytes = 0
  for (const key of keys)
    bytes += (await server.command('MEMORY', 'USAGE', key, 'SAMPLES', '0')) as number
  return bytes
}

async function weirLog(limit: number): Promise<Row> {
  const server = await startRedis()
  const client = await connected(server.port, recommendedRedisOptions)
  const clock = fakeClock(Date.now())
  const store = redisStore(client, { clock, deadlineMs: 60_000 })
  try {
    const limiter = new RateLimiter({ store, policy: slidingLog({ limit, window: 10 * limit }) })
    for (let taken = 0; taken < limit; taken += 1) {
      clock.advance(1)
      const { allowed, degraded } = await limiter.consume(USER)
      assert.ok(allowed && !degraded, 'the log was to take all')
    }
    assert.equal((await limiter.peek(USER)).remaining, 0)
    return rowOf(LOG, 'weir', await bytesOf(server, await keysOf(server, USER)), limit)
  } finally {
    await store.close()
    client.disconnect()
    await server.stop()
  }
}

async function koaLog(limit: number): Promise<Row> {
  const server = await startRedis()
  const subject = await koaRatelimit.open(server.port, limit)
  try {
    for (let taken = 0; taken < limit; taken += 1) await subject.ask(USER)
    return rowOf(
      koaRatelimit.name,
      'peer',
      await bytesOf(server, await keysOf(server, USER)),
      limit,
    )
  } finally {
    await subject.close()
    await server.stop()
  }
}

function rowOf(subject: string, kind: Row['kind'], bytes: number, limit: number): Row {
  return { subject, kind, samples: { bytes: [bytes], each: [bytes / limit] } }
}
