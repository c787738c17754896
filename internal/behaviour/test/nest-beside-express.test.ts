// Nest behind a middleware of @weir/express, which also handles unmatched routes.

import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { fixedWindow, rateLimit } from '@weir/express'
import { RateLimitModule } from '@weir/nest'
import { expect, onTestFinished, test } from 'vitest'
import { platform } from './servers/platform.js'

class Plain {
  get(): string {
    return 'ok'
  }
}
Controller()(Plain)
Get()(
  Plain.prototype,
  'get',
  Object.getOwnPropertyDescriptor(Plain.prototype, 'get') as PropertyDescriptor,
)

test('the fields of the middleware stay beside those of the guard', async () => {
  const [outer, inner] = [3, 2].map((limit, i) =>
    fixedWindow({ name: ['outer', 'inner'][i] as string, limit, window: '1h' }),
  )
  class AppModule {}
  Module({
    imports: [RateLimitModule.forRoot({ policy: inner as never })],
    controllers: [Plain],
  })(AppModule)
  const app = await NestFactory.create(AppModule, platform.adapter(), { logger: false })
  app.use(rateLimit({ name: 'outer', policy: outer as never }))
  await app.listen(0, '127.0.0.1')
  onTestFinished(() => app.close())
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1')
  const ask = async (path: string) => {
    const { status, headers } = await fetch(url + path)
    return [status, headers.get('RateLimit')]
  }
  expect(await ask('/')).toEqual([200, '"outer";r=2;t=3600, "inner";r=1;t=3600'])
  expect(await ask('/nothing')).toEqual([404, '"outer";r=1;t=3600'])
  await ask('/')
  expect((await ask('/'))[0]).toBe(429)
})
