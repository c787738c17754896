// A Nest application, set up as in docs/nest.md, that shuts down while Redis is
// away.

import 'reflect-metadata'
import { once } from 'node:events'
import { Logger, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimitModule, RateLimits, recommendedRedisOptions, redisStore } from '@weir/nest'
import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'

test.each([
  ['disconnect', (client: Redis) => client.disconnect()],
  ['quit', (client: Redis) => client.quit()],
] as const)('ends without an error: client.%s()', async (_, end) => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const client = new Redis(redis.port, recommendedRedisOptions)
  client.on('error', () => {})
  await once(client, 'ready')
  onTestFinished(() => client.disconnect())
  class AppModule {}
  Module({
    imports: [
      RateLimitModule.forRootAsync({
        useFactory: () => ({
          store: redisStore(client),
          closeStore: () => end(client),
          limit: 100,
          window: '1m',
        }),
      }),
    ],
  })(AppModule)
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
  const limiter = app.get(RateLimits).get('default')
  expect((await limiter.consume('u1')).degraded).toBe(false)
  await redis.stop()
  const logged = vi.spyOn(Logger, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  // With an error here, Nest 10 or 11 would end the process with code 1 after a signal. Nest 12
  // logs it.
  await expect(app.close()).resolves.toBeUndefined()
  expect(logged).not.toHaveBeenCalled()
})
