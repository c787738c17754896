// Handlers that something wraps: tracers wrap what Nest calls, and decorators replace methods. In
// internal/behaviour/majors/nest11/test/tracers.test.ts, the real tracers do.

import { Controller, Get } from '@nestjs/common'
import { RouterExecutionContext } from '@nestjs/core/router/router-execution-context.js'
import {
  fixedWindow,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimits,
  SkipRateLimit,
} from '@weir/nest'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Running, start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const twice = fixedWindow({ limit: 2, window: '1h' })

type Handler = (...args: unknown[]) => unknown

function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.getMetadataKeys(from))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to)
}

/** Replaces a method by an anonymous function, as many decorators do. */
function Replaced(): MethodDecorator {
  return (_, __, descriptor) => {
    const original = descriptor.value as Handler
    const of = [
      function (this: unknown, ...args: unknown[]) {
        return original.apply(this, args)
      },
    ]
    copyMetadata(original, of[0] as Handler)
    descriptor.value = of[0] as never
  }
}

/** As OpenTelemetry and Sentry do: each wraps what Nest hands to its router. */
function tracing(isCopying: boolean): void {
  const { prototype } = RouterExecutionContext
  const { create } = prototype
  const traced = function (this: RouterExecutionContext, ...args: Parameters<typeof create>) {
    const callback = args[1] as Handler
    const of = [
      function (this: unknown, ...given: unknown[]) {
        return callback.apply(this, given)
      },
    ]
    const wrapped = of[0] as Handler
    if (isCopying) {
      if (callback.name) Object.defineProperty(wrapped, 'name', { value: callback.name })
      copyMetadata(callback, wrapped)
    }
    args[1] = wrapped
    return create.apply(this, args)
  }
  prototype.create = traced as typeof create
  onTestFinished(() => {
    prototype.create = create
  })
}

@Controller('above')
class Above {
  @RateLimit(once) @Replaced() @Get('limited') limited() {}
  @SkipRateLimit() @Replaced() @Get('free') free() {}
  @RateLimit({ override: { api: { policy: once } } }) @Replaced() @Get('other') other() {}
  @Replaced() @Get('plain') plain() {}
}

@Controller('below')
class Below {
  @Replaced() @RateLimit(once) @Get('limited') limited() {}
  @Replaced() @SkipRateLimit() @Get('free') free() {}
  @Replaced() @RateLimit({ override: { api: { policy: once } } }) @Get('other') other() {}
  @Replaced() @Get('plain') plain() {}
}

const api = { policies: { api: twice }, defaults: ['api'] } as const

/** How many of four requests pass. */
async function passed({ statuses }: Running, path: string): Promise<number> {
  return (await statuses(path, path, path, path)).filter((status) => status === 200).length
}

function started(options: RateLimitModuleOptions, ...controllers: (new () => object)[]) {
  return start({ imports: [RateLimitModule.forRoot(options)], controllers })
}

describe.each([
  ['nothing else', undefined],
  ['a tracer', true],
] as const)('methods that are replaced by anonymous functions, under %s', (_, copies) => {
  test.each([
    ['above', Above],
    ['below', Below],
  ] as const)('keep the decorators that stand %s it', async (path, controller) => {
    if (copies) tracing(true)
    const app = await started(api, controller)
    expect(await passed(app, `/${path}/limited`)).toBe(1)
    expect(await passed(app, `/${path}/free`)).toBe(4)
    expect(await passed(app, `/${path}/other`)).toBe(1)
    expect(await passed(app, `/${path}/plain`)).toBe(2)
    const limits = app.app.get(RateLimits)
    const of = limits.of(controller, controller.prototype.limited)
    expect(of.map(({ names }) => names.limiter)).toEqual([`${controller.name}.limited`])
  })

  test('count each for itself with perHandler', async () => {
    if (copies) tracing(true)
    @Controller()
    class Each {
      @Replaced() @Get('one') one() {}
      @Replaced() @Get('two') two() {}
    }
    const app = await started({ policy: once, perHandler: true }, Each)
    expect(await passed(app, '/one')).toBe(1)
    expect(await passed(app, '/two')).toBe(1)
  })
})

describe('a tracer that copies neither metadata nor name', () => {
  test.each<[string, RateLimitModuleOptions, new () => object]>([
    ['@RateLimit or @SkipRateLimit', api, Above],
    [
      'perHandler',
      { policy: once, perHandler: true },
      (() => {
        @Controller('above')
        class Handlers {
          @Get('limited') limited() {}
        }
        return Handlers
      })(),
    ],
  ])('makes calls fail, where %s would be lost', async (_, options, controller) => {
    tracing(false)
    const app = await started(options, controller)
    expect(await app.statuses('/above/limited')).toEqual([500])
    const limits = app.app.get(RateLimits)
    expect(() => limits.of(controller, () => {})).toThrow(
      expect.objectContaining({ code: 'WEIR_NOT_ENFORCED' }),
    )
  })

  test('loses no limit of the module or of the class', async () => {
    tracing(false)
    @Controller('module')
    class OfModule {
      @Get() get() {}
    }
    @RateLimit(once)
    @Controller('class')
    class OfClass {
      @Get() get() {}
    }
    @SkipRateLimit()
    @Controller('free')
    class Free {
      @Get() get() {}
    }
    const app = await started({ policy: twice }, OfModule, OfClass, Free)
    expect(await passed(app, '/module')).toBe(2)
    expect(await passed(app, '/class')).toBe(1)
    expect(await passed(app, '/free')).toBe(4)
  })
})

test('two methods that are one function keep the application from starting, if one is decorated', async () => {
  const twin = (isDecorated: boolean) => {
    @Controller()
    class Twins {
      @Get() first() {}
      declare second: () => void
    }
    Twins.prototype.second = Twins.prototype.first
    const descriptor = Object.getOwnPropertyDescriptor(Twins.prototype, 'first') as never
    if (isDecorated) RateLimit(once)(Twins.prototype, 'first', descriptor)
    return Twins
  }
  await expect(started({}, twin(true))).rejects.toMatchObject({
    code: 'WEIR_NOT_ENFORCED',
    message: expect.stringMatching(/^Twins\.first and Twins\.second are one function/),
  })
  expect(await passed(await started({ policy: once }, twin(false)), '/')).toBe(1)
})
