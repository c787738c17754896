// Setting up the module, what it provides to services, errors at the start, and what happens at the
// end.

import { createRequire } from 'node:module'
import {
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  Scope,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import {
  fixedWindow,
  InjectRateLimiter,
  type Looked,
  memoryStore,
  type NestRequest,
  type Policy,
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
import { describe, expect, onTestFinished, test, vi } from 'vitest'
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

  test('guard: false leaves the guard to the application', async () => {
    const module = RateLimitModule.forRootAsync({
      guard: false,
      useFactory: () => ({ policy: once }),
    })
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
    const app = await start({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [controller],
    })
    const statuses: number[] = []
    for (const user of ['u1', 'u1', 'u2'])
      statuses.push((await app.get(path, { 'x-user': user })).status)
    return statuses
  }

  test('a global guard runs before those of routes, so there is no user yet', async () => {
    @Controller()
    class One {
      @UseGuards(AuthGuard) @Get() get() {}
    }
    expect(await left('/', { policy: once, key }, One)).toEqual([200, 429, 429])
  })

  test('guard: false, and the guard after the one that authenticates', async () => {
    @Controller()
    class One {
      @UseGuards(AuthGuard, RateLimitGuard) @Get() get() {}
    }
    expect(await left('/', { policy: once, key, guard: false }, One)).toEqual([200, 429, 200])
  })

  test('guard: false and the interceptor', async () => {
    @Controller()
    class One {
      @UseGuards(AuthGuard) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
    }
    expect(await left('/', { policy: once, key, guard: false }, One)).toEqual([200, 429, 200])
  })

  test('afterGuards: one limit by address before the guards, one by user after them', async () => {
    @Controller()
    class One {
      @UseGuards(AuthGuard)
      @RateLimit.also({ policy: once, key, order: 'afterGuards' })
      @Get()
      get() {}
    }
    expect(await left('/', { policy: twice }, One)).toEqual([200, 429, 429])
    expect(await left('/', { policy: fixedWindow({ limit: 3, window: '1h' }) }, One)).toEqual([
      200, 429, 200,
    ])
  })

  test('a guard that is not global asks all limits where it is used', async () => {
    @Controller()
    class One {
      @UseGuards(AuthGuard, RateLimitGuard)
      @RateLimit({ policy: once, key, order: 'afterGuards' })
      @Get()
      get() {}
    }
    expect(await left('/', { guard: false }, One)).toEqual([200, 429, 200])
  })

  test('no request counts twice where guards and interceptors are combined', async () => {
    @Controller()
    class One {
      @UseGuards(RateLimitGuard) @UseInterceptors(RateLimitInterceptor) @Get() get() {}
    }
    expect(await left('/', { policy: twice }, One)).toEqual([200, 200, 429])
  })
})

describe('your own guard', () => {
  @Injectable()
  class Quiet extends RateLimitGuard {
    protected override lookUp(context: ExecutionContext): Looked {
      return { ...super.lookUp(context), response: undefined }
    }
  }
  @Controller()
  class One {
    @Get() get() {}
    @RateLimit({ policy: once, order: 'afterGuards' }) @Get('after') after() {}
  }
  const ways = {
    'option guard': { imports: [RateLimitModule.forRoot({ guard: Quiet, policy: once })] },
    APP_GUARD: {
      imports: [RateLimitModule.forRoot({ guard: false, policy: once })],
      providers: [{ provide: APP_GUARD, useClass: Quiet }],
    },
  }
  test.for(Object.entries(ways))('%s: its overrides apply', async ([, metadata]) => {
    const app = await start({ ...metadata, controllers: [One] })
    const { status, headers } = await app.get('/')
    expect([status, headers.get('RateLimit')]).toEqual([200, null])
    expect(await app.statuses('/', '/after', '/after')).toEqual([429, 200, 429])
    app.app.get(RateLimits).get('default').enabled = false
    expect(await app.statuses('/')).toEqual([200])
  })

  test('limits by a copy of the request, without what a request has from its class', async () => {
    class Copying extends RateLimitGuard {
      protected override lookUp(context: ExecutionContext): Looked {
        const { request, response } = super.lookUp(context)
        return { request: { ...request, ip: '192.0.2.1' }, response }
      }
    }
    const options = { guard: Copying, policy: once }
    const app = await start({ imports: [RateLimitModule.forRoot(options)], controllers: [One] })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
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
    class One {
      @Get() get() {}
      @RateLimit(once) @Get('own') own() {}
    }
    const { app, get } = await start({
      imports: [...imports],
      providers: [Service],
      controllers: [One],
    })
    const { general, login, limits } = app.get(Service)
    expect([general.name, login.name]).toEqual(['api', 'login'])
    await general.consume('127.0.0.1')
    expect((await get('/')).status).toBe(429)
    await general.reset('127.0.0.1')
    expect((await get('/')).status).toBe(200)
    expect(limits.get('login')).toBe(login)
    expect(limits.get('One.own').name).toBe('One.own')
  })
})

describe('@InjectRateLimiter', () => {
  @Injectable()
  class Api {
    constructor(@InjectRateLimiter('api') readonly api: RateLimiter) {}
  }

  test('knows the name that forRoot gave to the default', async () => {
    const imports = [RateLimitModule.forRoot({ name: 'api', policy: once })]
    const { app } = await start({ imports, providers: [Api] })
    expect(app.get(Api).api).toBe(app.get(RateLimits).get('default'))
  })

  test('after forRootAsync: the error says what to import', async () => {
    const limits = RateLimitModule.forRootAsync({
      useFactory: () => ({ name: 'api', policy: once }),
    })
    await expect(start({ imports: [limits], providers: [Api] })).rejects.toThrow(
      /import RateLimitModule\.forFeature\('api'\)/,
    )
    const imports = [limits, RateLimitModule.forFeature('api')]
    const { app } = await start({ imports, providers: [Api] })
    expect(app.get(Api).api.name).toBe('api')
  })
})

test('everything works behind a Proxy, as libraries provide', async () => {
  @Injectable()
  class Service {
    constructor(@Inject(RateLimits) readonly limits: RateLimits) {}
  }
  const { app } = await start({
    imports: [RateLimitModule.forRoot({ policy: once })],
    providers: [Service],
  })
  const proxied = new Proxy(app.get(Service).limits, {})
  expect(proxied.get('default').name).toBe('default')
  expect(proxied.of(Plain, Plain.prototype.get)).toHaveLength(1)
  await proxied.onApplicationShutdown()
})

describe('misuse is reported at the start', () => {
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
      [limited('One', { name: 'x' }), limited('Two', { name: 'x' })],
      'WEIR_NAME_CLASH',
      /"x"/,
    ],
    [
      'no such policy',
      [thing('One', RateLimit('typo'))],
      'WEIR_INVALID_OPTION',
      /@RateLimit of One.*"typo".*default, login/,
    ],
    [
      'a wrong option',
      [limited('One', { kee: 1 })],
      'WEIR_INVALID_OPTION',
      /limiter of One: .*"kee"/,
    ],
  ] as const)('%s', async ([, controllers, code, message]) => {
    const module = RateLimitModule.forRoot({ policy: once, policies: { login: once } })
    await expect(start({ imports: [module], controllers: [...controllers] })).rejects.toMatchObject(
      {
        code,
        message: expect.stringMatching(message),
      },
    )
  })

  describe('of the module, if the mistake was taken for no limit', () => {
    const factory = (made: unknown) =>
      RateLimitModule.forRootAsync({ useFactory: () => made as never })
    test.for<[string, () => DynamicModule, RegExp]>([
      ['a misspelt policy', () => RateLimitModule.forRoot({ polciy: once } as never), /"polciy"/],
      ['a factory that gives a misspelt policy', () => factory({ polciy: once }), /"polciy"/],
      ['a policy that is undefined', () => factory({ policy: undefined }), /policy is undefined/],
      [
        'a limit that is undefined',
        () => factory({ policy: undefined, limit: undefined }),
        /limit undefined/,
      ],
      [
        'a window alone',
        () => RateLimitModule.forRoot({ window: '1m' } as never),
        /limit is undefined/,
      ],
      ['a factory that gives nothing', () => factory(undefined), /was given undefined/],
      ['nothing', () => RateLimitModule.forRoot(undefined as never), /was given undefined; give/],
      [
        "an array, as Nest's throttler",
        () => RateLimitModule.forRoot([{ ttl: 1, limit: 1 }] as never),
        /was given \[.*policies, defaults.*docs\/migrating\.md/,
      ],
      [
        'throttlers',
        () => factory({ throttlers: [{ ttl: 1, limit: 1 }] }),
        /was given throttlers;.*docs\/migrating\.md/,
      ],
      [
        'more of a value than what it is',
        () => factory({ defaults: { password: 'secret' } }),
        /defaults is { password };/,
      ],
      ['policies that are none', () => factory({ policies: null }), /policies is null/],
      ['a wrong header format', () => factory({ headers: 'draft-9' }), /"draft-9"/],
      [
        'a policy that is nothing',
        () => factory({ policies: { login: undefined } }),
        /policies\.login/,
      ],
      [
        'a named policy with another name',
        () => factory({ policies: { login: { policy: once, name: 'other' } } }),
        /policies\.login.*"other"/,
      ],
      [
        'an order that there is not',
        () => factory({ policy: once, order: 'last' }),
        /order is "last"; give 'first' or 'afterGuards'/,
      ],
      [
        'a hidden policy that there is not',
        () => factory({ policy: once, hide: ['onec'] }),
        /"onec"/,
      ],
    ])('%s', async ([, module, message]) => {
      await expect((async () => start({ imports: [module()] }))()).rejects.toMatchObject({
        code: expect.stringMatching(/^WEIR_INVALID_/),
        message: expect.stringMatching(message),
      })
    })

    test('a policy that a module hides need not be in every decorator, and is hidden where it is', async () => {
      const [open, hidden] = ['open', 'hidden'].map((name) =>
        fixedWindow({ name, limit: 5, window: '1h' }),
      )
      @Controller()
      class One {
        @RateLimit(open as Policy) @Get('one') one() {}
        @RateLimit(open as Policy, hidden as Policy) @Get('both') both() {}
      }
      const { get } = await start({
        imports: [RateLimitModule.forRoot({ hide: ['hidden'] })],
        controllers: [One],
      })
      for (const path of ['/one', '/both'])
        expect((await get(path)).headers.get('RateLimit-Policy')).toBe('"open";q=5;w=3600')
    })
  })

  test('a limit of 0 was taken for no limit', async () => {
    @Injectable()
    class Service {
      constructor(@InjectRateLimiter() readonly general: RateLimiter) {}
    }
    const module = RateLimitModule.forRoot({ limit: 0, window: '1h' })
    const app = await start({ imports: [module], controllers: [Plain], providers: [Service] })
    expect(await app.statuses('/', '/')).toEqual([429, 429])
    expect(app.app.get(Service).general.name).toBe('default')
  })

  test.for([
    [undefined],
    [null],
    [],
    [7],
    [() => once],
    ['login', undefined],
    ['login', once],
  ] as never[][])(
    '@RateLimit(%j), as a circular import leaves it, switched limits off',
    (given) => {
      expect(() => RateLimit(...(given as [never]))).toThrow(
        expect.objectContaining({
          code: 'WEIR_INVALID_OPTION',
          message: expect.stringMatching(/names.*policies.*options/),
        }),
      )
    },
  )

  test('two modules charged each request twice, or did not know the names of the other', async () => {
    const imports = ['a', 'b'].map((name) =>
      RateLimitModule.forRoot({ policies: { [name]: once } }),
    )
    await expect(start({ imports })).rejects.toMatchObject({
      code: 'WEIR_NAME_CLASH',
      message: expect.stringMatching(/RateLimitModule.*twice/),
    })
  })

  test('one module that several others import is one', async () => {
    const module = RateLimitModule.forRoot({ policy: once })
    @Module({ imports: [module], controllers: [Plain] })
    class Feature {}
    expect(await (await start({ imports: [module, Feature] })).statuses('/', '/')).toEqual([
      200, 429,
    ])
  })

  test('a request-scoped guard caused a 500 from the second request on', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    @Module({ providers: [Tenant], exports: [Tenant] })
    class TenantModule {}
    Global()(TenantModule)
    @Injectable()
    class Scoped extends RateLimitGuard {
      constructor(@Inject(Tenant) readonly tenant: Tenant) {
        super()
      }
    }
    const imports = [TenantModule, RateLimitModule.forRoot({ policy: once, guard: Scoped })]
    await expect(start({ imports, controllers: [Plain] })).rejects.toThrow(
      /the guard that forRoot was given is, or needs, Tenant, which is request-scoped \(Scoped\)/,
    )
    // On a handler, the guard may be request-scoped.
    @Controller()
    class One {
      @UseGuards(Scoped) @Get() get() {}
    }
    const own = [TenantModule, RateLimitModule.forRoot({ policy: once, guard: false })]
    expect(
      await (await start({ imports: own, controllers: [One] })).statuses('/', '/', '/'),
    ).toEqual([200, 429, 429])
  })

  test('names distinguish them, and shared: true lets them count together', async () => {
    const apart = [limited('Same'), thing('Same', RateLimit({ name: 'other', policy: once }))]
    await start({ imports: [RateLimitModule.forRoot({})], controllers: apart })
    const together = [limited('One', { name: 'x' }), limited('Two', { name: 'x', shared: true })]
    await start({ imports: [RateLimitModule.forRoot({})], controllers: together })
  })

  test('a decorator written twice', () => {
    expect(() => {
      @RateLimit(once)
      @RateLimit(twice)
      class One {}
      return One
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
    const { app } = await start({
      imports: [RateLimitModule.forRoot({ ...options, store, policy: once })],
    })
    await app.close()
    expect(calls).toHaveLength(expected)
  })

  test('and a function is called when the store is closed, for instance to end the client', async () => {
    const calls: string[] = []
    const store = { ...memoryStore(), close: async () => void calls.push('close') }
    const closeStore = async () => void calls.push('quit')
    const { app } = await start({
      imports: [RateLimitModule.forRoot({ store, policy: once, closeStore })],
    })
    await app.close()
    expect(calls).toEqual(['close', 'quit'])
    await expect(
      start({ imports: [RateLimitModule.forRoot({ closeStore: 'yes' as never })] }),
    ).rejects.toThrow(/closeStore is "yes"; give true, false or a function/)
  })

  test('what cannot be closed, since its server is away, is logged and does not fail the shutdown', async () => {
    const said: unknown[] = []
    const warn = vi
      .spyOn(Logger.prototype, 'warn')
      .mockImplementation((text) => void said.push(text))
    onTestFinished(() => warn.mockRestore())
    const fails = async () => {
      throw new Error('Connection is closed.')
    }
    const closeStore = vi.fn(fails)
    const store = { ...memoryStore(), close: fails }
    const options = { store, policy: once, closeStore }
    const { app } = await start({ imports: [RateLimitModule.forRoot(options)] })
    // On a busy machine, Nest 10 logs how long it took to start.
    said.length = 0
    await app.close()
    expect(closeStore).toHaveBeenCalledOnce()
    const because = ', and failed: "Connection is closed."'
    expect(said).toEqual([`the store was closed${because}`, `closeStore was called${because}`])
  })

  test('its own store is closed after the last request', async () => {
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

test('decorators of one module format are found by the other', async () => {
  const cjs: typeof import('@weir/nest') = createRequire(import.meta.url)('@weir/nest')
  expect(cjs.RateLimitGuard).not.toBe(RateLimitGuard)
  @Controller()
  class One {
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
  const { app, statuses } = await start({
    imports: [module],
    controllers: [One],
    providers: [Service],
  })
  expect(await statuses('/', '/', '/', '/free', '/free')).toEqual([200, 200, 429, 200, 200])
  expect(app.get(Service).login.name).toBe('login')
})

// What the types must allow and refuse; `typecheck` compiles it.
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
    RateLimitModule.forRoot({ policy: twice, whenUnavailable: once }),
    RateLimit({ policy: [{ policy: twice, whenUnavailable: once }] }),
    // @ts-expect-error no such option
    RateLimit({ policy: once, kee: 1 }),
    // @ts-expect-error either a policy or a limit
    RateLimit({ policy: once, limit: 1, window: '1m' }),
    // @ts-expect-error no such property
    RateLimit({ policy: once, key: (req: MyRequest) => req.user.name }),
    RateLimit({ policy: once, key: (req: MyRequest) => req.user.pages }),
    // @ts-expect-error not a key
    RateLimit({ policy: once, key: (req: MyRequest) => req.user }),
    // @ts-expect-error no such option
    RateLimitModule.forRoot({ policy: once, gurd: false }),
  ]
}
