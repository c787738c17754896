import 'reflect-metadata'
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis'
import {
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express'
import {
  SkipThrottle,
  Throttle,
  type ThrottlerAsyncOptions,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
  type ThrottlerOptions,
} from '@nestjs/throttler'
import {
  lockout,
  type NestRequest,
  type Policy,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
  redisStore,
  SkipRateLimit,
} from '@weir/nest'
import { expect, test } from 'vitest'
import { type Ask, compare, type Rows, type Start } from './compare.js'

type ThereOptions = Exclude<ThrottlerModuleOptions, unknown[]>
type There = Partial<ThereOptions> & Application<ThrottlerGuard, ThrottlerAsyncOptions>
type Here = Partial<RateLimitModuleOptions> &
  Application<RateLimitGuard, Parameters<typeof RateLimitModule.forRootAsync<NestRequest>>[0]>

type Mark = ClassDecorator & MethodDecorator

interface Application<Guard, Async> {
  /** Decorators of the controller, and of its handlers `/a` and `/b`. */
  readonly on?: { readonly all?: Mark; readonly a?: Mark; readonly b?: Mark }
  readonly guard?: Type<Guard>
  readonly async?: Async
  /** Express's `trust proxy`. */
  readonly trust?: number
}

/** Without other options, both allow one request a minute. */
function startThere({ on, guard = ThrottlerGuard, async, trust, ...options }: There): Start {
  const throttlers = [{ limit: 1, ttl: 60_000 }]
  const module = async
    ? ThrottlerModule.forRootAsync(async)
    : ThrottlerModule.forRoot({ throttlers, ...options })
  return serve([module], [{ provide: APP_GUARD, useClass: guard }], on, trust)
}

function startHere({ on, guard, async, trust, ...options }: Here): Start {
  const isGiven = 'policies' in options || 'policy' in options
  const allowed = isGiven ? {} : { limit: 1, window: '1m' }
  const module = async
    ? RateLimitModule.forRootAsync(async)
    : RateLimitModule.forRoot({ ...allowed, ...options, guard } as Parameters<
        typeof RateLimitModule.forRoot<NestRequest>
      >[0])
  return serve([module], [], on, trust)
}

async function serve(
  imports: NonNullable<ModuleMetadata['imports']>,
  providers: NonNullable<ModuleMetadata['providers']>,
  { all, a, b }: NonNullable<There['on']> = {},
  trust = 0,
): Start {
  class Cats {
    a() {
      return 'ok'
    }
    b() {
      return 'ok'
    }
  }
  Controller()(Cats)
  all?.(Cats)
  for (const [name, mark] of Object.entries({ a, b })) {
    const method = Object.getOwnPropertyDescriptor(Cats.prototype, name) as PropertyDescriptor
    Get(name)(Cats.prototype, name, method)
    mark?.(Cats.prototype, name, method)
  }
  class AppModule {}
  Module({ imports, providers, controllers: [Cats] })(AppModule)
  const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule,
    new ExpressAdapter(),
    options,
  )
  app.set('trust proxy', trust)
  await app.listen(0, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close() }
}

const a: Ask = { path: '/a' }
const b: Ask = { path: '/b' }
const from = (address: string): Ask => ({ ...a, headers: { 'x-forwarded-for': address } })
const by = (user: string): Ask => ({ ...a, headers: { user } })
const agent = (name: string): Ask => ({ ...a, headers: { 'user-agent': name } })
const after = (seconds: number): Ask => ({ ...a, after: seconds * 1_000 })
const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest()
// biome-ignore lint/suspicious/noExplicitAny: requests of either framework
const userOf = (req: any): string => req.headers.user ?? 'nobody'

const LEGACY = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
const BOTS = [/bot/]
const isBot = (req: NestRequest) => /bot/.test(req.headers['user-agent'])

const one = (more: Partial<ThrottlerOptions>): There => ({
  throttlers: [{ limit: 1, ttl: 60_000, ...more }],
})
/** The equivalent of a `ttl` of one minute with a `blockDuration`. */
const blocking = (limit: number, ms: number) =>
  lockout({ limit, window: '1m', block: [ms], forget: ms, starts: 'excess' })
const named = (name: string, limit: number, ttl: number): ThrottlerOptions => ({ name, limit, ttl })
const twoThere = { throttlers: [named('short', 1, 1_000), named('long', 2, 60_000)] }
const twoHere: Here = {
  policies: {
    short: { limit: 1, window: 1_000, perHandler: true },
    long: { limit: 2, window: 60_000, perHandler: true },
  },
  defaults: ['short', 'long'],
}

/** An option that a throttler and the whole module may have. */
const shared = {
  ignoreUserAgents: {
    here: { skip: isBot },
    asks: [a, agent('a bot'), a],
    seen: ['200', '200', '429'],
  },
  skipIf: {
    here: { skip: (req) => userOf(req) === 'ann' },
    asks: [a, by('ann'), a],
    seen: ['200', '200', '429'],
  },
  getTracker: {
    here: { key: async (req) => userOf(req) },
    asks: [by('ann'), by('bob'), by('ann')],
    seen: ['200', '200', '429'],
  },
  setHeaders: {
    here: { headers: false },
    asks: [a, a],
    look: LEGACY,
    seen: ['200 | none | none | none | none', '429 | none | none | none | none'],
    differs: 'Retry-After is always sent, or clients come back too early',
    seenHere: ['200 | none | none | none | none', '429 | none | none | none | 60'],
  },
} satisfies Record<string, Omit<Extract<Rows<There, Here>, { seen: unknown }>, 'there'>>

const isAnn = (context: ExecutionContext) => userOf(requestOf(context)) === 'ann'

const throttlers: Record<`throttlers: ${keyof ThrottlerOptions}`, Rows<There, Here>> = {
  'throttlers: name': [
    {
      there: twoThere,
      here: twoHere,
      asks: [a, a, after(1), after(1)],
      seen: ['200', '429', '200', '429'],
    },
    {
      title: 'in headers',
      there: twoThere,
      here: { ...twoHere, headers: 'legacy-delta' },
      asks: [a, a],
      look: ['x-ratelimit-limit-short', 'x-ratelimit-limit', 'retry-after-short', 'retry-after'],
      seen: ['200 | 1 | none | none | none', '429 | none | none | 1 | none'],
      differs: 'no client reads a Retry-After-short; there is one set, of the policy that binds',
      seenHere: ['200 | none | 1 | none | none', '429 | none | 1 | none | 1'],
    },
  ],
  'throttlers: limit': [
    {
      there: one({ limit: 2 }),
      here: { limit: 2, window: '1m' },
      asks: [a, a, a],
      seen: ['200', '200', '429'],
    },
    {
      title: 'of two handlers',
      there: {},
      here: {},
      asks: [a, b, a],
      seen: ['200', '200', '429'],
      differs: 'a limit of the application is of the application, not of each handler',
      seenHere: ['200', '429', '429'],
    },
    {
      title: 'of two handlers, each by itself',
      there: {},
      here: { perHandler: true },
      asks: [a, b, a],
      seen: ['200', '200', '429'],
    },
    {
      title: 'a function',
      there: one({ limit: (context) => (isAnn(context) ? 2 : 1) }),
      here: { limit: (req) => (userOf(req) === 'ann' ? 2 : 1), window: '1m' },
      asks: [by('ann'), by('ann'), by('ann')],
      seen: ['200', '200', '429'],
    },
  ],
  'throttlers: ttl': {
    title: 'a function',
    there: one({ ttl: async (context) => (isAnn(context) ? 30_000 : 60_000) }),
    here: { limit: 1, window: async (req) => (userOf(req) === 'ann' ? 30_000 : 60_000) },
    asks: [by('ann'), by('ann'), { ...by('ann'), after: 30_000 }],
    seen: ['200', '429', '200'],
  },
  'throttlers: blockDuration': [
    {
      title: 'by default',
      there: {},
      here: { policy: blocking(1, 60_000) },
      asks: [a, after(30), after(30), after(30)],
      seen: ['200', '429', '429', '200'],
    },
    {
      title: 'by default, in a limit and window',
      there: {},
      here: {},
      asks: [a, after(30), after(30), after(30)],
      seen: ['200', '429', '429', '200'],
      differs: 'a refusal begins a wait only in a lock-out that starts with the excess',
      seenHere: ['200', '429', '200', '429'],
    },
    {
      title: '0',
      there: one({ blockDuration: 0 }),
      here: {},
      asks: [a, after(30), after(30), after(30)],
      seen: ['200', '429', '200', '429'],
    },
    {
      title: 'longer than the window',
      there: one({ blockDuration: 300_000 }),
      here: { policy: blocking(1, 300_000) },
      asks: [a, a, after(60), after(239), after(1), a],
      seen: ['200', '429', '429', '429', '200', '429'],
    },
    {
      title: 'around the end of a window',
      there: one({ limit: 2, blockDuration: 300_000 }),
      here: { policy: blocking(2, 300_000) },
      asks: [a, after(59), after(1), a, a],
      seen: ['200', '200', '200', '429', '429'],
      differs: 'a window begins with its first request; there, each request counts for a ttl',
      seenHere: ['200', '200', '200', '200', '429'],
    },
    {
      title: 'of a client that asks on, in Redis',
      there: ({ redis }) => ({ storage: new ThrottlerStorageRedisService(redis) }),
      here: { policy: blocking(1, 60_000) },
      asks: Array.from({ length: 8 }, () => after(30)),
      seen: ['200', '429', '429', '429', '429', '429', '429', '429'],
      differs: 'there, what is refused counts, and begins the next wait',
      seenHere: ['200', '429', '429', '200', '429', '429', '200', '429'],
    },
  ],
  'throttlers: ignoreUserAgents': {
    there: one({ ignoreUserAgents: BOTS }),
    ...shared.ignoreUserAgents,
  },
  'throttlers: skipIf': { there: one({ skipIf: isAnn }), ...shared.skipIf },
  'throttlers: getTracker': { there: one({ getTracker: userOf }), ...shared.getTracker },
  'throttlers: generateKey': {
    there: one({ generateKey: (_context, tracker) => tracker }),
    here: {},
    asks: [a, b, a],
    seen: ['200', '429', '429'],
  },
  'throttlers: setHeaders': { there: one({ setHeaders: false }), ...shared.setHeaders },
}

const forRoot: Record<`forRoot: ${keyof ThereOptions}`, Rows<There, Here>> = {
  'forRoot: throttlers': {
    there: { throttlers: [] },
    here: { policies: {} },
    asks: [a, a],
    seen: ['200', '200'],
  },
  'forRoot: ignoreUserAgents': { there: { ignoreUserAgents: BOTS }, ...shared.ignoreUserAgents },
  'forRoot: skipIf': { there: { skipIf: isAnn }, ...shared.skipIf },
  'forRoot: getTracker': { there: { getTracker: userOf }, ...shared.getTracker },
  'forRoot: generateKey': {
    there: { generateKey: (_context, tracker, name) => `${name} ${tracker}` },
    here: {},
    asks: [a, b],
    seen: ['200', '429'],
  },
  'forRoot: setHeaders': [
    {
      title: 'by default',
      there: {},
      here: { headers: 'legacy-delta' },
      asks: [a, a],
      look: LEGACY,
      seen: ['200 | 1 | 0 | 60 | none', '429 | none | none | none | 60'],
      differs: 'refusals have the headers, too',
      seenHere: ['200 | 1 | 0 | 60 | none', '429 | 1 | 0 | 60 | 60'],
    },
    { there: { setHeaders: false }, ...shared.setHeaders },
  ],
  'forRoot: errorMessage': [
    {
      title: 'none',
      there: {},
      here: { name: 'api' },
      asks: [a, a],
      look: ['content-type', 'body'],
      seen: [
        '200 | text/html;charset=utf-8 | ok',
        '429 | application/json;charset=utf-8 | {"statusCode":429,"message":"ThrottlerException: Too Many Requests"}',
      ],
      differs: 'a problem document, as other programs send',
      seenHere: [
        '200 | text/html;charset=utf-8 | ok',
        '429 | application/problem+json | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"Try again in 60 seconds.","violated-policies":["api"]}',
      ],
    },
    {
      title: 'a function',
      there: { errorMessage: (_context, { limit }) => `Only ${limit}` },
      here: { body: ({ limit }) => ({ statusCode: 429, message: `Only ${limit}` }) },
      asks: [a, a],
      look: ['body'],
      seen: ['200 | ok', '429 | {"statusCode":429,"message":"Only 1"}'],
    },
  ],
  'forRoot: storage': {
    there: ({ redis }) => ({ storage: new ThrottlerStorageRedisService(redis) }),
    here: ({ redis }) => ({ store: redisStore(redis, { deadlineMs: 20_000 }) }),
    asks: [a, a],
    seen: ['200', '429'],
  },
  'forRoot: ipv6SubnetPrefix': [
    {
      title: 'by default',
      there: { trust: 1 },
      here: { trust: 1 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:3::1')],
      seen: ['200', '200'],
      differs: 'the default is 56, as a site often has that much',
      seenHere: ['200', '429'],
    },
    {
      there: { trust: 1, ipv6SubnetPrefix: 48 },
      here: { trust: 1, ipv6Prefix: 48 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:3::1'), from('2001:db8:2:2::1')],
      seen: ['200', '429', '200'],
    },
  ],
}

type Throttled = NonNullable<Parameters<typeof Throttle>[0][string]>
const throttled = (more: Throttled): There => ({ on: { a: Throttle({ default: more }) } })

const decorators: Record<`@Throttle: ${keyof Throttled}`, Rows<There, Here>> = {
  '@Throttle: limit': [
    {
      there: throttled({ limit: 2 }),
      here: { on: { a: RateLimit({ limit: 2 }) } },
      asks: [a, b, a, b, a],
      seen: ['200', '200', '200', '429', '429'],
    },
    {
      title: 'of one of several',
      there: { ...twoThere, on: { a: Throttle({ short: { limit: 2 } }) } },
      here: { ...twoHere, on: { a: RateLimit({ override: { short: { limit: 2 } } }) } },
      asks: [a, a, after(1)],
      seen: ['200', '200', '429'],
    },
    {
      title: 'of a class',
      there: { on: { all: Throttle({ default: { limit: 2, ttl: 60_000 } }) } },
      here: { on: { all: RateLimit({ limit: 2, window: '1m' }) } },
      asks: [a, b, a, b],
      seen: ['200', '200', '200', '200'],
      differs: 'a limit of a class is of the class, not of each of its handlers',
      seenHere: ['200', '200', '429', '429'],
    },
  ],
  '@Throttle: ttl': {
    there: throttled({ ttl: 30_000 }),
    here: { on: { a: RateLimit({ window: 30_000 }) } },
    asks: [a, a, after(30)],
    seen: ['200', '429', '200'],
  },
  '@Throttle: blockDuration': {
    there: throttled({ blockDuration: 300_000 }),
    here: { on: { a: RateLimit(blocking(1, 300_000)) } },
    asks: [a, a, after(60), after(240)],
    seen: ['200', '429', '429', '200'],
  },
  '@Throttle: getTracker': {
    there: throttled({ getTracker: userOf }),
    here: { on: { a: RateLimit({ key: userOf }) } },
    asks: [by('ann'), by('bob'), by('ann')],
    seen: ['200', '200', '429'],
  },
  '@Throttle: generateKey': {
    there: {
      on: {
        a: Throttle({ default: { generateKey: () => 'both' } }),
        b: Throttle({ default: { generateKey: () => 'both' } }),
      },
    },
    here: {
      policies: { both: { limit: 1, window: '1m', key: () => 'both' } },
      on: { a: RateLimit('both'), b: RateLimit('both') },
    },
    asks: [by('ann'), b],
    seen: ['200', '429'],
  },
}

const skips: Record<string, Rows<There, Here>> = {
  '@SkipThrottle': [
    {
      there: { on: { a: SkipThrottle() } },
      here: { on: { a: SkipRateLimit() } },
      asks: [a, a, b, b],
      seen: ['200', '200', '200', '429'],
    },
    {
      title: 'of several',
      there: { ...twoThere, on: { a: SkipThrottle() } },
      here: { ...twoHere, on: { a: SkipRateLimit() } },
      asks: [a, a],
      seen: ['200', '429'],
      differs: 'bare, it skips all, whatever they are called',
      seenHere: ['200', '200'],
    },
    {
      title: 'of one of several',
      there: { ...twoThere, on: { a: SkipThrottle({ short: true }) } },
      here: { ...twoHere, on: { a: SkipRateLimit('short') } },
      asks: [a, a, a],
      seen: ['200', '200', '429'],
    },
    {
      title: 'false, in a class that skips',
      there: { on: { all: SkipThrottle(), a: SkipThrottle({ default: false }) } },
      here: { on: { all: SkipRateLimit(), a: RateLimit('default') } },
      asks: [b, b, a, a],
      seen: ['200', '200', '200', '429'],
    },
  ],
}

class Settings implements RateLimitOptionsFactory {
  readonly limit = 2
  createThrottlerOptions() {
    return [{ limit: this.limit, ttl: 60_000 }]
  }
  createRateLimitOptions(): RateLimitModuleOptions {
    return { limit: this.limit, window: '1m' }
  }
}
class SettingsModule {}
Module({ providers: [Settings], exports: [Settings] })(SettingsModule)

function asynchronous(
  there: ThrottlerAsyncOptions,
  here: NonNullable<Here['async']>,
): Rows<There, Here> {
  return {
    there: { async: there },
    here: { async: here },
    asks: [a, a, a],
    seen: ['200', '200', '429'],
  }
}

const injected = { imports: [SettingsModule], inject: [Settings] }
const byFactory = asynchronous(
  { ...injected, useFactory: (settings: Settings) => settings.createThrottlerOptions() },
  { ...injected, useFactory: (settings: Settings) => settings.createRateLimitOptions() },
)
const existing = { imports: [SettingsModule], useExisting: Settings }

const forRootAsync: Record<`forRootAsync: ${keyof ThrottlerAsyncOptions}`, Rows<There, Here>> = {
  'forRootAsync: useFactory': byFactory,
  'forRootAsync: inject': byFactory,
  'forRootAsync: imports': byFactory,
  'forRootAsync: useExisting': asynchronous(existing, existing),
  'forRootAsync: useClass': asynchronous({ useClass: Settings }, { useClass: Settings }),
}

const guards: Record<string, Rows<There, Here>> = {
  'ThrottlerGuard: shouldSkip': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override async shouldSkip(context: ExecutionContext) {
          return isAnn(context)
        }
      },
    },
    here: { skip: async (req) => userOf(req) === 'ann' },
    asks: [a, by('ann'), a],
    seen: ['200', '200', '429'],
  },
  'ThrottlerGuard: handleRequest': {
    there: ({ note }) => ({
      guard: class extends ThrottlerGuard {
        protected override handleRequest(request: Parameters<ThrottlerGuard['handleRequest']>[0]) {
          note(`asked for ${request.throttler.name}`)
          return super.handleRequest(request)
        }
      },
    }),
    here: ({ note }) => ({ onDecision: ({ limiter }) => note(`asked for ${limiter}`) }),
    asks: [a, a],
    seen: ['200 | asked for default', '429 | asked for default'],
  },
  'ThrottlerGuard: getTracker': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override async getTracker(req: object) {
          return userOf(req)
        }
      },
    },
    ...shared.getTracker,
  },
  'ThrottlerGuard: generateKey': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override generateKey(_context: ExecutionContext, tracker: string, name: string) {
          return `${name} ${tracker}`
        }
      },
    },
    here: {},
    asks: [a, b],
    seen: ['200', '429'],
  },
  'ThrottlerGuard: getRequestResponse': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override getRequestResponse(context: ExecutionContext) {
          const { req, res } = super.getRequestResponse(context)
          return { req: { ...req, ip: userOf(req) }, res }
        }
      },
    },
    here: {
      guard: class extends RateLimitGuard {
        protected override lookUp(context: ExecutionContext) {
          const looked = super.lookUp(context)
          return { ...looked, request: { ...looked.request, ip: userOf(looked.request) } }
        }
      },
    },
    asks: [by('192.0.2.1'), by('192.0.2.2'), by('192.0.2.1')],
    seen: ['200', '200', '429'],
  },
  'ThrottlerGuard: throwThrottlingException': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override async throwThrottlingException(): Promise<void> {
          throw new HttpException('No', 503)
        }
      },
    },
    here: {
      guard: class extends RateLimitGuard {
        protected override exception() {
          return new HttpException('No', 503)
        }
      },
    },
    asks: [a, a],
    look: ['body', 'retry-after'],
    seen: ['200 | ok | none', '503 | {"statusCode":503,"message":"No"} | 60'],
  },
  'ThrottlerGuard: getErrorMessage': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override async getErrorMessage(context: ExecutionContext) {
          return `Slow down, ${userOf(requestOf(context))}`
        }
      },
    },
    here: { body: (_decision, req) => ({ statusCode: 429, message: `Slow down, ${userOf(req)}` }) },
    asks: [a, a],
    look: ['body'],
    seen: ['200 | ok', '429 | {"statusCode":429,"message":"Slow down, nobody"}'],
  },
  'ThrottlerGuard: setResponseHeader': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override setResponseHeader() {}
      },
    },
    ...shared.setHeaders,
  },
  'ThrottlerGuard: headerPrefix': {
    there: {
      guard: class extends ThrottlerGuard {
        protected override headerPrefix = 'Quota'
      },
    },
    here: { headers: 'legacy-delta' },
    asks: [a],
    look: ['quota-limit', 'x-ratelimit-limit'],
    seen: ['200 | 1 | none'],
    differs: 'the names are fixed, so that clients know them',
    seenHere: ['200 | none | 1'],
  },
}

const ALWAYS = ['limit', 'window', 'name', 'on', 'trust', 'async', 'policies', 'defaults']
const uses = (setUp: Here) => {
  const isLockout = (setUp.policy as Partial<Policy> | undefined)?.algorithm === 'lockout'
  const names = Object.keys(setUp).filter((name) => !ALWAYS.includes(name))
  return isLockout ? [...names, 'lockout', 'starts'] : names
}

const rows = { ...throttlers, ...forRoot, ...decorators, ...skips, ...forRootAsync, ...guards }
compare<There, Here>({ from: '@nestjs/throttler', rows, startThere, startHere, uses })

test('no method of ThrottlerGuard that may be overridden is missing', () => {
  const own = ['constructor', 'onModuleInit', 'canActivate', 'toNumber', 'resolveValue']
  const found = Object.getOwnPropertyNames(ThrottlerGuard.prototype)
  const names = Object.keys(guards).map((name) => name.replace('ThrottlerGuard: ', ''))
  expect(names).toEqual(expect.arrayContaining(found.filter((name) => !own.includes(name))))
})
