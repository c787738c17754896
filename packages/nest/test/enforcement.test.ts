// A limit that nothing would enforce is reported at the start.

import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  SetMetadata,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD, ApplicationConfig, NestFactory } from '@nestjs/core'
import {
  fixedWindow,
  RateLimit,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  RateLimits,
} from '@weir/nest'
import { describe, expect, test } from 'vitest'
import { moduleOf, start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const late = { policy: once, order: 'afterGuards' } as const

class AuthGuard implements CanActivate {
  canActivate(): boolean {
    return true
  }
}

@Injectable()
class Own extends RateLimitGuard {}

@Controller()
class Decorated {
  @RateLimit(once) @Get() get() {}
}

const unguarded = RateLimitModule.forRoot({ guard: false })

describe('RateLimitModule without forRoot', () => {
  test('anywhere: the application does not start', async () => {
    await expect(start({ imports: [RateLimitModule] })).rejects.toMatchObject({
      code: 'WEIR_NOT_ENFORCED',
      message: expect.stringMatching(/forRoot/),
    })
  })

  test('beside one with forRoot, as in a feature module: nothing changes', async () => {
    @Module({ imports: [RateLimitModule], controllers: [Decorated] })
    class Feature {}
    const app = await start({ imports: [Feature, RateLimitModule.forRoot({})] })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
  })
})

describe('global, as elsewhere in Nest: who can inject without importing', () => {
  @Injectable()
  class Service {
    constructor(@Inject(RateLimits) readonly limits: RateLimits) {}
  }
  const feature = (...imports: NonNullable<ModuleMetadata['imports']>) => {
    @Module({ imports, providers: [Service], controllers: [Decorated] })
    class Feature {}
    return Feature
  }

  test('true, the default: all modules', async () => {
    await start({ imports: [RateLimitModule.forRoot({}), feature()] })
  })

  test('false: those that import it, and the guard still applies to the whole application', async () => {
    const limits = RateLimitModule.forRoot({ global: false })
    await expect(start({ imports: [limits, feature()] })).rejects.toThrow(/RateLimits/)
    const app = await start({ imports: [limits, feature(limits)] })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
    @Module({ imports: [RateLimitModule] })
    class Unconfigured {}
    await expect(start({ imports: [limits, Unconfigured] })).rejects.toMatchObject({
      code: 'WEIR_NOT_ENFORCED',
      message: expect.stringMatching(/global: false/),
    })
  })

  test('guard: false, no guard', async () => {
    const { app } = await start({
      imports: [RateLimitModule.forRoot({ guard: false, policy: once })],
    })
    expect(app.get(ApplicationConfig).getGlobalGuards()).toEqual([])
  })

  test('an invalid guard', () => {
    expect(() => RateLimitModule.forRoot({ guard: true as never })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })
})

describe('a decorator that nothing would enforce', () => {
  @Controller()
  @RateLimit(once)
  class DecoratedClass {
    @Get() get() {}
  }
  @Controller()
  class Early {
    @RateLimit(late) @UseGuards(RateLimitGuard, AuthGuard) @Get() get() {}
  }
  @Controller()
  class Both {
    @UseGuards(RateLimitGuard) @RateLimit(once) @Get() limited() {}
    @RateLimit(once) @Get('other') other() {}
  }
  @Injectable()
  class Service {
    @RateLimit(once) charge() {}
  }
  @Injectable()
  @RateLimit(once)
  class ServiceClass {
    charge() {}
  }
  // Marked as by @Cron.
  @Injectable()
  class Jobs {
    @RateLimit(once) @SetMetadata('SCHEDULER_TYPE', 1) tick() {}
  }
  @Controller()
  @UseGuards(RateLimitGuard)
  class Helper {
    @RateLimit(once) @UseGuards(AuthGuard) helper() {}
    @Get() get() {}
  }

  test.for<[string, ModuleMetadata, RegExp]>([
    ['on a handler, without a guard', { controllers: [Decorated] }, /Decorated\.get.*@UseGuards/],
    ['on a class, without a guard', { controllers: [DecoratedClass] }, /DecoratedClass\.get/],
    ['after the guards, before one of them', { controllers: [Early] }, /Early\.get.*the last/],
    ['on one of two handlers', { controllers: [Both] }, /Both\.other/],
    ['on a method of a service', { providers: [Service] }, /Service\.charge.*@InjectRateLimiter/],
    ['on a service', { providers: [ServiceClass] }, /@RateLimit of ServiceClass: /],
    ['on a method that is no handler', { controllers: [Helper] }, /Helper\.helper: /],
    ['on one that has metadata of others', { providers: [Jobs] }, /Jobs\.tick.*@UseGuards/],
  ])('%s', async ([, metadata, message]) => {
    await expect(start({ imports: [unguarded], ...metadata })).rejects.toMatchObject({
      code: 'WEIR_NOT_ENFORCED',
      message: expect.stringMatching(message),
    })
  })

  @Controller()
  @UseGuards(RateLimitGuard)
  class GuardedClass {
    @RateLimit(once) @Get() get() {}
  }
  @Controller()
  class GuardedLate {
    @RateLimit(late) @UseGuards(AuthGuard, Own) @Get() get() {}
  }
  @Controller()
  class Intercepted {
    @RateLimit(late) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
  }
  // Marked as by a library that calls it.
  @Injectable()
  @UseGuards(RateLimitGuard)
  class Consumer {
    @RateLimit(once) @SetMetadata('queue', 'mails') consume() {}
  }

  // A library may also call methods of controllers.
  @Controller()
  class Mixed {
    @Get() get() {}
    @RateLimit(once) @UseGuards(RateLimitGuard) @SetMetadata('queue', 'mails') consume() {}
  }
  @Controller()
  class MixedLate {
    @RateLimit(late) @UseInterceptors(RateLimitInterceptor) @SetMetadata('queue', 'a') consume() {}
  }

  test.for<[string, ModuleMetadata, ((app: INestApplication) => void)?]>([
    ['a guard on what a library calls in a controller', { controllers: [Mixed] }],
    ['an interceptor on it', { controllers: [MixedLate] }],
    ['a guard on the class', { controllers: [GuardedClass] }],
    ['one of your own, as the last of several', { controllers: [GuardedLate] }],
    ['an interceptor', { controllers: [Intercepted] }],
    ['APP_GUARD', { controllers: [Decorated], providers: [{ provide: APP_GUARD, useClass: Own }] }],
    [
      'app.useGlobalGuards',
      { controllers: [Decorated] },
      (app) => void app.useGlobalGuards(app.get(RateLimitGuard)),
    ],
    [
      'app.useGlobalInterceptors',
      { controllers: [Decorated], providers: [RateLimitInterceptor] },
      (app) => void app.useGlobalInterceptors(app.get(RateLimitInterceptor)),
    ],
    ['a guard on what a library calls', { providers: [Consumer] }],
  ])('is enforced by %s', async ([, metadata, prepare]) => {
    const app = await start({ imports: [unguarded], ...metadata }, prepare ? { prepare } : {})
    const isServed = metadata.controllers?.some((one) => one !== Mixed && one !== MixedLate)
    if (isServed) expect(await app.statuses('/', '/')).toEqual([200, 429])
  })
})

test('without a server, as in a script, limits for requests start', async () => {
  const context = await NestFactory.createApplicationContext(
    moduleOf({ imports: [unguarded], controllers: [Decorated] }),
    { logger: false, abortOnError: false },
  )
  await context.close()
})
