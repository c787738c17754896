// Handlers that other libraries call by Nest's ExternalContextCreator: queues, bots, commands.

import {
  Controller,
  Get,
  Injectable,
  type PipeTransform,
  SetMetadata,
  UseGuards,
} from '@nestjs/common'
import { ExternalContextCreator } from '@nestjs/core'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  type RequestDecision,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { describe, expect, test } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
// Marked as by a library that calls it.
const Consume = () => SetMetadata('queue', 'mails')
const Decided = RateLimitDecision()

@Injectable()
@UseGuards(RateLimitGuard)
class Consumer {
  @Consume() plain() {
    return 'consumed'
  }
  @Consume() @RateLimit({ policy: once, key: (message) => message.user ?? 'a text' }) limited() {
    return 'consumed'
  }
  @Consume() @RateLimit({ policy: once, key: () => 'late', order: 'afterGuards' }) late() {
    return 'consumed'
  }
  @Consume() @RateLimit('default') asked() {
    return 'consumed'
  }
  @Consume() @RateLimit({ cost: 1 }) decision(@Decided decision?: RequestDecision) {
    return decision?.remaining
  }
}

@Controller('mails')
class Mails {
  @Get() get() {}
  @Consume() @UseGuards(RateLimitGuard) @RateLimit({ policy: once, key: () => 'all' }) consume() {
    return 'consumed'
  }
}

const paramsFactory = {
  exchangeKeyForValue: (_type: number, _data: unknown, args: unknown[]) => args[0],
}

async function caller(type: string | undefined, of: new () => object = Consumer) {
  const { app } = await start({
    imports: [
      RateLimitModule.forRoot({
        policy: fixedWindow({ limit: 2, window: '1h' }),
        key: () => 'all',
        store: memoryStore({ clock: fakeClock() }),
      }),
    ],
    providers: [Consumer],
    controllers: [Mails],
  })
  const consumer = app.get(of)
  const creator = app.get(ExternalContextCreator)
  return (name: string, ...args: unknown[]): Promise<unknown> => {
    const handler = creator.create(
      consumer as never,
      (consumer as Record<string, unknown>)[name] as never,
      name,
      '__routeArguments__',
      paramsFactory as { exchangeKeyForValue: PipeTransform['transform'] } as never,
      undefined,
      undefined,
      undefined,
      type as never,
    )
    return handler(...args)
  }
}

describe.each([
  ['a type of its own', 'queue'] as const,
  ['a context that says it is HTTP', undefined],
])('%s', (_, type) => {
  test('the default does not apply', async () => {
    const call = await caller(type)
    for (let i = 0; i < 5; i += 1) expect(await call('plain', { user: 'u1' })).toBe('consumed')
  })

  test('a decorator applies, with whatever arguments; the refusal is thrown', async () => {
    const call = await caller(type)
    for (const message of [{ user: 'u1' }, { user: 'u2' }, 'a text']) {
      expect(await call('limited', message)).toBe('consumed')
      await expect(call('limited', message)).rejects.toBeInstanceOf(RateLimitException)
    }
    expect(await call('late')).toBe('consumed')
    await expect(call('late')).rejects.toMatchObject({ refusal: { status: 429 } })
  })

  test('the same in a controller', async () => {
    const call = await caller(type, Mails)
    expect(await call('consume', { user: 'u1' })).toBe('consumed')
    await expect(call('consume', {})).rejects.toBeInstanceOf(RateLimitException)
  })

  test('a decorator that names the default applies, and leaves nothing on the message', async () => {
    const call = await caller(type)
    const message = {}
    expect(await call('asked', message)).toBe('consumed')
    expect(await call('decision', message)).toBe(0)
    await expect(call('asked', message)).rejects.toBeInstanceOf(RateLimitException)
    expect(message).toEqual({})
    expect(Object.keys(message)).toEqual([])
  })
})
