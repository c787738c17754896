// The memory of a key in Redis.

import type { RedisServer } from '@weir/testkit'
import { onRedis } from '../redis/stage.js'
import type { RedisSubject } from '../redis/subject.js'
import { subjects } from '../redis/subjects.js'
import type { Scenario } from '../scenario.js'
import type { Metric, Row, Samples, Table } from '../table.js'

const USER = 'user-00000000000001'

const metrics: readonly Metric[] = [
  { id: 'bytes', title: 'bytes', digits: 0 },
  { id: 'over', title: 'beyond a plain counter of the same name', digits: 0 },
]

export const redisBytes: Scenario = {
  id: 'redis-bytes',
  title: 'Memory in Redis',
  about: `MEMORY USAGE with SAMPLES 0, of all keys that a subject "${USER}" has after one request. A plain counter is what INCR leaves; it has the same key and a TTL. Sizes come in steps of the server's allocator.`,
  measure,
}

async function measure(): Promise<readonly Table[]> {
  const rows = await onRedis(subjects, async (server, opened) => {
    const each: Row[] = []
    for (const { name, kind, subject } of opened) {
      const samples = await keyBytes(server, subject)
      if (samples !== undefined) each.push({ subject: name, kind, samples })
    }
    return each
  })
  return [{ id: 'key', title: 'After one request', metrics, rows }]
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
