// What is special to Weir's storage under @nestjs/throttler, on Redis. behaviours.test.ts has what
// the throttler documents.

import { memoryStore } from '@weir/core'
import type { Store } from '@weir/core/store'
import { fakeClock } from '@weir/core/testing'
import { afterEach, expect, test } from 'vitest'
import { weirStorage } from '../src/nest-throttler.js'
import { of5, type Throttling, throttled } from './incumbents/nest.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function served(throttlers: object[], store: Store = redis.store): Promise<string> {
  const storage = weirStorage(store, { name: newName() })
  const { url, close } = await throttled({ throttlers, storage } as Throttling)
  open.push(close)
  return url
}

async function statusesOf(url: string, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await fetch(url)).status)
  return statuses
}

test('without a block, a refusal lasts until the window is over', async () => {
  const clock = fakeClock()
  const url = await served([{ ttl: 60_000, limit: 3, blockDuration: 0 }], memoryStore({ clock }))
  expect(await statusesOf(url, 3)).toEqual([200, 200, 200])
  clock.advance('59s')
  const { status, headers } = await fetch(url)
  expect([status, headers.get('retry-after')]).toEqual([429, '1'])
  clock.advance('1s')
  expect(await statusesOf(url, 1)).toEqual([200])
})

test('a limit of 0 refuses everything, with a wait', async () => {
  const url = await served([{ ttl: 60_000, limit: 0, blockDuration: 0 }])
  const { status, headers } = await fetch(url)
  expect(status).toBe(429)
  expect(headers.get('retry-after')).toBe('60')
})

test('version 5, which passes no limit, needs the largest one, and never exceeds it', async () => {
  const throttlers = [{ ttl: 60_000, limit: 3 }]
  const statuses = async (options: object): Promise<number[]> => {
    const storage = weirStorage(redis.store, { name: newName(), ...options })
    const app = await throttled({ throttlers, storage } as Throttling, 'Routes', of5)
    open.push(app.close)
    return statusesOf(app.url, 4)
  }
  expect(await statuses({ limit: 100 })).toEqual([200, 200, 200, 429])
  expect(await statuses({ limit: 2 })).toEqual([200, 200, 429, 429])
  expect(await statuses({})).toEqual([500, 500, 500, 500])
  await expect(weirStorage(redis.store).increment('k', 1_000)).rejects.toMatchObject({
    code: 'WEIR_INVALID_OPTION',
  })
})
