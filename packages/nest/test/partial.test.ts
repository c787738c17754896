// Decorators that change a part of the default; several defaults; a default for each handler.

import { Controller, Get } from '@nestjs/common'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimits,
  SkipRateLimit,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { describe, expect, test } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const twice = fixedWindow({ limit: 2, window: '1h' })

function started(options: RateLimitModuleOptions, ...controllers: (new () => object)[]) {
  const store = memoryStore({ clock: fakeClock() })
  return start({ imports: [RateLimitModule.forRoot({ store, ...options })], controllers })
}

/** How many of nine requests get through. */
async function granted(app: Awaited<ReturnType<typeof started>>, path: string): Promise<number> {
  const statuses = await app.statuses(...Array.from({ length: 9 }, () => path))
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  return statuses.filter((status) => status === 200).length
}

test('{ cost } charges more to the default, and { key } uses another key for it', async () => {
  @Controller()
  class One {
    @Get('plain') plain() {}
    @RateLimit({ cost: 5 }) @Get('costly') costly() {}
    @RateLimit({ key: () => 'everybody' }) @Get('other') other() {}
  }
  const app = await started({ limit: 8, window: '1h' }, One)
  const { headers } = await app.get('/costly')
  expect(headers.get('RateLimit-Policy')).toBe('"default";q=8;w=3600')
  expect(await app.statuses('/costly', '/plain', '/plain', '/plain', '/plain')).toEqual([
    429, 200, 200, 200, 429,
  ])
  expect(await granted(app, '/other')).toBe(8)
})

test('{ limit } keeps the window, { window } the limit; both count for the handler only', async () => {
  @Controller()
  class One {
    @Get('plain') plain() {}
    @RateLimit({ limit: 3 }) @Get('three') three() {}
    @RateLimit({ window: '1d' }) @Get('day') day() {}
  }
  const app = await started({ limit: 5, window: '1h', key: () => 'all' }, One)
  const policyOf = async (path: string) => (await app.get(path)).headers.get('RateLimit-Policy')
  expect(await policyOf('/three')).toMatch(/;q=3;w=3600$/)
  expect(await policyOf('/day')).toMatch(/;q=5;w=86400$/)
  expect(await granted(app, '/three')).toBe(2)
  expect(await granted(app, '/day')).toBe(4)
  expect(await granted(app, '/plain')).toBe(5)
})

test('an option that is undefined in a decorator is inherited', async () => {
  @Controller()
  class One {
    @RateLimit({ cost: 2, limit: undefined, key: undefined, order: undefined })
    @Get('two')
    two() {}
    @RateLimit({ override: { default: { cost: 3, policy: undefined } } }) @Get('three') three() {}
  }
  const app = await started({ limit: 5, window: '1h', key: () => 'all' }, One)
  expect(await app.statuses('/three', '/two', '/two')).toEqual([200, 200, 429])
})

test('on a class: for its handlers together; on a method: a change to what its class says', async () => {
  @Controller('class')
  @RateLimit({ limit: 3 })
  class One {
    @Get('x') x() {}
    @Get('y') y() {}
    @RateLimit({ cost: 2 }) @Get('costly') costly() {}
  }
  const app = await started({ limit: 5, window: '1h' }, One)
  expect(await app.statuses('/class/costly', '/class/x', '/class/y')).toEqual([200, 200, 429])
})

describe('several defaults', () => {
  const options: RateLimitModuleOptions = {
    policies: {
      short: { limit: 3, window: '1m' },
      long: { limit: 5, window: '1h' },
      login: once,
    },
    defaults: ['short', 'long'],
  }
  @Controller()
  class One {
    @Get('both') both() {}
    @SkipRateLimit('short') @Get('long') long() {}
    @SkipRateLimit() @Get('none') none() {}
    @RateLimit({ override: { short: { limit: 1 } } }) @Get('one') one() {}
    @RateLimit({ override: { short: { limit: 8 }, long: { cost: 2 } } }) @Get('two') two() {}
    @RateLimit('long') @Get('named') named() {}
    @RateLimit('login') @Get('login') login() {}
    @RateLimit.also('login') @Get('also') also() {}
    @RateLimit({ cost: 2 }) @Get('costly') costly() {}
  }
  @Controller('class')
  @SkipRateLimit('long')
  class OfClass {
    @Get('x') x() {}
    @RateLimit({ override: { short: { limit: 7 } } }) @Get('y') y() {}
  }
  test.for([
    ['/both', 3],
    ['/long', 5],
    ['/none', 9],
    ['/one', 1],
    ['/two', 2],
    ['/named', 5],
    ['/login', 1],
    ['/also', 1],
    ['/costly', 1],
    ['/class/x', 3],
    // The class frees it from the policies that its own decorator does not mention.
    ['/class/y', 7],
  ] as const)('%s: %i of 9', async ([path, expected]) => {
    expect(await granted(await started(options, One, OfClass), path)).toBe(expected)
  })

  test('an overridden policy is shown under its name, beside the others', async () => {
    const app = await started(options, One)
    expect((await app.get('/one')).headers.get('RateLimit-Policy')).toBe(
      '"short";q=1;w=60, "long";q=5;w=3600',
    )
  })
})

describe('perHandler: a separate default for each handler, as in the throttler', () => {
  @Controller('a')
  class One {
    @Get('x') x() {}
    @Get('y') y() {}
    @RateLimit({ limit: 3 }) @Get('z') z() {}
    @RateLimit({ cost: 2 }) @Get('costly') costly() {}
  }
  @Controller('b')
  @RateLimit({ limit: 4 })
  class Two {
    @Get('x') x() {}
    @Get('y') y() {}
  }

  test('each handler of each class', async () => {
    const app = await started({ limit: 2, window: '1h', perHandler: true }, One, Two)
    for (const [path, expected] of [
      ['/a/x', 2],
      ['/a/y', 2],
      ['/a/z', 3],
      ['/a/costly', 1],
      ['/b/x', 4],
      ['/b/y', 4],
    ] as const)
      expect([path, await granted(app, path)]).toEqual([path, expected])
    const { headers } = await app.get('/a/x')
    expect(headers.get('RateLimit-Policy')).toBe('"default";q=2;w=3600')
    expect(app.app.get(RateLimits).get('One.x.default').name).toBe('One.x.default')
  })

  test('named ones, and decorators that name them', async () => {
    @Controller('c')
    class Three {
      @Get('x') x() {}
      @SkipRateLimit('short') @Get('skips') skips() {}
      @RateLimit('short') @Get('named') named() {}
    }
    const short = { limit: 2, window: '1h', perHandler: true } as const
    const app = await started({ policies: { short }, defaults: ['short'] }, Three)
    expect(await granted(app, '/c/x')).toBe(2)
    expect(await granted(app, '/c/skips')).toBe(9)
    expect(await granted(app, '/c/named')).toBe(2)
  })
})

describe('misuse is reported at the start', () => {
  const decorated = (decorator: MethodDecorator) => {
    @Controller()
    class One {
      @decorator @Get() get() {}
    }
    return One
  }
  const several = { policies: { short: once, long: twice }, defaults: ['short', 'long'] }
  test.for<[string, RateLimitModuleOptions, MethodDecorator, RegExp]>([
    ['nothing to change', {}, RateLimit({ cost: 5 }), /One\.get.*there is none.*give policy/],
    ['which of several', several, RateLimit({ limit: 5 }), /there are short, long.*override/],
    [
      'not the default',
      several,
      RateLimit({ override: { shrot: { cost: 2 } } }),
      /"shrot".*short, long/,
    ],
    ['a limit of a policy', { policy: once }, RateLimit({ limit: 3 }), /"default" has a policy/],
    [
      'also with nothing',
      { policy: once },
      RateLimit.also({ cost: 3 }),
      /adds a limiter.*give policy/,
    ],
    ['no such default', { ...several, defaults: ['shrot'] }, SkipRateLimit(), /defaults.*"shrot"/],
    [
      'defaults that are none',
      { defaults: 'short' as never },
      SkipRateLimit(),
      /defaults is "short"/,
    ],
    [
      'perHandler that is none',
      { policy: once, perHandler: 'yes' as never },
      SkipRateLimit(),
      /perHandler is "yes"/,
    ],
  ])('%s', async ([, options, decorator, message]) => {
    const imports = [RateLimitModule.forRoot(options)]
    await expect(start({ imports, controllers: [decorated(decorator)] })).rejects.toMatchObject({
      code: 'WEIR_INVALID_OPTION',
      message: expect.stringMatching(message),
    })
  })

  test('an override beside other options, or of nothing', () => {
    const untyped = RateLimit as (options: object) => unknown
    for (const options of [{ override: {}, cost: 2 }, { override: null }, { override: { a: 1 } }])
      expect(() => untyped(options)).toThrow(/\{ override: \{ name: options \} \}/)
  })
})

test('a class overrides a policy that has the name of one of its methods: each has its own limit', async () => {
  @Controller()
  @RateLimit({ override: { search: { limit: 2 } } })
  class One {
    @RateLimit(once) @Get('search') search() {}
    @Get('other') other() {}
  }
  const { app, statuses } = await start({
    imports: [
      RateLimitModule.forRoot({
        policies: { search: { limit: 5, window: '1h' } },
        defaults: ['search'],
      }),
    ],
    controllers: [One],
  })
  expect(await statuses('/search', '/search')).toEqual([200, 429])
  expect(await statuses('/other', '/other', '/other')).toEqual([200, 200, 429])
  const limits = app.get(RateLimits)
  expect([limits.get('One.search').name, limits.get('One-search').name]).toEqual([
    'One.search',
    'One-search',
  ])
})

describe('perHandler: two classes of one name', () => {
  const none: ClassDecorator = () => {}
  const users = (
    path: string,
    onClass: ClassDecorator,
    onMethod: MethodDecorator = none as never,
  ) => {
    @Controller(path)
    @onClass
    class Users {
      @onMethod @Get() list() {}
      @RateLimit({ cost: 1 }) @Get('one') one() {}
    }
    return Users
  }
  const started = (...controllers: (new () => object)[]) => {
    const imports = [RateLimitModule.forRoot({ policy: once, perHandler: true })]
    return start({ imports, controllers })
  }
  const clash = {
    code: 'WEIR_NAME_CLASH',
    message: expect.stringMatching(/"Users\.\w+\.default".*@RateLimit\(\{ name, \.\.\. \}\)/),
  }

  test('do not share a counter, whatever else their decorators change', async () => {
    await expect(started(users('v1', none), users('v2', none))).rejects.toMatchObject(clash)
    const costs = RateLimit({ cost: 1 })
    await expect(started(users('v1', none, costs), users('v2', none, costs))).rejects.toMatchObject(
      clash,
    )
  })

  test('count separately when one has a name', async () => {
    const app = await started(users('v1', none), users('v2', RateLimit({ name: 'v2' })))
    for (const path of ['/v1', '/v2', '/v1/one', '/v2/one'])
      expect(await app.statuses(path, path)).toEqual([200, 429])
    expect(app.app.get(RateLimits).get('Users.list.v2').name).toBe('Users.list.v2')
  })
})

test.each([false, true])(
  'a limiter is switched off together with all that are made from it (perHandler: %s)',
  async (perHandler) => {
    @Controller()
    class One {
      @Get('plain') plain() {}
      @RateLimit({ cost: 1 }) @Get('costs') costs() {}
      @RateLimit({ limit: 1 }) @Get('own') own() {}
      @RateLimit(once) @Get('other') other() {}
    }
    const { app, statuses } = await start({
      imports: [
        RateLimitModule.forRoot({
          limit: 1,
          window: '1h',
          key: (_, context) => context.getHandler().name,
          perHandler,
        }),
      ],
      controllers: [One],
    })
    const limiter = app.get(RateLimits).get('default')
    limiter.enabled = false
    for (const path of ['/plain', '/costs', '/own'])
      expect([path, await statuses(path, path)]).toEqual([path, [200, 200]])
    expect(await statuses('/other', '/other')).toEqual([200, 429])
    limiter.enabled = true
    for (const path of ['/plain', '/costs', '/own'])
      expect([path, await statuses(path, path)]).toEqual([path, [200, 429]])
  },
)

test('of key and ipv6Prefix, the nearer one applies', async () => {
  @Controller()
  class One {
    @RateLimit({ policy: once, ipv6Prefix: 64 }) @Get('prefix') prefix() {}
    @RateLimit({ key: () => 'theirs' }) @Get('key') key() {}
  }
  const imports = [
    RateLimitModule.forRoot({
      key: () => 'all',
      policies: { short: { limit: 2, window: '1h', ipv6Prefix: 64 } },
      defaults: ['short'],
    }),
  ]
  const { app, statuses } = await start({ imports, controllers: [One] })
  expect(await statuses('/prefix', '/key')).toEqual([200, 200])
  const limits = app.get(RateLimits)
  expect((await limits.get('One.prefix').peek('127.0.0.1')).remaining).toBe(0)
  expect((await limits.get('short').peek('theirs')).remaining).toBe(1)
})

test('an option that is undefined in a policy of the module is inherited', async () => {
  @Controller()
  class One {
    @Get() get() {}
  }
  const policies = { short: { limit: 2, window: '1h', key: undefined, store: undefined } } as const
  const imports = [RateLimitModule.forRoot({ key: () => 'all', policies, defaults: ['short'] })]
  const { app, statuses } = await start({ imports, controllers: [One] })
  expect(await statuses('/')).toEqual([200])
  expect((await app.get(RateLimits).get('short').peek('all')).remaining).toBe(1)
})
