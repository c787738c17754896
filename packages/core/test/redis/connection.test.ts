// The transport knows no client: a store works with anything that has the functions of a
// connection.

import { describe, expect, test } from 'vitest'
import { processTime } from '../../src/base/time.js'
import { fixedWindow, RateLimiter, tokenBucket } from '../../src/index.js'
import type { Connection } from '../../src/redis/connection.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { redisStoreIn } from '../../src/redis/store.js'
import { FirstConnection } from '../../src/redis/transport/first-connection.js'
import { newName, singleClient } from './clients.js'

const client = singleClient()

/** A minimal connection: commands, one by one. */
function plainConnection(parts: Partial<Connection> = {}): Connection {
  const call: Connection['call'] = (command, args) => client.callBuffer(command, ...args)
  return {
    place: ['here'],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    nodeOf: () => undefined,
    call,
    inOneWrite(_node, items, ask) {
      for (const item of items) ask(item, call)
    },
    unready: () => undefined,
    attempt: () => undefined,
    ...parts,
  }
}

const PATIENT: RedisStoreOptions = { deadlineMs: 60_000, whenUnavailable: 'throw' }

test('a store decides, counts processes and keeps settings over any connection', async () => {
  const prefix = newName()
  const store = redisStoreIn(processTime, plainConnection(), { ...PATIENT, prefix })
  const policies = [
    tokenBucket({ name: 'burst', capacity: 5, refill: 5, every: '1h' }),
    fixedWindow({ name: 'daily', limit: 9, window: 'day' }),
  ]
  const limiter = new RateLimiter({ name: 'plain', policy: policies, store })
  const decisions = await Promise.all(Array.from({ length: 8 }, () => limiter.consume('u')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
  expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
  expect(await store.settings?.news('s', undefined)).toMatchObject({ version: 0 })
  expect(await client.zcard(`${prefix}:{instances}`)).toBe(1)
  await store.close()
  expect(await client.zcard(`${prefix}:{instances}`)).toBe(0)
})

test('requests while a connection is made wait for it', async () => {
  let connected = (): void => {}
  let isReady = false
  const made = new Promise<void>((resolve) => {
    connected = resolve
  })
  const prefix = newName()
  const connection = plainConnection({
    attempt: () => (isReady ? undefined : made),
    unready: () => (isReady ? undefined : 'it is being made'),
  })
  const store = redisStoreIn(processTime, connection, { ...PATIENT, prefix })
  const limiter = new RateLimiter({
    name: 'waits',
    policy: fixedWindow({ name: 'p', limit: 1, window: '1h' }),
    store,
  })
  const asked = limiter.consume('u')
  expect(await client.exists(`${prefix}:{u}:waits:p:fixed1-1h`)).toBe(0)
  isReady = true
  connected()
  expect(await asked).toMatchObject({ allowed: true, degraded: false })
  await store.close()
})

describe('the first connection', () => {
  const never = new Promise<void>(() => {})
  const time = { ...processTime, after: () => () => {} }

  test('is waited for once, and no longer than until the store is closed', async () => {
    const connection = { attempt: () => never, unready: () => 'it is being made' }
    const first = new FirstConnection(connection, 100, time)
    const waiting = first.wait()
    expect(first.wait()).toBe(waiting)
    expect(first.unready()).toBe(undefined)
    first.close()
    await expect(waiting).rejects.toThrow('it is being made')
    expect(first.wait()).toBe(undefined)
    expect(first.unready()).toBe('it is being made')
  })

  test('is not waited for if a client does not report how it is made', () => {
    const connection = { attempt: () => undefined, unready: () => undefined }
    const first = new FirstConnection(connection, 100, time)
    expect(first.wait()).toBe(undefined)
    expect(first.isOver).toBe(true)
  })
})
