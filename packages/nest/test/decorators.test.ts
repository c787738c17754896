// Which limits a handler has, by the decorators of the handler and its class, and by the module.

import { Controller, Get, Scope } from '@nestjs/common'
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
const thrice = fixedWindow({ limit: 3, window: '1h' })

function started(controllers: (new () => object)[], options: RateLimitModuleOptions) {
  const store = memoryStore({ clock: fakeClock() })
  return start({ imports: [RateLimitModule.forRoot({ store, ...options })], controllers })
}

/** How many of five requests get through. */
async function granted(app: Awaited<ReturnType<typeof started>>, path: string): Promise<number> {
  const statuses = await app.statuses(path, path, path, path, path)
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  return statuses.filter((status) => status === 200).length
}

test('the default policy counts all handlers together', async () => {
  @Controller('a')
  class One {
    @Get('x') x() {}
    @Get('y') y() {}
  }
  const app = await started([One], { policy: thrice })
  expect(await app.statuses('/a/x', '/a/y', '/a/x', '/a/y')).toEqual([200, 200, 200, 429])
})

test('without a default policy, only decorated handlers are limited', async () => {
  @Controller()
  class One {
    @Get('free') free() {}
    @RateLimit(once) @Get('tight') tight() {}
  }
  const app = await started([One], {})
  expect(await granted(app, '/free')).toBe(5)
  expect(await granted(app, '/tight')).toBe(1)
})

test('a class decorator counts once for the class, and replaces the default', async () => {
  @Controller('a')
  @RateLimit(twice)
  class One {
    @Get('x') x() {}
    @Get('y') y() {}
  }
  const app = await started([One], { policy: once })
  expect(await app.statuses('/a/x', '/a/y', '/a/x')).toEqual([200, 200, 429])
})

test('a method decorator counts per handler, and replaces that of the class', async () => {
  @Controller('a')
  @RateLimit(once)
  class One {
    @RateLimit(twice) @Get('x') x() {}
    @RateLimit(twice) @Get('y') y() {}
    @Get('z') z() {}
  }
  const app = await started([One], { policy: thrice })
  expect(await granted(app, '/a/x')).toBe(2)
  expect(await granted(app, '/a/y')).toBe(2)
  expect(await granted(app, '/a/z')).toBe(1)
})

test('a named policy counts all handlers that name it together', async () => {
  @Controller('a')
  class One {
    @RateLimit('login') @Get('x') x() {}
  }
  @Controller('b')
  @RateLimit('login')
  class Two {
    @Get('y') y() {}
  }
  const app = await started([One, Two], { policies: { login: twice } })
  expect(await app.statuses('/a/x', '/b/y', '/a/x', '/b/y')).toEqual([200, 200, 429, 429])
})

test('several policies are one decision, several names are asked one after another', async () => {
  @Controller()
  class One {
    @RateLimit(thrice, fixedWindow({ name: 'small', limit: 1, window: '1m' })) @Get('one') one() {}
    @RateLimit('wide', 'narrow') @Get('two') two() {}
  }
  const app = await started([One], { policies: { wide: thrice, narrow: [twice] } })
  await app.get('/one')
  const refused = await app.get('/one')
  expect(refused.status).toBe(429)
  // The denied request has charged neither policy.
  expect(refused.headers.get('RateLimit')).toMatch(
    /^"fixed-window-1h";r=2;t=\d+, "small";r=0;t=60$/,
  )
  expect(await granted(app, '/two')).toBe(2)
})

test('RateLimit.also asks the default policy as well, on a class and on a method', async () => {
  @Controller('a')
  @RateLimit.also(twice)
  class One {
    @Get('x') x() {}
    @RateLimit.also('wide') @Get('y') y() {}
  }
  const app = await started([One], { policy: thrice, policies: { wide: once } })
  expect((await app.get('/a/x')).headers.get('RateLimit-Policy')).toBe(
    '"default";q=3;w=3600, "group";q=2;w=3600',
  )
  expect(await app.statuses('/a/x', '/a/y', '/a/x')).toEqual([200, 200, 429])
})

test('options of a decorator: cost, key, and what it inherits from the module', async () => {
  @Controller()
  class One {
    @RateLimit({ policy: thrice, cost: 2 }) @Get('costly') costly() {}
    @RateLimit({ limit: 1, window: '1h', key: async (req) => req.headers['x-other'] })
    @Get('own')
    own() {}
    @RateLimit(once) @Get('inherited') inherited() {}
  }
  const app = await started([One], {
    key: (req, context) => `${req.headers['x-user']} ${context.getHandler().name}`,
  })
  expect(await granted(app, '/costly')).toBe(1)
  const of = async (path: string, name: string, value: string) =>
    (await app.get(path, { [name]: value })).status
  expect(await of('/own', 'x-other', 'u1')).toBe(200)
  expect(await of('/own', 'x-other', 'u1')).toBe(429)
  expect(await of('/own', 'x-other', 'u2')).toBe(200)
  expect(await of('/inherited', 'x-user', 'u1')).toBe(200)
  expect(await of('/inherited', 'x-user', 'u1')).toBe(429)
  expect(await of('/inherited', 'x-user', 'u2')).toBe(200)
})

test('an async skip is awaited, and an async policy', async () => {
  @Controller()
  class One {
    @RateLimit({ policy: once, skip: async () => false }) @Get('limited') limited() {}
    @RateLimit({ policy: once, skip: async () => true }) @Get('skipped') skipped() {}
    @RateLimit({ policy: async (req) => (req.headers['x-plan'] === 'pro' ? twice : once) })
    @Get('plan')
    plan() {}
  }
  const app = await started([One], {})
  expect(await granted(app, '/limited')).toBe(1)
  expect(await granted(app, '/skipped')).toBe(5)
  expect(await granted(app, '/plan')).toBe(1)
  expect((await app.get('/plan', { 'x-plan': 'pro' })).status).toBe(200)
})

describe('@nestjs/throttler #1729, OpenWA PR #1199: a bare skip had no effect if policies had names', () => {
  @Controller('method')
  class OnMethod {
    @SkipRateLimit() @Get('all') all() {}
    @SkipRateLimit('api') @Get('default') default() {}
    @SkipRateLimit('login') @Get('other') other() {}
    @SkipRateLimit() @RateLimit('login') @Get('named-all') namedAll() {}
    @SkipRateLimit('login') @RateLimit.also('login') @Get('named') named() {}
    @SkipRateLimit('OnMethod.own') @RateLimit(once) @Get('own') own() {}
  }
  @Controller('class')
  @SkipRateLimit()
  class OnClass {
    @Get('all') all() {}
    @RateLimit('login') @Get('own') own() {}
    @RateLimit('api') @Get('again') again() {}
  }
  @Controller('own')
  @SkipRateLimit('login', 'api')
  class OnClassOwn {
    @RateLimit('login') @Get('named') named() {}
    @RateLimit.also(once) @Get('also') also() {}
    @RateLimit.also('login') @Get('also-named') alsoNamed() {}
  }
  @Controller('bare')
  @SkipRateLimit()
  class OnClassBare {
    @RateLimit.also('login') @Get('also') also() {}
  }
  @Controller('names')
  @SkipRateLimit('login')
  @RateLimit.also('login')
  class OnClassByName {
    @Get('class') class() {}
    @SkipRateLimit('api') @Get('method') method() {}
    @SkipRateLimit() @Get('all') all() {}
  }

  test.for([
    ['/method/all', 5],
    ['/method/default', 5],
    ['/method/other', 3],
    ['/method/named-all', 5],
    ['/method/named', 3],
    ['/method/own', 5],
    ['/class/all', 5],
    ['/class/own', 2],
    ['/class/again', 3],
    // A class does not free a method from the method's own decorators.
    ['/own/named', 2],
    ['/own/also', 1],
    ['/own/also-named', 2],
    ['/bare/also', 2],
    ['/names/class', 3],
    ['/names/method', 2],
    ['/names/all', 5],
  ] as const)('%s: %i of 5 get through', async ([path, expected]) => {
    const app = await started([OnMethod, OnClass, OnClassOwn, OnClassBare, OnClassByName], {
      name: 'api',
      policy: thrice,
      policies: { login: twice },
    })
    expect(await granted(app, path)).toBe(expected)
  })
})

test('a decorator that is stored and has a name is one limiter wherever it is used', async () => {
  const Strict = RateLimit({ name: 'strict', policy: once })
  const Loose = RateLimit(once)
  @Controller('a')
  class One {
    @Strict @Get('x') x() {}
    @Loose @Get('own') own() {}
  }
  @Controller('b')
  class Two {
    @Strict @Get('x') x() {}
    @Loose @Get('own') own() {}
  }
  const app = await started([One, Two], {})
  expect(await app.statuses('/a/x', '/b/x', '/a/own', '/b/own')).toEqual([200, 429, 200, 200])
})

test('handlers and class limits that are inherited count for each class separately', async () => {
  @RateLimit(once)
  abstract class Base {
    @Get('x') x() {}
    @RateLimit(twice) @Get('y') y() {}
  }
  @Controller('a')
  class One extends Base {}
  @Controller('b')
  class Two extends Base {}
  const app = await started([One, Two], {})
  expect(await app.statuses('/a/x', '/b/x', '/a/x', '/b/x')).toEqual([200, 200, 429, 429])
  expect(await app.statuses('/a/y', '/a/y', '/b/y', '/a/y')).toEqual([200, 200, 200, 429])
})

test('a decorator above that wraps the method dropped the limit', async () => {
  const Wrapped: MethodDecorator = (_target, _name, descriptor) => {
    const method = descriptor.value as unknown as () => unknown
    const wrapper = function (this: unknown) {
      return method.call(this)
    }
    return { ...descriptor, value: wrapper as never }
  }
  @Controller()
  class One {
    @Get('limited') @Wrapped @RateLimit(once) limited() {}
    @Get('free') @Wrapped @SkipRateLimit() free() {}
  }
  const app = await started([One], { policy: thrice })
  expect(await granted(app, '/limited')).toBe(1)
  expect(await granted(app, '/free')).toBe(5)
})

test('a method that a derived class overrides has the decorators of the override', async () => {
  class Base {
    @RateLimit(once) @Get('x') x() {}
  }
  @Controller()
  class Derived extends Base {
    @Get('x') override x() {}
  }
  const app = await started([Derived], { policy: thrice })
  expect(await granted(app, '/x')).toBe(3)
})

describe.each([
  ['bound', (handler: () => unknown, self: object) => handler.bind(self)] as const,
  [
    'wrapped under its name',
    (handler: () => unknown) =>
      Object.defineProperty(() => handler(), 'name', { value: handler.name }),
  ] as const,
])('a handler that the constructor has %s', (_, replace) => {
  test('keeps its @RateLimit', async () => {
    @Controller()
    class One {
      constructor() {
        this.get = replace(this.get, this) as typeof this.get
      }
      @RateLimit(once) @Get() get() {}
    }
    expect(await granted(await started([One], { policy: thrice }), '/')).toBe(1)
  })

  test('takes no memory per request if it is created for each', async () => {
    let made = 0
    @Controller({ scope: Scope.REQUEST })
    class One {
      constructor() {
        this.get = replace(this.get, this) as typeof this.get
        made += 1
      }
      @RateLimit(once) @Get() get() {}
    }
    const app = await started([One], { policy: thrice })
    const limits = app.app.get(RateLimits)
    const first = limits.of(One, One.prototype.get)
    expect(await granted(app, '/')).toBe(1)
    expect(made).toBe(5)
    for (let i = 0; i < 3; i += 1)
      expect(limits.of(One, replace(One.prototype.get, {}) as () => unknown)).toBe(first)
  })
})

test("@SkipRateLimit('default') also skips the default if the module gives it a name", async () => {
  @Controller()
  class One {
    @SkipRateLimit('default') @Get('default') byDefault() {}
    @SkipRateLimit('api') @Get('name') byName() {}
    @Get('limited') limited() {}
  }
  const app = await started([One], { name: 'api', policy: once })
  expect(await granted(app, '/default')).toBe(5)
  expect(await granted(app, '/name')).toBe(5)
  expect(await granted(app, '/limited')).toBe(1)
})
