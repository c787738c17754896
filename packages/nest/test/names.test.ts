// The names of limiters that are named after classes and methods, in applications with hundreds of
// them.

import { Controller, Get, Module, type ModuleMetadata } from '@nestjs/common'
import {
  fixedWindow,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimits,
} from '@weir/nest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const perHandler = { policy: once, perHandler: true } as const

function controller(
  name: string,
  path: string,
  methods: readonly string[],
  ...decorators: readonly (ClassDecorator & MethodDecorator)[]
): new () => object {
  const made = { [name]: class {} }[name] as new () => object
  Controller(path)(made)
  for (const method of methods) {
    const descriptor = { value: { [method]() {} }[method] as () => void, configurable: true }
    Object.defineProperty(made.prototype, method, descriptor)
    Get(String(methods.indexOf(method)))(made.prototype, method, descriptor)
    for (const decorator of decorators) decorator(made.prototype, method, descriptor)
  }
  return made
}

function moduleNamed(name: string, metadata: ModuleMetadata): new () => object {
  const made = { [name]: class {} }[name] as new () => object
  Module(metadata)(made)
  return made
}

const LONG = 'SubscriptionInvoicesController'
const METHODS = ['findAllInvoicesOfCustomerByPeriod', 'findAllInvoicesOfCustomerByPlan']

describe('a class and a method whose names together are too long for a limiter', () => {
  test.for<[string, Parameters<typeof RateLimitModule.forRoot>[0], RegExp]>([
    [
      'perHandler',
      perHandler,
      /^SubscriptionInvoicesController\.findAllInvoicesOfCusto-[0-9a-f]{10}$/,
    ],
    [
      'perHandler of several defaults',
      { policies: { short: { policy: once, perHandler: true } }, defaults: ['short'] },
      /^SubscriptionInvoicesController\.findAllInvoicesOfCusto-[0-9a-f]{10}$/,
    ],
  ])('%s: have a short one, and a counter each', async ([, options, name]) => {
    const app = await start({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [controller(LONG, 'a', METHODS)],
    })
    expect(await app.statuses('/a/0', '/a/1', '/a/0', '/a/1')).toEqual([200, 200, 429, 429])
    const names = app.app
      .get(RateLimits)
      .all()
      .map((limiter) => limiter.name)
    const long = names.filter((each) => name.test(each))
    expect(new Set(long).size).toBe(2)
    for (const each of names) expect(each.length).toBeLessThanOrEqual(64)
  })

  test('it is found by both names, and has the same name in every process', async () => {
    const [method] = METHODS as [string]
    const app = await start({
      imports: [RateLimitModule.forRoot({})],
      controllers: [controller(`${LONG}OfTenants`, 'a', METHODS, RateLimit(once))],
    })
    const limits = app.app.get(RateLimits)
    const limiter = limits.get(`${LONG}OfTenants.${method}`)
    expect(limiter.name).toBe('SubscriptionInvoicesControllerOfTenants.findAllInvoic-5cd06f384e')
    expect(limits.get(limiter.name)).toBe(limiter)
    expect(await app.statuses('/a/0', '/a/1', '/a/0')).toEqual([200, 200, 429])
  })
})

test.for([
  ['_Users', 'list'],
  ['Users', '$list'],
  ['Üser', 'übersicht'],
  ['', 'list'],
])('a class %j and a method %j that cannot be names have one', async ([name, method]) => {
  warnings()
  const app = await start({
    imports: [RateLimitModule.forRoot(perHandler)],
    controllers: [controller(name as string, 'a', [method as string, 'other'])],
  })
  expect(await app.statuses('/a/0', '/a/1', '/a/0', '/a/1')).toEqual([200, 200, 429, 429])
})

test('a name that the user has given is not changed, but refused', async () => {
  const name = 'a'.repeat(65)
  const controllers = [controller('Users', 'a', ['list'], RateLimit({ name, policy: once }))]
  await expect(
    start({ imports: [RateLimitModule.forRoot({})], controllers }),
  ).rejects.toMatchObject({ code: 'WEIR_INVALID_NAME' })
})

describe('two classes of one name', () => {
  const users = (path: string, ...decorators: Parameters<typeof controller>[3][]) =>
    controller('Users', path, ['list'], ...decorators)
  const inModules = (...decorators: Parameters<typeof controller>[3][]) => [
    moduleNamed('AdminModule', { controllers: [users('admin', ...decorators)] }),
    moduleNamed('PublicModule', { controllers: [users('public', ...decorators)] }),
  ]

  test.for([
    ['perHandler', RateLimitModule.forRoot(perHandler), [], '.list.default'],
    ['decorators', RateLimitModule.forRoot({}), [RateLimit(once)], '.list'],
  ] as const)('%s: are distinguished by their modules', async ([, limits, decorators, ending]) => {
    const modules = inModules(...decorators)
    // Whatever the order of imports.
    for (const imports of [modules, [...modules].reverse()]) {
      const app = await start({ imports: [limits, ...imports] })
      expect(await app.statuses('/admin/0', '/public/0', '/admin/0')).toEqual([200, 200, 429])
      const { name } = app.app.get(RateLimits).get(`AdminModule.Users${ending}`)
      expect(name).toBe(`AdminModule.Users${ending}`)
    }
  })

  test('in one module: the application does not start', async () => {
    const imports = [RateLimitModule.forRoot(perHandler)]
    await expect(start({ imports, controllers: [users('a'), users('b')] })).rejects.toMatchObject({
      code: 'WEIR_NAME_CLASH',
      message: expect.stringMatching(/"Users\.list\.default".*@RateLimit\(\{ name/),
    })
  })

  test('one of which has no handler: the other keeps its name', async () => {
    const service = { Users: class {} }.Users as new () => object
    const app = await start({
      imports: [RateLimitModule.forRoot(perHandler)],
      controllers: [users('a')],
      providers: [service],
    })
    expect(app.app.get(RateLimits).get('Users.list.default').name).toBe('Users.list.default')
  })

  test('a class in several modules is one', async () => {
    const shared = users('a')
    const imports = [
      RateLimitModule.forRoot(perHandler),
      moduleNamed('One', { controllers: [shared] }),
      moduleNamed('Two', { controllers: [shared] }),
    ]
    const app = await start({ imports })
    expect(app.app.get(RateLimits).get('Users.list.default').name).toBe('Users.list.default')
  })
})

test('an application of 600 handlers starts, and a wrong name lists only some of them', async () => {
  const controllers = Array.from({ length: 30 }, (_, i) =>
    controller(
      `Things${i}`,
      `things${i}`,
      Array.from({ length: 20 }, (_, method) => `method${method}`),
    ),
  )
  const app = await start({ imports: [RateLimitModule.forRoot(perHandler)], controllers })
  const limits = app.app.get(RateLimits)
  expect(limits.all().length).toBe(601)
  expect(() => limits.get('typo')).toThrow(/"typo"; there are default, .* and 581 more \(see /)
})

/** The texts of warnings of short names, which a test expects. */
function warnings(): readonly string[] {
  const texts: string[] = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((
    text: string,
    { code }: { code?: string },
  ) => {
    if (code === 'WEIR_SHORT_NAME') texts.push(text)
  }) as typeof process.emitWarning)
  onTestFinished(() => warn.mockRestore())
  return texts
}

describe('classes whose names a minifier has made', () => {
  const named = RateLimit({ name: 'reports', policy: once })
  const changed = RateLimit({ limit: 2 })
  const inClass = (name: string, decorator: ClassDecorator) => {
    const made = controller(name, 'x', ['list'])
    decorator(made)
    return made
  }

  test.for<[string, RateLimitModuleOptions, () => new () => object, string | undefined]>([
    ['perHandler', perHandler, () => controller('a', 'x', ['list']), '"a"'],
    ['a method', {}, () => controller('b', 'x', ['list'], RateLimit(once)), '"b"'],
    ['a class', {}, () => inClass('c', RateLimit(once)), '"c"'],
    [
      'another limit',
      { limit: 1, window: '1h' },
      () => controller('d', 'x', ['list'], changed),
      '"d"',
    ],
    [
      'an override',
      { policies: { short: once }, defaults: ['short'] },
      () => controller('$e', 'x', ['list'], RateLimit({ override: { short: { policy: once } } })),
      '"$e"',
    ],
    ['a name', {}, () => controller('f', 'x', ['list'], named), undefined],
    [
      'one limit for all',
      { limit: 1, window: '1h' },
      () => controller('g', 'x', ['list']),
      undefined,
    ],
    ['a whole name', perHandler, () => controller('Abc', 'x', ['list']), undefined],
  ])(
    '%s: are named in a warning, where limiters are named after them',
    async ([, options, make, name]) => {
      const texts = warnings()
      await start({ imports: [RateLimitModule.forRoot(options)], controllers: [make()] })
      if (name === undefined) expect(texts).toEqual([])
      else expect(texts).toEqual([expect.stringContaining(`a minifier's: ${name}; `)])
    },
  )

  test('many of them: cause one warning, with the first', async () => {
    const texts = warnings()
    const controllers = ['h', 'i', 'j', 'k', 'l', 'm'].map((name) =>
      controller(name, name, ['list']),
    )
    await start({ imports: [RateLimitModule.forRoot(perHandler)], controllers })
    expect(texts).toEqual([expect.stringContaining(': "h", "i", "j", "k", "l" and others; ')])
  })
})
