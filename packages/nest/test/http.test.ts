// HTTP: what clients get, what exception filters see, and who the client is.

import type { ServerResponse } from 'node:http'
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  ForbiddenException,
  Get,
  HttpException,
  type INestApplication,
  Res,
  UseFilters,
} from '@nestjs/common'
import { APP_FILTER, ApplicationConfig } from '@nestjs/core'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimits,
  type Refusal,
  type RequestDecision,
  tokenBucket,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { describe, expect, test, vi } from 'vitest'
import { type StartOptions, start } from './app.js'

const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })
const thrice = fixedWindow({ name: 'thrice', limit: 3, window: '1h' })

@Controller()
class Plain {
  @Get() get() {
    return 'hello'
  }
  @Get('fails') fails() {
    throw new ForbiddenException()
  }
  @Get('decision') decision(@RateLimitDecision() decision: RequestDecision) {
    return { remaining: decision.remaining, all: decision.all.length }
  }
  @Get('cost') @RateLimit({ policy: once, cost: (req) => Number(req.query.cost) }) cost() {}
}

@Controller()
class Begun {
  @Get('begun') begun(@Res() response: { raw?: ServerResponse } & ServerResponse) {
    ;(response.raw ?? response).end('ended')
  }
}

@Controller()
class Keyed {
  @Get('keyed') @RateLimit({ policy: once, key: () => 'k' }) keyed() {}
}

function started(
  options: RateLimitModuleOptions,
  more: StartOptions & { controllers?: (new () => object)[] } = {},
) {
  const store = memoryStore({ clock: fakeClock() })
  const imports = [RateLimitModule.forRoot({ store, ...options })]
  return start({ imports, controllers: more.controllers ?? [Plain] }, more)
}

test('a response to an allowed request says what is left, even if the handler throws', async () => {
  const app = await started({ policy: thrice, headers: ['draft-8', 'legacy-delta'] })
  for (const [path, status, left] of [
    ['/', 200, 2],
    ['/fails', 403, 1],
  ] as const) {
    const response = await app.get(path)
    expect(response.status).toBe(status)
    expect(response.headers.get('RateLimit')).toBe(`"thrice";r=${left};t=3600`)
    expect(response.headers.get('RateLimit-Policy')).toBe('"thrice";q=3;w=3600')
    expect(response.headers.get('X-RateLimit-Remaining')).toBe(String(left))
  }
})

test('a decorator with its own key works with the module’s ipv6Prefix', async () => {
  const app = await started({ policy: thrice, ipv6Prefix: 64 }, { controllers: [Keyed] })
  expect([(await app.get('/keyed')).status, (await app.get('/keyed')).status]).toEqual([200, 429])
})

test('a response that has begun is not written to, and ends if its request is refused', async () => {
  const begin = (_: unknown, res: ServerResponse, next: () => void): void => {
    res.write('begun ')
    next()
  }
  const { get } = await started(
    { policy: once },
    { controllers: [Begun], prepare: (app) => void app.use(begin) },
  )
  const first = await get('/begun')
  expect([first.status, await first.text()]).toEqual([200, 'begun ended'])
  const second = get('/begun').then((response) => response.text())
  await expect(second).rejects.toThrow(/terminated|fetch failed/)
})

test('body, media type and status can be set', async () => {
  const app = await started({
    policy: once,
    status: 420,
    mediaType: 'text/plain',
    body: (decision, req, context) =>
      `calm down, ${req.ip}: ${decision.policy.name} of ${context.getClass().name}`,
  })
  await app.get('/')
  const response = await app.get('/')
  expect([response.status, response.headers.get('Content-Type')]).toEqual([420, 'text/plain'])
  expect(await response.text()).toBe('calm down, 127.0.0.1: once of Plain')
})

test('the decision is injected', async () => {
  const app = await started({ policy: thrice })
  expect(await (await app.get('/decision')).json()).toEqual({ remaining: 2, all: 1 })
})

test('a client on the allow list has no decision', async () => {
  @Controller()
  class One {
    @Get() get(@RateLimitDecision() decision?: RequestDecision) {
      return { decision: String(decision) }
    }
  }
  const app = await started({ policy: once, allow: ['127.0.0.0/8'] }, { controllers: [One] })
  for (let i = 0; i < 2; i += 1)
    expect(await (await app.get('/')).json()).toEqual({ decision: 'undefined' })
})

test('refundWhen refunds failed requests', async () => {
  const app = await started({
    policy: once,
    refundWhen: (req, { status }, context) =>
      status === 403 && req.url === '/fails' && context.getHandler().name === 'fails',
  })
  const limiter = app.app.get(RateLimits).get('default')
  for (let i = 0; i < 3; i += 1) {
    expect(await app.statuses('/fails')).toEqual([403])
    // The refund follows the end of the response, which the client may see earlier.
    await expect.poll(async () => (await limiter.peek('127.0.0.1')).remaining).toBe(1)
  }
  expect(await app.statuses('/', '/')).toEqual([200, 429])
})

describe('exception filters', () => {
  @Catch(HttpException)
  class Mine implements ExceptionFilter {
    catch(exception: HttpException, host: ArgumentsHost) {
      const decision = exception instanceof RateLimitException ? exception.decision : undefined
      const wait = decision?.allowed === false ? decision.retryAfterMs : undefined
      const response = host.switchToHttp().getResponse()
      response.status(exception.getStatus()).send({ mine: wait, body: exception.getResponse() })
    }
  }
  @Controller()
  @UseFilters(Mine)
  class Filtered {
    @Get() get() {}
  }

  test.for([
    ['of a controller', { controllers: [Filtered] }],
    [
      'of the application',
      {
        controllers: [Plain],
        prepare: (app: INestApplication) => void app.useGlobalFilters(new Mine()),
      },
    ],
    [
      'by APP_FILTER',
      { controllers: [Plain], providers: [{ provide: APP_FILTER, useClass: Mine }] },
    ],
  ] as const)('%s see it before the module does, and keep the headers', async ([, more]) => {
    const imports = [
      RateLimitModule.forRoot({ policy: once, store: memoryStore({ clock: fakeClock() }) }),
    ]
    const {
      controllers,
      providers = [],
      prepare,
    } = { providers: undefined, prepare: undefined, ...more }
    const app = await start(
      { imports, controllers: [...controllers], providers: [...(providers ?? [])] },
      prepare ? { prepare } : {},
    )
    await app.get('/')
    const response = await app.get('/')
    expect(response.status).toBe(429)
    expect(response.headers.get('Retry-After')).toBe('3600')
    expect(response.headers.get('RateLimit')).toBe('"once";r=0;t=3600')
    expect(response.headers.get('Content-Type')).toMatch('application/json')
    expect(await response.json()).toMatchObject({
      mine: 3_600_000,
      body: { title: 'Request cannot be satisfied as assigned quota has been exceeded' },
    })
  })

  test('onDenied may watch, and leave the exception to the guard', async () => {
    const watching = vi.fn(async () => 'whatever')
    const watched = await started({ policy: once, onDenied: watching })
    expect(await watched.statuses('/', '/')).toEqual([200, 429])
    expect(watching).toHaveBeenCalledTimes(1)
  })

  test('your own guard chooses what is thrown', async () => {
    class Own extends RateLimitGuard {
      protected override exception(refusal: Refusal): unknown {
        return new HttpException({ own: refusal.status }, 499)
      }
    }
    const imports = [RateLimitModule.forRoot({ policy: once, guard: Own })]
    const app = await start({ imports, controllers: [Plain] })
    await app.get('/')
    const response = await app.get('/')
    expect([response.status, await response.json()]).toEqual([499, { own: 429 }])
  })
})

describe('the names that clients see', () => {
  @Controller()
  @RateLimit({ limit: 2, window: '1h' })
  class Secret {
    @Get('class') class() {}
    @RateLimit({ limit: 1, window: '1h' }) @Get('method') method() {}
    @RateLimit.also(once) @Get('also') also() {}
    @RateLimit('search') @Get('search') search() {}
    @RateLimit('options') @Get('options') options() {}
    @RateLimit('mine') @Get('mine') mine() {}
  }
  const bucket = tokenBucket({ capacity: 1, refill: 1, every: '1h' })
  test.for([
    ['/class', '"group";q=2;w=3600'],
    ['/method', '"handler";q=1;w=3600'],
    ['/also', '"once";q=5;w=3600, "handler.once";q=1;w=3600'],
    ['/search', '"search";q=1;w=3600'],
    ['/options', '"options";q=1;w=3600'],
    ['/mine', '"once";q=1;w=3600'],
  ] as const)('%s: %s, and never those of classes and methods', async ([path, policies]) => {
    const imports = [
      RateLimitModule.forRoot({
        store: memoryStore({ clock: fakeClock() }),
        policy: fixedWindow({ name: 'once', limit: 5, window: '1h' }),
        policies: { search: bucket, options: { policy: bucket, cost: 1 }, mine: once },
      }),
    ]
    const app = await start({ imports, controllers: [Secret] })
    for (let i = 0; i < 3; i += 1) {
      const response = await app.get(path)
      expect(response.headers.get('RateLimit-Policy')).toBe(policies)
      const shown = [...response.headers, await response.text()].join('\n')
      expect(shown).not.toMatch(/Secret/)
    }
  })
})

test('no interceptor runs if nothing is asked after the guards', async () => {
  const { app } = await start({
    imports: [RateLimitModule.forRoot({ policy: once })],
    controllers: [Plain],
  })
  expect(app.get(ApplicationConfig).getGlobalInterceptors()).toEqual([])
})
