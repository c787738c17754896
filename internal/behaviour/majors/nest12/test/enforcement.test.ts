// A limit that nothing would enforce is reported at the start: of gateways, messages and resolvers.

import { Controller, type INestApplication, UseGuards } from '@nestjs/common'
import { ApplicationConfig, NestFactory, REQUEST } from '@nestjs/core'
import { Query, ResolveField, Resolver } from '@nestjs/graphql'
import { MessagePattern } from '@nestjs/microservices'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { fixedWindow, RateLimit, RateLimitGuard, RateLimitModule } from '@weir/nest'
import { describe, expect, test } from 'vitest'
import { moduleOf, start } from '../../../../../packages/nest/test/app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const late = { policy: once, order: 'afterGuards' } as const

test('in a gateway: Nest 10 and 11 run no global guards there, so it needs its own', async () => {
  @WebSocketGateway()
  class Chat {
    @RateLimit(once) @SubscribeMessage('say') say() {}
  }
  @WebSocketGateway()
  class Guarded {
    @UseGuards(RateLimitGuard) @RateLimit(once) @SubscribeMessage('say') say() {}
  }
  const prepare = (app: INestApplication) => void app.useWebSocketAdapter(new IoAdapter(app))
  const started = (gateway: new () => object) =>
    start({ imports: [RateLimitModule.forRoot({})], providers: [gateway] }, { prepare })
  await started(Guarded)
  const hasGlobals = 'getGlobalPreRequestHooks' in ApplicationConfig.prototype
  if (hasGlobals) await started(Chat)
  else await expect(started(Chat)).rejects.toMatchObject({ code: 'WEIR_NOT_ENFORCED' })
})

test('in a gateway, without a decorator: the default does not apply to it, even after the guards', async () => {
  @WebSocketGateway()
  class Chat {
    @SubscribeMessage('say') say() {}
  }
  const prepare = (app: INestApplication) => void app.useWebSocketAdapter(new IoAdapter(app))
  await start({ imports: [RateLimitModule.forRoot(late)], providers: [Chat] }, { prepare })
})

test('without a server, as in a script, only messages come', async () => {
  @Controller()
  class Messages {
    @RateLimit(once) @MessagePattern('say') say() {}
  }
  const microservice = await NestFactory.createMicroservice(
    moduleOf({ imports: [RateLimitModule.forRoot({ guard: false })], controllers: [Messages] }),
    { logger: false, abortOnError: false },
  )
  await expect(microservice.init()).rejects.toMatchObject({ code: 'WEIR_NOT_ENFORCED' })
})

test('a microservice whose options depend on a request does not start', async () => {
  const limits = RateLimitModule.forRootAsync({
    inject: [REQUEST],
    useFactory: () => ({ policy: once }),
  })
  const microservice = await NestFactory.createMicroservice(moduleOf({ imports: [limits] }), {
    logger: false,
    abortOnError: false,
  })
  await expect(microservice.init()).rejects.toMatchObject({
    code: 'WEIR_NOT_ENFORCED',
    message: expect.stringMatching(/on REQUEST, which/),
  })
})

describe('on a resolver whose fields no guard reaches', () => {
  @Resolver()
  @RateLimit(once)
  class Authors {
    @Query(() => String) author() {}
    @ResolveField(() => String) posts() {}
  }
  @Resolver()
  class Posts {
    @RateLimit(once) @ResolveField(() => String) author() {}
  }
  @Resolver()
  @RateLimit(once)
  class Fields {
    @ResolveField(() => String) author() {}
  }
  const started = (resolver: new () => object) =>
    start({ imports: [RateLimitModule.forRoot({})], providers: [resolver] })

  test('the limit applies to the others', async () => {
    await started(Authors)
  })

  test('on such a field itself, or if there is nothing else, it is reported', async () => {
    for (const resolver of [Posts, Fields])
      await expect(started(resolver)).rejects.toMatchObject({
        code: 'WEIR_NOT_ENFORCED',
        message: expect.stringMatching(/fieldResolverEnhancers/),
      })
  })
})
