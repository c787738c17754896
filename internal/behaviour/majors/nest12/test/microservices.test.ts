// Microservice handlers over TCP: a separate application, and one beside HTTP.

import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { freePort } from '@weir/testkit'
import { firstValueFrom } from 'rxjs'
import { expect, onTestFinished, test } from 'vitest'
import { moduleOf, start } from '../../../../../packages/nest/test/app.js'

const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })
const twice = fixedWindow({ name: 'twice', limit: 2, window: '1h' })

@Controller()
class Sums {
  @MessagePattern('sum') sum(
    @Payload() numbers: number[],
    @RateLimitDecision() { key, all }: RequestDecision,
  ) {
    return `${numbers.reduce((a, b) => a + b, 0)} for ${key}, ${all.length}`
  }
  @RateLimit({ policy: once, key: (_, context) => context.switchToRpc().getData().user })
  @MessagePattern('user')
  user(@Payload() { user }: { user: string }) {
    return user
  }
  @SkipRateLimit() @MessagePattern('free') free() {
    return 'free'
  }
}

function clientOf(port: number): (pattern: string, data: unknown) => Promise<unknown> {
  const client: ClientProxy = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port },
  })
  onTestFinished(() => void client.close())
  return (pattern, data) => firstValueFrom(client.send(pattern, data))
}

const refused = {
  status: 'error',
  message: 'Request cannot be satisfied as assigned quota has been exceeded',
  code: 'TOO_MANY_REQUESTS',
  retryAfterMs: 3_600_000,
}
const limited = () =>
  RateLimitModule.forRoot({ policy: twice, store: memoryStore({ clock: fakeClock() }) })

test('a separate application: by the address of the caller', async () => {
  const port = await freePort()
  const app = await NestFactory.createMicroservice(
    moduleOf({ imports: [limited()], controllers: [Sums] }),
    {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
      logger: false,
    },
  )
  onTestFinished(() => app.close())
  await app.listen()
  const send = clientOf(port)
  expect(await send('sum', [1, 2])).toBe('3 for 127.0.0.1, 1')
  await send('sum', [1])
  await expect(send('sum', [1])).rejects.toEqual(refused)
  expect(await send('user', { user: 'u1' })).toBe('u1')
  await expect(send('user', { user: 'u1' })).rejects.toEqual(refused)
  expect(await send('user', { user: 'u2' })).toBe('u2')
  expect(await send('free', {})).toBe('free')
})

test('beside HTTP: with inheritAppConfig, or with the guard and the filter on the handler', async () => {
  @Controller()
  class Both {
    @Get() get() {}
    @MessagePattern('plain') plain() {
      return 'plain'
    }
    @UseGuards(RateLimitGuard)
    @UseFilters(RateLimitFilter)
    @RateLimit(once)
    @MessagePattern('own')
    own() {
      return 'own'
    }
  }
  const [port, inheriting] = [await freePort(), await freePort()]
  const options = (at: number) => ({
    transport: Transport.TCP as const,
    options: { host: '127.0.0.1', port: at },
  })
  const app = await start(
    { imports: [limited()], controllers: [Both] },
    {
      prepare: (nest) => {
        nest.connectMicroservice(options(port))
        nest.connectMicroservice(options(inheriting), { inheritAppConfig: true })
      },
    },
  )
  await app.app.startAllMicroservices()
  const [send, inherited] = [clientOf(port), clientOf(inheriting)]
  expect(await send('own', {})).toBe('own')
  await expect(send('own', {})).rejects.toEqual(refused)
  // HTTP and the microservice that inherits the guard share the default policy; the other has no
  // guard.
  expect(await app.statuses('/')).toEqual([200])
  expect(await inherited('plain', {})).toBe('plain')
  await expect(inherited('plain', {})).rejects.toEqual(refused)
  expect(await send('plain', {})).toBe('plain')
})
