// The slots of messages that are refused, fail, or are given up by an interceptor around them.

import { Controller, type NestInterceptor, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Transport,
} from '@nestjs/microservices'
import {
  concurrency,
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitInterceptor,
  RateLimitModule,
  type Store,
} from '@weir/nest'
import { freePort } from '@weir/testkit'
import { firstValueFrom, of, timeout } from 'rxjs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { moduleOf } from '../../../../../packages/nest/test/app.js'

const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })

/** A store that answers when it may and counts renewals of slots, and the module of an application
 *  with slots. */
function slots(holdTimeout: '1s' | '30s', answers?: Promise<void>, guard?: false) {
  const memory = memoryStore()
  const renewed: unknown[] = []
  const store: Store = {
    async decide(request) {
      if (request.mode === 'renew') renewed.push(request)
      await answers
      return memory.decide(request)
    },
    reset: (target) => memory.reset(target),
  }
  const policy = concurrency({ name: 'open', limit: 1, holdTimeout })
  const module = RateLimitModule.forRoot({
    store,
    policy,
    key: () => 'all',
    ...(guard === false && { guard }),
  })
  return { renewed, module }
}

async function messages(
  module: ReturnType<typeof slots>['module'],
  controller: new () => object,
): Promise<(pattern: string) => Promise<unknown>> {
  const options = { host: '127.0.0.1', port: await freePort() }
  const at = { transport: Transport.TCP as const, options }
  const root = moduleOf({ imports: [module], controllers: [controller] })
  const app = await NestFactory.createMicroservice(root, { ...at, logger: false })
  onTestFinished(() => app.close())
  await app.listen()
  const client: ClientProxy = ClientProxyFactory.create(at)
  onTestFinished(() => void client.close())
  return (pattern) => firstValueFrom(client.send(pattern, {}))
}

const impatient: NestInterceptor = {
  intercept: (_, next) => next.handle().pipe(timeout({ each: 50, with: () => of('given up') })),
}

function failing(): string {
  throw new Error('of the key')
}

test('a message that is refused after it got its slot, or fails there, releases it', async () => {
  @Controller()
  class Jobs {
    @RateLimit.also(once) @MessagePattern('job') job() {
      return 'done'
    }
    @RateLimit.also({ policy: once, key: failing }) @MessagePattern('failing') failing() {
      return 'done'
    }
    @MessagePattern('other') other() {
      return 'done'
    }
  }
  const send = await messages(slots('30s').module, Jobs)
  // The wait for a slot would be a second.
  const byRate = expect.toSatisfy((ms: number) => ms > 3_000_000)
  expect(await send('job')).toBe('done')
  for (let i = 0; i < 3; i += 1)
    await expect(send('job')).rejects.toMatchObject({ retryAfterMs: byRate })
  expect(await send('other')).toBe('done')
  for (let i = 0; i < 3; i += 1)
    await expect(send('failing')).rejects.toMatchObject({ message: 'Internal server error' })
  expect(await send('other')).toBe('done')
})

test('a message that is given up before its decision is not renewed: its slot expires', async () => {
  @Controller()
  class Jobs {
    @UseInterceptors(impatient, RateLimitInterceptor) @MessagePattern('late') late() {
      return expect.unreachable()
    }
    @UseInterceptors(RateLimitInterceptor) @MessagePattern('job') job() {
      return 'done'
    }
  }
  let answer = () => {}
  const answers = new Promise<void>((resolve) => {
    answer = resolve
  })
  const { module, renewed } = slots('1s', answers, false)
  const send = await messages(module, Jobs)
  expect(await send('late')).toBe('given up')
  answer()
  await vi.waitFor(async () => expect(await send('job')).toBe('done'))
  expect(renewed).toEqual([])
})
