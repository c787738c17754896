// Slots of handlers that are refused, never begun, or given up by an interceptor around them.

import { Controller, Get, type NestInterceptor, UseInterceptors } from '@nestjs/common'
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
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
  type Store,
} from '@weir/nest'
import { freePort } from '@weir/testkit'
import { firstValueFrom, of, timeout } from 'rxjs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { moduleOf, start } from './app.js'

const PATIENT = { timeout: 20_000, interval: 10 }
const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })

/** A store that notes how often slots were renewed, and the module of an application with slots. */
function slots(holdTimeout: string) {
  const memory = memoryStore()
  const renewed: unknown[] = []
  const store: Store = {
    decide(request) {
      if (request.mode === 'renew') renewed.push(request)
      return memory.decide(request)
    },
    reset: (target) => memory.reset(target),
  }
  const policy = concurrency({ name: 'open', limit: 1, holdTimeout })
  const module = RateLimitModule.forRoot({ store, policy, key: () => 'all' })
  return { renewed, module }
}

async function messages(
  module: ReturnType<typeof slots>['module'],
  controller: new () => object,
): Promise<(pattern: string) => Promise<unknown>> {
  const at = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } }
  const root = moduleOf({ imports: [module], controllers: [controller] })
  const app = await NestFactory.createMicroservice(root, { ...at, logger: false } as never)
  onTestFinished(() => app.close())
  app.useGlobalInterceptors(outermost)
  await app.listen()
  const client: ClientProxy = ClientProxyFactory.create(at as never)
  onTestFinished(() => void client.close())
  return (pattern) => firstValueFrom(client.send(pattern, {}))
}

/** Around all others: asks for a handler named `unused`, and does not begin it. */
const outermost: NestInterceptor = {
  intercept(context, next) {
    const handled = next.handle()
    return context.getHandler().name === 'unused' ? of('unused') : handled
  },
}
const impatient: NestInterceptor = { intercept: (_, next) => next.handle().pipe(timeout(50)) }

test('a message that is refused behind its slot gives it back', async () => {
  @Controller()
  class Jobs {
    @RateLimit(once) @MessagePattern('job') job() {
      return 'done'
    }
    @MessagePattern('other') other() {
      return 'done'
    }
  }
  const send = await messages(slots('30s').module, Jobs)
  // Of a slot it would be a second.
  const byRate = expect.toSatisfy((ms: number) => ms > 3_000_000)
  expect(await send('job')).toBe('done')
  for (let i = 0; i < 3; i += 1)
    await expect(send('job')).rejects.toMatchObject({ retryAfterMs: byRate })
  expect(await send('other')).toBe('done')
})

test('a message whose handler is never begun is not renewed: its slot expires', async () => {
  @Controller()
  class Jobs {
    @MessagePattern('unused') unused() {
      return expect.unreachable()
    }
    @MessagePattern('job') job() {
      return 'done'
    }
  }
  const { module, renewed } = slots('1s')
  const send = await messages(module, Jobs)
  expect(await send('unused')).toBe('unused')
  await vi.waitFor(async () => expect(await send('job')).toBe('done'), PATIENT)
  expect(renewed).toEqual([])
})

test('a handler that an interceptor gives up counts as ended, but for the work that it gave to `until`', async () => {
  const working: (() => void)[] = []
  @Controller()
  class Reports {
    @UseInterceptors(impatient) @Get('left') left() {
      return new Promise<void>((resolve) => working.push(resolve))
    }
    @UseInterceptors(impatient) @Get('kept') kept(@RateLimitDecision() { held }: RequestDecision) {
      return held?.until(new Promise<void>((resolve) => working.push(resolve)))
    }
    @Get('free') free() {}
  }
  const { statuses } = await start({ imports: [slots('30s').module], controllers: [Reports] })
  expect(await statuses('/left')).toEqual([500])
  await vi.waitFor(async () => expect(await statuses('/free')).toEqual([200]), PATIENT)
  expect(await statuses('/kept', '/free', '/free')).toEqual([500, 429, 429])
  for (const done of working) done()
  await vi.waitFor(async () => expect(await statuses('/free')).toEqual([200]), PATIENT)
})
