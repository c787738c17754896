// @nestjs/throttler 6 and 5, on @nest-lab/throttler-storage-redis and on Weir's storage. Other
// tests of the throttler use the same application.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis'
import { Controller, type ExecutionContext, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import * as of6 from '@nestjs/throttler'
import * as throttler5 from '@nestjs/throttler-5'
import { Redis } from 'ioredis'
import { weirStorage } from '../../src/nest-throttler.js'
import {
  type Behaviour,
  type Counting,
  type Incumbent,
  type Running,
  times,
  type Version,
} from './incumbent.js'

/** The previous major. */
export const of5 = throttler5 as unknown as typeof of6

type Methods = 'all' | 'own' | 'free'
/** The part of a module that differs. */
export type Throttling = Parameters<typeof of6.ThrottlerModule.forRoot>[0]

/** A controller with that name, which is part of the throttler's keys. */
function controllerOf(
  name: string,
  { Throttle, SkipThrottle }: typeof of6,
): new () => Record<Methods, () => string> {
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
  Object.defineProperty(Routes, 'name', { value: name })
  const decorate = (method: Methods, decorators: readonly unknown[]): void => {
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, method)
    for (const each of decorators as MethodDecorator[])
      each(Routes.prototype, method, descriptor as PropertyDescriptor)
  }
  decorate('all', [Get('/')])
  decorate('own', [Get('/own'), Throttle({ default: { ttl: 60_000, limit: 1 } })])
  decorate('free', [Get('/free'), SkipThrottle()])
  Controller()(Routes)
  return Routes
}

/** `/`, `/own` with a limit of 1 a minute, and `/free` without a limit. */
export async function throttled(
  options: Throttling,
  name = 'Routes',
  throttler: typeof of6 = of6,
): Promise<Running> {
  class App {}
  Module({
    imports: [throttler.ThrottlerModule.forRoot(options)],
    controllers: [controllerOf(name, throttler)],
    providers: [{ provide: APP_GUARD, useClass: throttler.ThrottlerGuard }],
  })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() }
}

interface Options {
  readonly throttlers?: readonly object[]
}

function version(name: string, throttler: typeof of6): Version {
  return {
    version: name,
    serve(counting, { throttlers = [{}], ...options }: Options) {
      const all = { ttl: 60_000, limit: 3, getTracker: userOf }
      const completed = throttlers.map((each) => ({ ...all, ...each }))
      const storage = storageFor(counting, name === '5' ? { limit: 100 } : {})
      const of = counting.kind === 'own' ? counting.prefix : counting.name
      const given: unknown = { throttlers: completed, storage, ...options }
      return throttled(given as Throttling, of, throttler)
    },
  }
}

function storageFor(counting: Counting, options: object): of6.ThrottlerStorage {
  if (counting.kind === 'own') return new ThrottlerStorageRedisService(counting.redis)
  return weirStorage(counting.store, { name: counting.name, shared: true, ...options })
}

const userOf = (request: { headers: Record<string, unknown> }): string =>
  String(request.headers['x-user'])
const isFree = (context: ExecutionContext): boolean =>
  userOf(context.switchToHttp().getRequest()) === 'free'
const limitOf = (context: ExecutionContext): number =>
  userOf(context.switchToHttp().getRequest()) === 'pro' ? 4 : 2

const LOOK = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']

const behaviours: readonly Behaviour[] = [
  {
    promise: 'headers of requests that pass, and of refusals',
    options: { throttlers: [{ limit: 1 }] },
    look: LOOK,
    asks: times(2),
    seen: '200 1 0 60 none, 429 none none none 60',
  },
  {
    promise: '`blockDuration`: refuses for so long from the first request above the limit',
    options: { throttlers: [{ ttl: 1_500, blockDuration: 4_000 }] },
    asks: [...times(4), { afterMs: 2_000 }, { afterMs: 2_200 }],
    seen: '200 x3, 429 x2, 200',
    of: ['6'],
  },
  {
    promise: '`@Throttle()`: a route has a limit of its own',
    asks: [...times(2, { path: '/own' }), ...times(4)],
    seen: '200, 429, 200 x3, 429',
  },
  {
    promise: '`@SkipThrottle()`: a route has none',
    asks: times(6, { path: '/free' }),
    seen: '200 x6',
  },
  {
    promise: 'several throttlers are several limits',
    options: {
      throttlers: [
        { name: 'short', ttl: 1_500, limit: 2 },
        { name: 'long', limit: 3 },
      ],
    },
    asks: [...times(3), { afterMs: 1_600 }, {}],
    seen: '200 x2, 429, 200, 429',
  },
  {
    promise: '`limit` may be a function of the request',
    options: { throttlers: [{ limit: limitOf }] },
    asks: [...times(3), ...times(5, { user: 'pro' })],
    seen: '200 x2, 429, 200 x4, 429',
  },
  {
    promise: '`skipIf`: requests that it is true for are not counted',
    options: { skipIf: isFree },
    asks: [...times(5, { user: 'free' }), ...times(4)],
    seen: '200 x8, 429',
  },
  {
    promise: '`setHeaders: false`: no headers',
    options: { setHeaders: false, throttlers: [{ limit: 1 }] },
    look: LOOK,
    asks: times(2),
    seen: '200 none none none none, 429 none none none none',
    of: ['6'],
  },
  {
    promise: '`errorMessage` of refusals',
    options: { errorMessage: 'slow down', throttlers: [{ limit: 1 }] },
    look: ['body'],
    asks: times(2),
    seen: '200 ok, 429 {"statusCode":429,"message":"slow down"}',
  },
]

export const nestThrottler: Incumbent = {
  name: '@nestjs/throttler',
  own: '@nest-lab/throttler-storage-redis',
  client: (port) => new Redis(port),
  versions: [version('6', of6), version('5', of5)],
  behaviours,
  limitedTo: (limit, ttl) => ({ throttlers: [{ limit, ttl }] }),
  passed: 200,
}
