// In an application's tests: overriding, as Nest's documents describe it, works for what this
// module provides, and a test controls the time.

import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { Test, type TestingModuleBuilder } from '@nestjs/testing'
import {
  fixedWindow,
  getRateLimiterToken,
  InjectRateLimiter,
  memoryStore,
  RATE_LIMIT_OPTIONS,
  RateLimit,
  type RateLimiter,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimits,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { expect, onTestFinished, test } from 'vitest'
import { platform } from './platform.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const twice = fixedWindow({ limit: 2, window: '1h' })

@Controller()
class One {
  @Get() get() {}
  @RateLimit.also({ policy: once, order: 'afterGuards' }) @Get('late') late() {}
}

@Controller()
class ByHand {
  @UseGuards(RateLimitGuard) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
}

const lets: CanActivate = { canActivate: () => true }
const refuses: CanActivate = { canActivate: () => false }

async function statuses(
  building: TestingModuleBuilder,
  ...paths: string[]
): Promise<readonly number[]> {
  const testing = await building.compile()
  const app: INestApplication = testing.createNestApplication(platform.adapter(), { logger: false })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  const found: number[] = []
  for (const path of paths) found.push((await fetch(`${await app.getUrl()}${path}`)).status)
  return found
}

const limited = (options: RateLimitModuleOptions = { policy: once }) =>
  Test.createTestingModule({ imports: [RateLimitModule.forRoot(options)], controllers: [One] })

test('overrideProvider(RateLimitGuard): the global guard, and what it leaves to the end', async () => {
  const paths = ['/', '/', '/late', '/late'] as const
  expect(await statuses(limited(), ...paths)).toEqual([200, 429, 429, 429])
  const free = limited().overrideProvider(RateLimitGuard).useValue(lets)
  expect(await statuses(free, ...paths)).toEqual([200, 200, 200, 200])
  const closed = limited().overrideProvider(RateLimitGuard).useValue(refuses)
  expect(await statuses(closed, ...paths)).toEqual([403, 403, 403, 403])
})

test('overrideProvider(RateLimitGuard), if the guard is your own', async () => {
  @Injectable()
  class Own extends RateLimitGuard {}
  const own = () =>
    Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ policy: once, guard: Own })],
      controllers: [One],
    })
  expect(await statuses(own(), '/', '/')).toEqual([200, 429])
  const free = own().overrideProvider(RateLimitGuard).useValue(lets)
  expect(await statuses(free, '/', '/')).toEqual([200, 200])
})

test('overrideProvider(Own), if it is an APP_GUARD by useExisting', async () => {
  @Injectable()
  class Own extends RateLimitGuard {}
  const testing = () =>
    Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ policy: once, guard: false })],
      providers: [Own, { provide: APP_GUARD, useExisting: Own }],
      controllers: [One],
    })
  expect(await statuses(testing(), '/', '/')).toEqual([200, 429])
  const free = testing().overrideProvider(Own).useValue(lets)
  expect(await statuses(free, '/', '/')).toEqual([200, 200])
})

test('overrideGuard and overrideInterceptor: those in @UseGuards and @UseInterceptors', async () => {
  // Without the module: nothing of it is needed.
  const free = Test.createTestingModule({ controllers: [ByHand] })
    .overrideGuard(RateLimitGuard)
    .useValue(lets)
    .overrideInterceptor(RateLimitInterceptor)
    .useValue({ intercept: (_: unknown, next: { handle(): unknown }) => next.handle() })
  expect(await statuses(free, '/', '/')).toEqual([200, 200])
})

test('overrideProvider(RateLimits): no limits', async () => {
  const free = limited()
    .overrideProvider(RateLimits)
    .useValue({ of: () => [], get: () => undefined })
  expect(await statuses(free, '/', '/', '/late', '/late')).toEqual([200, 200, 200, 200])
})

test('overrideProvider(RATE_LIMIT_OPTIONS): other limits', async () => {
  const more = limited().overrideProvider(RATE_LIMIT_OPTIONS).useValue({ policy: twice })
  expect(await statuses(more, '/', '/', '/')).toEqual([200, 200, 429])
})

test('a test controls the time', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const testing = await limited({ policy: once, store }).compile()
  const limiter = testing.get(RateLimits).get('default')
  await testing.close()
  expect((await limiter.consume('u1')).allowed).toBe(true)
  expect((await limiter.consume('u1')).allowed).toBe(false)
  clock.advance(3_600_000)
  expect((await limiter.consume('u1')).allowed).toBe(true)
})

test('a service alone gets a limiter by its token', async () => {
  @Injectable()
  class Service {
    constructor(@InjectRateLimiter('login') readonly login: RateLimiter) {}
  }
  const login = { name: 'mine' }
  const testing = await Test.createTestingModule({
    providers: [Service, { provide: getRateLimiterToken('login'), useValue: login }],
  }).compile()
  expect(testing.get(Service).login).toBe(login)
})

test('the options are injected by their token', async () => {
  @Injectable()
  class Service {
    constructor(@Inject(RATE_LIMIT_OPTIONS) readonly options: RateLimitModuleOptions) {}
  }
  const testing = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ policy: once })],
    providers: [Service],
  }).compile()
  expect(testing.get(Service).options.policy).toBe(once)
})
