// Setting the module up, what it gives to services, what is wrong at start, and what happens at the end.

import { createRequire } from 'node:module'
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import {
  fixedWindow,
  InjectRateLimiter,
  memoryStore,
  type NestRequest,
  RateLimit,
  type RateLimiter,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
  RateLimits,
} from '@weir/nest'
import { describe, expect, test } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const twice = fixedWindow({ limit: 2, window: '1h' })

@Controller()
class Plain {
  @Get() get() {}
}

describe('forRootAsync', () => {
  @Injectable()
  class Config implements RateLimitOptionsFactory {
    createRateLimitOptions(): RateLimitModuleOptions {
      return { policy: twice }
    }
  }
  @Module({ providers: [Config], exports: [Config] })
  class ConfigModule {}

  test.for([
    [
      'useFactory, inject, imports',
      RateLimitModule.forRootAsync({
        imports: [ConfigModule],
        inject: [Config],
        useFactory: async (config: Config) => config.createRateLimitOptions(),
      }),
    ],
    ['useClass', RateLimitModule.forRootAsync({ useClass: Config })],
    ['useExisting', RateLimitModule.forRootAsync({ imports: [ConfigModule], useExisting: Config })],
  ] as const)('%s', async ([, module]) => {
    const app = await start({ imports: [module], controllers: [Plain] })
    expect(await app.statuses('/', '/', '/')).toEqual([200, 200, 429])
  })

  test('global: false leaves the guard to the application', async () => {
    const module = RateLimitModule.forRootAsync({ global: false, useFactory: () => ({ policy: once }) })
    const app = await start({ imports: [module], controllers: [Plain] })
    expect(await app.statuses('/', '/')).toEqual([200, 200])
  })
})

describe('where the guard runs', () => {
  class AuthGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      const request = context.switchToHttp().getRequest()
      request.user = { id: request.headers['x-user'] }
      return true
    }
  }
  const key = (req: NestRequest) => req.user?.id ?? 'nobody'
  async function left(
    path: string,
    options: RateLimitModuleOptions & RateLimitModuleExtras,
    controller: new () => object,
  ) {
    const app = await start({ imports: [RateLimitModule.forRoot(options)], controllers: [controller] })
    const statuses: number[] = []
    for (const user of ['u1', 'u1', 'u2']) statuses.push((await app.get(path, { 'x-user': user })).status)
    return statuses
  }

  test('a global guard runs before those of routes, so there is no user yet', async () => {
    @Controller()
    class A {
      @UseGuards(AuthGuard) @Get() get() {}
    }
    expect(await left('/', { policy: once, key }, A)).toEqual([200, 429, 429])
  })

  test('global: false and the guard after the one that authenticates', async () => {
    @Controller()
    class A {
      @UseGuards(AuthGuard, RateLimitGuard) @Get() get() {}
    }
    expect(await left('/', { policy: once, key, global: false }, A)).toEqual([200, 429, 200])
  })

  test('global: false and the interceptor', async () => {
    @Controller()
    class A {
      @UseGuards(AuthGuard) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
    }
    expect(await left('/', { policy: once, key, global: false }, A)).toEqual([200, 429, 200])
  })

  test('afterGuards: one limit by address before, one by user after', async () => {
    @Controller()
    class A {
      @UseGuards(AuthGuard) @RateLimit.also({ policy: once, key, afterGuards: true }) @Get() get() {}
    }
    expect(await left('/', { policy: twice }, A)).toEqual([200, 429, 429])
    expect(await left('/', { policy: fixedWindow({ limit: 3, window: '1h' }) }, A)).toEqual([200, 429, 200])
  })

  test('a guard that is not global asks everything where it stands', async () => {
    @Controller()
    class A {
      @UseGuards(AuthGuard, RateLimitGuard)
      @RateLimit({ policy: once, key, afterGuards: true })
      @Get()
      get() {}
    }
    expect(await left('/', { global: false }, A)).toEqual([200, 429, 200])
  })

  test('no request counts twice where guards and interceptors meet', async () => {
    @Controller()
    class A {
      @UseGuards(RateLimitGuard) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
    }
    expect(await left('/', { policy: twice }, A)).toEqual([200, 200, 429])
  })
})

describe('a guard of your own', () => {
  @Injectable()
  class ByUser extends RateLimitGuard {
    protected override key(request: { headers: Record<string, string> }) {
      return request.headers['x-user']
    }
  }
  @Controller()
  class A {
    @Get() get() {}
    @RateLimit({ policy: once, key: () => 'all' }) @Get('own') own() {}
  }
  const ways = {
    'option guard': { imports: [RateLimitModule.forRoot({ guard: ByUser, policy: once })] },
    APP_GUARD: {
      imports: [RateLimitModule.forRoot({ global: false, policy: once })],
      providers: [{ provide: APP_GUARD, useClass: ByUser }],
    },
  }
  test.for(Object.entries(ways))('%s: its key, except where a limit has one', async ([, metadata]) => {
    const app = await start({ ...metadata, controllers: [A] })
    const of = async (path: string, user: string) => (await app.get(path, { 'x-user': user })).status
    expect([await of('/', 'u1'), await of('/', 'u1'), await of('/', 'u2')]).toEqual([200, 429, 200])
    expect([await of('/own', 'u1'), await of('/own', 'u2')]).toEqual([200, 429])
    app.app.get(RateLimits).get('default').enabled = false
    expect(await of('/', 'u1')).toBe(200)
  })
})

describe('limiters in services', () => {
  @Injectable()
  class Service {
    constructor(
      @InjectRateLimiter() readonly general: RateLimiter,
      @InjectRateLimiter('login') readonly login: RateLimiter,
      @Inject(RateLimits) readonly limits: RateLimits,
    ) {}
  }
  const options: RateLimitModuleOptions = { name: 'api', policy: once, policies: { login: twice } }

  test.for([
    ['forRoot', [RateLimitModule.forRoot(options)]],
    [
      'forRootAsync and forFeature',
      [
        RateLimitModule.forRootAsync({ useFactory: () => options }),
        RateLimitModule.forFeature('default', 'login'),
      ],
    ],
  ] as const)('%s', async ([, imports]) => {
    @Controller()
    class A {
      @Get() get() {}
      @RateLimit(once) @Get('own') own() {}
    }
    const { app, get } = await start({ imports: [...imports], providers: [Service], controllers: [A] })
    const { general, login, limits } = app.get(Service)
    expect([general.name, login.name]).toEqual(['api', 'login'])
    await general.consume('127.0.0.1')
    expect((await get('/')).status).toBe(429)
    await general.reset('127.0.0.1')
    expect((await get('/')).status).toBe(200)
    expect(limits.get('login')).toBe(login)
    expect(limits.get('A.own').name).toBe('A.own')
  })
})

describe('misuse is found at start', () => {
  const thing = (name: string, decorate: (target: never) => void) => {
    const named = { [name]: class {} }[name] as new () => object
    Controller(name)(named)
    decorate(named as never)
    return named
  }
  const limited = (name: string, ...more: [] | [object]) =>
    thing(name, RateLimit({ policy: once, ...more[0] }) as (target: never) => void)

  test.for([
    [
      'two classes of one name',
      [limited('Reports'), limited('Reports')],
      'WEIR_NAME_CLASH',
      /"Reports".*@RateLimit\(\{ name/,
    ],
    ['a class named as a policy', [limited('login')], 'WEIR_NAME_CLASH', /"login"/],
    [
      'a name given twice',
      [limited('A', { name: 'x' }), limited('B', { name: 'x' })],
      'WEIR_NAME_CLASH',
      /"x"/,
    ],
    [
      'no such policy',
      [thing('A', RateLimit('typo'))],
      'WEIR_INVALID_OPTION',
      /@RateLimit of A.*"typo".*default, login/,
    ],
    ['a wrong option', [limited('A', { kee: 1 })], 'WEIR_INVALID_OPTION', /limiter of A: .*"kee"/],
    ['a class whose name is no name', [limited('_A')], 'WEIR_INVALID_NAME', /limiter of _A/],
  ] as const)('%s', async ([, controllers, code, message]) => {
    const module = RateLimitModule.forRoot({ policy: once, policies: { login: once } })
    await expect(start({ imports: [module], controllers: [...controllers] })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test('names tell them apart, and shared: true lets them count together', async () => {
    const apart = [limited('Same'), thing('Same', RateLimit({ name: 'other', policy: once }))]
    await start({ imports: [RateLimitModule.forRoot({})], controllers: apart })
    const together = [limited('A', { name: 'x' }), limited('B', { name: 'x', shared: true })]
    await start({ imports: [RateLimitModule.forRoot({})], controllers: together })
  })

  test('a decorator written twice', () => {
    expect(() => {
      @RateLimit(once)
      @RateLimit(twice)
      class A {}
      return A
    }).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }))
    const untyped = RateLimit as (...what: object[]) => unknown
    expect(() => untyped({ policy: once }, { policy: twice })).toThrow(/one object of options/)
  })
})

describe('at shutdown', () => {
  test.for([
    ['a store that was given stays open', {}, 0],
    ['unless the module is told to close it', { closeStore: true }, 1],
  ] as const)('%s', async ([, options, expected]) => {
    const calls: string[] = []
    const store = { ...memoryStore(), close: () => void calls.push('close') }
    const { app } = await start({ imports: [RateLimitModule.forRoot({ ...options, store, policy: once })] })
    await app.close()
    expect(calls).toHaveLength(expected)
  })

  test('a store of its own is closed, after the last request', async () => {
    const { app } = await start({ imports: [RateLimitModule.forRoot({ policy: once })] })
    const { store } = app.get(RateLimits).get('default')
    let closed = false
    const close = store.close?.bind(store)
    store.close = () => {
      closed = true
      return close?.()
    }
    await app.close()
    expect(closed).toBe(true)
  })
})

test('what is written with the one module format is found by the other', async () => {
  const cjs: typeof import('@weir/nest') = createRequire(import.meta.url)('@weir/nest')
  expect(cjs.RateLimitGuard).not.toBe(RateLimitGuard)
  @Controller()
  class A {
    @cjs.RateLimit({ policy: twice, key: (req) => req.ip })
    @UseGuards(cjs.RateLimitGuard)
    @Get()
    get() {}
    @cjs.SkipRateLimit() @Get('free') free() {}
  }
  @Injectable()
  class Service {
    constructor(@cjs.InjectRateLimiter('login') readonly login: RateLimiter) {}
  }
  const module = RateLimitModule.forRoot({ policy: once, policies: { login: once } })
  const { app, statuses } = await start({ imports: [module], controllers: [A], providers: [Service] })
  expect(await statuses('/', '/', '/', '/free', '/free')).toEqual([200, 200, 429, 200, 200])
  expect(app.get(Service).login.name).toBe('login')
})

// What the types must allow and refuse; compiled by `typecheck`.
export function types(): unknown[] {
  interface MyRequest {
    readonly user: { readonly id: string; readonly pages: number }
  }
  return [
    RateLimit({ policy: once, key: (req) => req.user.id }),
    RateLimit({
      limit: 1,
      window: '1m',
      key: (req: MyRequest) => req.user.id,
      cost: (req) => req.user.pages,
    }),
    RateLimitModule.forRoot({
      policy: (req: MyRequest) => (req.user.pages > 1 ? twice : once),
      key: (req) => req.user.id,
    }),
    // @ts-expect-error no such option
    RateLimit({ policy: once, kee: 1 }),
    // @ts-expect-error either a policy or a limit
    RateLimit({ policy: once, limit: 1, window: '1m' }),
    // @ts-expect-error no such property
    RateLimit({ policy: once, key: (req: MyRequest) => req.user.name }),
    // @ts-expect-error not a key
    RateLimit({ policy: once, key: (req: MyRequest) => req.user.pages }),
    // @ts-expect-error no such option
    RateLimitModule.forRoot({ policy: once, globl: false }),
  ]
}
