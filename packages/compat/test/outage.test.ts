// What users of an incumbent get while Redis is frozen, killed, and there again.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import fastifyRateLimit from '@fastify/rate-limit'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { type RedisStore, recommendedRedisOptions, redisStore } from '@weir/core'
import { type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { weirStore as expressStore } from '../src/express-rate-limit.js'
import { weirStore as fastifyStore } from '../src/fastify-rate-limit.js'
import { weirStore as honoStore } from '../src/hono-rate-limiter.js'
import { weirStorage as nestStorage } from '../src/nest-throttler.js'
import { RateLimiterRedis } from '../src/rate-limiter-flexible.js'

/** The deadline of the store is 100 ms. */
const LONGEST_MS = 150
const LIMIT = 30
const WINDOW_MS = 3_600_000

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Asks once, for the status. */
type Ask = () => Promise<number>

async function askOf(url: string): Promise<number> {
  return (await fetch(url)).status
}

const INCUMBENTS: Readonly<Record<string, (store: RedisStore) => Promise<Ask>>> = {
  async 'express-rate-limit'(store) {
    const middleware = rateLimit({ windowMs: WINDOW_MS, limit: LIMIT, store: expressStore(store) })
    const app = express().use(middleware)
    app.get('/', (_, response) => void response.send('ok'))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    open.push(() => server.close())
    return () => askOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  },
  async 'hono-rate-limiter'(store) {
    const app = new Hono()
    const limits = { windowMs: WINDOW_MS, limit: LIMIT, keyGenerator: () => 'ann' }
    app.use(rateLimiter({ ...limits, store: honoStore(store) }))
    app.get('/', (c) => c.text('ok'))
    return async () => (await app.request('/')).status
  },
  async '@fastify/rate-limit'(store) {
    const app = fastify()
    open.push(() => app.close())
    const limits = { max: LIMIT, timeWindow: WINDOW_MS, store: fastifyStore(store) }
    await app.register(fastifyRateLimit, limits)
    app.get('/', async () => 'ok')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return () => askOf(url)
  },
  async '@nestjs/throttler'(store) {
    class Routes {
      get(): string {
        return 'ok'
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'get')
    Get('/')(Routes.prototype, 'get', descriptor as PropertyDescriptor)
    Controller()(Routes)
    class App {}
    const throttlers = [{ ttl: WINDOW_MS, limit: LIMIT }]
    Module({
      imports: [ThrottlerModule.forRoot({ throttlers, storage: nestStorage(store) })],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(App)
    const app = await NestFactory.create(App, { logger: false })
    open.push(() => app.close())
    await app.listen(0, '127.0.0.1')
    return () => askOf(`http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`)
  },
  async 'rate-limiter-flexible'(storeClient) {
    const limits = { points: LIMIT, duration: WINDOW_MS / 1_000 }
    const limiter = new RateLimiterRedis({ storeClient, ...limits })
    const refused = (reason: unknown) => (reason instanceof Error ? 500 : 429)
    return () => limiter.consume('ann').then(() => 200, refused)
  },
}

test.each(Object.keys(INCUMBENTS))(
  'under %s requests are in time, none fails, and the limit holds, while Redis is frozen, killed and back',
  async (incumbent) => {
    let server: RedisServer = await startRedis()
    open.push(() => server.stop())
    const client = new Redis(server.port, recommendedRedisOptions).on('error', () => {})
    open.push(() => client.disconnect())
    await new Promise((resolve) => client.once('ready', resolve))
    const store = redisStore(client, { instances: 1 })
    open.push(() => store.close())
    const ask = await (INCUMBENTS[incumbent] as (store: RedisStore) => Promise<Ask>)(store)
    const statuses: number[] = []
    let longestMs = 0
    const load = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        const begunMs = performance.now()
        statuses.push(await ask())
        longestMs = Math.max(longestMs, performance.now() - begunMs)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    await load(5)
    const healthyMs = longestMs
    longestMs = 0
    server.kill('SIGSTOP')
    await load(20)
    server.kill('SIGCONT')
    await waitUntil('Redis is back', async () => store.health().state !== 'open')
    await load(5)
    await server.stop()
    await load(20)
    server = await startRedis({ port: server.port })
    await waitUntil('Redis is back', async () => store.health().state === 'closed')
    await load(20)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(2 * LIMIT)
    expect(longestMs).toBeLessThan(healthyMs + LONGEST_MS)
  },
)
