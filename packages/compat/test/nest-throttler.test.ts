// @nestjs/throttler's own behaviours, over Weir's store on Redis.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { afterEach, expect, test } from 'vitest'
import { type WeirStorage, weirStorage } from '../src/nest-throttler.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

class Routes {
  all(): string {
    return 'ok'
  }
  own(): string {
    return 'ok'
  }
  free(): string {
    return 'ok'
  }
}
const decorate = (name: 'all' | 'own' | 'free', decorators: readonly MethodDecorator[]): void => {
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, name)
  for (const each of decorators) each(Routes.prototype, name, descriptor as PropertyDescriptor)
}
decorate('all', [Get('/')])
decorate('own', [Get('/own'), Throttle({ default: { ttl: 60_000, limit: 1 } }) as MethodDecorator])
decorate('free', [Get('/free'), SkipThrottle() as MethodDecorator])
Controller()(Routes)

async function served(throttlers: object[]): Promise<string> {
  class App {}
  const storage: WeirStorage = weirStorage(redis.store, { name: newName() })
  const options = { throttlers, storage } as Parameters<typeof ThrottlerModule.forRoot>[0]
  Module({
    imports: [ThrottlerModule.forRoot(options)],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App)
  const app = await NestFactory.create(App, { logger: false })
  open.push(() => app.close())
  await app.listen(0, '127.0.0.1')
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`
}

async function statusesOf(url: string, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await fetch(url)).status)
  return statuses
}

const LIMIT = { ttl: 60_000, limit: 3 }

test.each([
  ['a block of the window', {}],
  ['no block', { blockDuration: 0 }],
])('with %s, lets the limit pass, refuses what comes after it, and says so', async (_, more) => {
  const url = await served([{ ...LIMIT, ...more }])
  const { headers } = await fetch(url)
  expect(headers.get('x-ratelimit-limit')).toBe('3')
  expect(headers.get('x-ratelimit-remaining')).toBe('2')
  expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(57)
  expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
  expect(Number((await fetch(url)).headers.get('retry-after'))).toBeGreaterThan(55)
})

test('a route has a limit of its own, or none', async () => {
  const url = await served([LIMIT])
  expect(await statusesOf(`${url}/own`, 2)).toEqual([200, 429])
  expect(await statusesOf(`${url}/free`, 5)).toEqual([200, 200, 200, 200, 200])
  expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 429])
})

test('begins anew when the window is over', async () => {
  const url = await served([{ ttl: 300, limit: 3, blockDuration: 0 }])
  expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 429])
  await new Promise((resolve) => setTimeout(resolve, 320))
  expect(await statusesOf(url, 1)).toEqual([200])
})

test('blockDuration refuses for so long from the first request above the limit', async () => {
  const url = await served([{ ttl: 300, limit: 3, blockDuration: 1_200 }])
  expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 429])
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(await statusesOf(url, 1)).toEqual([429])
  await new Promise((resolve) => setTimeout(resolve, 850))
  expect(await statusesOf(url, 1)).toEqual([200])
})

test('several throttlers are several limits', async () => {
  const url = await served([
    { name: 'short', ttl: 300, limit: 2, blockDuration: 0 },
    { name: 'long', ttl: 60_000, limit: 3, blockDuration: 0 },
  ])
  expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
  await new Promise((resolve) => setTimeout(resolve, 320))
  expect(await statusesOf(url, 2)).toEqual([200, 429])
})

test('a limit of 0 refuses all, and says for how long', async () => {
  const url = await served([{ ttl: 60_000, limit: 0, blockDuration: 0 }])
  const { status, headers } = await fetch(url)
  expect(status).toBe(429)
  expect(headers.get('retry-after')).toBe('60')
})

test('throttlers of one key count apart', async () => {
  const storage = weirStorage(redis.store, { name: newName() })
  const hits = async (name: string): Promise<number> =>
    (await storage.increment('k', 60_000, 5, 0, name)).totalHits
  expect([await hits('a'), await hits('b'), await hits('a')]).toEqual([1, 1, 2])
})
