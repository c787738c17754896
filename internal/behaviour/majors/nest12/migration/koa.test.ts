import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { memoryStore, type RateLimitOptions, rateLimit, redisStore, slidingLog } from '@weir/koa'
import Koa, { type Context, type Middleware } from 'koa'
import rateLimitThere, { type Options } from 'koa-ratelimit'
import { expect, test } from 'vitest'
import { type Ask, compare, listen, type Rows, type Start, thrice } from './compare.js'

type There = Options & Server
type Here = Partial<RateLimitOptions> & Server

interface Server {
  /** A middleware before the limiter. */
  readonly before?: Middleware | undefined
  /** What the last middleware, or one that catches errors, answers with. */
  readonly reads?: ((ctx: Context) => unknown) | undefined
}

/** Without other options, both allow one request a minute. */
function startThere({ before, reads, ...options }: There): Start {
  const one = { driver: 'memory', db: new Map(), max: 1, duration: 60_000 }
  return serve(rateLimitThere({ ...one, ...options }), { before, reads })
}

function startHere({ before, reads, ...options }: Here): Start {
  const allowed = 'policy' in options ? {} : { limit: 1, window: '1m' }
  const limiter = rateLimit({ ...allowed, ...options } as RateLimitOptions)
  return serve(limiter, { before, reads })
}

function serve(limiter: Middleware, { before, reads = () => 'ok' }: Server): Start {
  const app = new Koa({ proxy: true, maxIpsCount: 1 })
  app.silent = true
  if (before) app.use(before)
  app.use(limiter)
  app.use((ctx) => {
    if (ctx.path === '/broken') ctx.throw(500)
    ctx.body = reads(ctx)
  })
  const listener = app.callback()
  return listen((req, res) => void listener(req, res))
}

const LEGACY = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
const from = (address: string): Ask => ({ headers: { 'x-forwarded-for': address } })
const by = (user: string): Ask => ({ headers: { user } })
const userOf = (ctx: Pick<Context, 'get'>) => ctx.get('user')

const CUT = 'Retry-After is rounded up: there, a client that waits so long is refused again'

const options: Record<keyof Options, Rows<There, Here>> = {
  driver: [
    {
      there: { driver: 'memory', db: new Map() },
      here: {},
      asks: [{}, {}, { after: 60_001 }],
      seen: ['200', '429', '200'],
    },
    {
      title: 'redis, its log',
      there: ({ redis }) => ({ driver: 'redis', db: redis, max: 2 }),
      here: ({ redis }) => ({
        store: redisStore(redis, { deadlineMs: 20_000 }),
        policy: slidingLog({ limit: 2, window: '1m' }),
      }),
      asks: [{}, { after: 1 }, { after: 1 }],
      seen: ['200', '200', '429'],
    },
  ],
  db: {
    title: 'shared by two limiters, here too',
    there: () => {
      const shared = { driver: 'memory', db: new Map(), max: 2, duration: 60_000 }
      return { ...shared, before: rateLimitThere(shared) }
    },
    here: () => {
      const both = { store: memoryStore(), name: 'both', shared: true, limit: 2, window: '1m' }
      return { ...both, before: rateLimit(both as RateLimitOptions) } as Here
    },
    asks: thrice,
    seen: ['200', '429', '429'],
  },
  duration: {
    there: { duration: 30_000 },
    here: { window: 30_000 },
    asks: [{}, {}, { after: 30_001 }],
    seen: ['200', '429', '200'],
  },
  max: { there: { max: 2 }, here: { limit: 2 }, asks: thrice, seen: ['200', '200', '429'] },
  id: [
    {
      there: { id: userOf },
      here: { key: userOf },
      asks: [by('ann'), by('bob'), by('ann')],
      seen: ['200', '200', '429'],
    },
    {
      title: 'false',
      there: { id: (ctx) => ctx.path !== '/free' && ctx.ip },
      here: { skip: (ctx) => ctx.path === '/free' },
      asks: [{}, { path: '/free' }, {}],
      seen: ['200', '200', '429'],
    },
    {
      title: 'that finds none',
      there: { id: userOf },
      here: { name: 'no-id', key: userOf },
      seen: ['500', '500'],
      differs: 'requests without a key share one count, with a warning',
      seenHere: ['200 | warning WEIR_NO_KEY', '429'],
    },
  ],
  namespace: {
    there: ({ redis }) => ({ driver: 'redis', db: redis, namespace: 'api' }),
    here: ({ redis }) => ({
      store: redisStore(redis, { deadlineMs: 20_000, prefix: 'app' }),
      name: 'api',
    }),
    asks: [{}, { after: 1 }],
    seen: ['200', '429'],
  },
  headers: [
    {
      title: 'by default',
      there: {},
      here: { name: 'api' },
      look: [...LEGACY, 'ratelimit'],
      seen: ['200 | 1 | 0 | now+60 | none | none', '429 | 1 | 0 | now+60 | 60 | none'],
      differs: 'the default is draft 8',
      seenHere: [
        '200 | none | none | none | none | "api";r=0;t=60',
        '429 | none | none | none | 60 | "api";r=0;t=60',
      ],
    },
    {
      title: 'between seconds',
      there: {},
      here: { headers: 'legacy' },
      asks: [{ after: 500 }, { after: 100 }],
      look: ['x-ratelimit-reset', 'retry-after'],
      seen: ['200 | now+60 | none', '429 | now+59.9 | 59'],
      differs: `${CUT}; the reset is a whole second, too, and there one with a fraction`,
      seenHere: ['200 | now+60.5 | none', '429 | now+60.4 | 60'],
    },
    {
      title: 'of an error downstream',
      there: {},
      here: { headers: 'legacy' },
      asks: [{ path: '/broken' }],
      look: ['x-ratelimit-remaining'],
      seen: ['500 | none'],
      differs: 'what a limiter sets survives errors',
      seenHere: ['500 | 0'],
    },
    {
      title: 'of other names',
      there: { headers: { remaining: 'Left', reset: 'Again', total: 'Most' } },
      here: { headers: 'legacy' },
      look: ['left', 'most', 'x-ratelimit-remaining'],
      asks: [{}],
      seen: ['200 | 0 | 1 | none'],
      differs: 'the names are fixed, so that clients know them',
      seenHere: ['200 | none | none | 0'],
    },
  ],
  disableHeader: {
    there: { disableHeader: true },
    here: { headers: false },
    look: LEGACY,
    seen: ['200 | none | none | none | none', '429 | none | none | none | 60'],
  },
  errorMessage: {
    there: { errorMessage: 'Slow down' },
    here: { body: 'Slow down' },
    look: ['content-type', 'body'],
    seen: ['200 | text/plain;charset=utf-8 | ok', '429 | text/plain;charset=utf-8 | Slow down'],
  },
  status: { there: { status: 503 }, here: { status: 503 }, seen: ['200', '503'] },
  throw: {
    there: { throw: true, errorMessage: 'Slow down' },
    here: { onDenied: (_decision, ctx) => ctx.throw(429, 'Slow down'), headers: 'legacy' },
    look: ['body', ...LEGACY],
    seen: ['200 | ok | 1 | 0 | now+60 | none', '429 | Slow down | 1 | 0 | now+60 | 60'],
  },
  whitelist: [
    {
      there: { whitelist: async (ctx) => userOf(ctx) === 'ann' },
      here: { skip: async (ctx) => userOf(ctx) === 'ann' },
      asks: [{}, by('ann'), {}],
      seen: ['200', '200', '429'],
    },
    {
      title: 'of addresses',
      there: { whitelist: (ctx) => ctx.ip === '192.0.2.1' },
      here: { allow: ['192.0.2.1'] },
      asks: [from('192.0.2.1'), from('192.0.2.1')],
      seen: ['200', '200'],
    },
  ],
  blacklist: [
    {
      there: { blacklist: async (ctx) => userOf(ctx) === 'eve' },
      here: { before: (ctx, next) => (userOf(ctx) === 'eve' ? ctx.throw(403) : next()) },
      asks: [by('eve'), {}],
      look: ['body'],
      seen: ['403 | Forbidden', '200 | ok'],
    },
    {
      title: 'of addresses',
      there: { blacklist: (ctx) => ctx.ip === '192.0.2.1' },
      here: { deny: ['192.0.2.1'] },
      asks: [from('192.0.2.1')],
      look: ['body'],
      seen: ['403 | Forbidden'],
      differs: 'a problem document',
      seenHere: [
        '403 | {"type":"about:blank","title":"Forbidden","status":403,"detail":"Requests from this address are not accepted."}',
      ],
    },
  ],
  onLimited: [
    {
      there: ({ note }) => ({ onLimited: (ctx) => note(`limited ${ctx.ip}`) }),
      here: ({ note }) => ({
        onDecision: ({ allowed, key }) => void (allowed || note(`limited ${key}`)),
      }),
      asks: thrice,
      seen: ['200', '429 | limited 127.0.0.1', '429 | limited 127.0.0.1'],
    },
    {
      title: 'that changes the answer',
      there: {
        onLimited: (ctx) => {
          ctx.body = 'No'
        },
      },
      here: {
        onDenied: (_decision, ctx) => {
          ctx.status = 429
          ctx.body = 'No'
        },
      },
      look: ['body', 'retry-after'],
      seen: ['200 | ok | none', '429 | No | 60'],
    },
  ],
}

const get = (found: object | undefined, name: string) => found && Reflect.get(found, name)

/** What is on `ctx.state` when a request is refused: nothing there, unless an option says so. */
const after =
  (reads: (ctx: Context) => unknown): Middleware =>
  async (ctx, next) => {
    await next()
    ctx.body = String(reads(ctx))
  }

const state: Record<string, Rows<There, Here>> = {
  'ctx.state.rateLimit': [
    {
      title: 'of an allowed request',
      there: { reads: (ctx) => typeof ctx.state.rateLimit },
      here: { reads: (ctx) => typeof ctx.state.rateLimit },
      asks: [{}],
      look: ['body'],
      seen: ['200 | undefined'],
      differs: 'every request has its decision',
      seenHere: ['200 | object'],
    },
    {
      title: 'its after and id',
      there: {
        before: after(
          ({ state: { rateLimit: found } }) => `${get(found, 'after')} ${get(found, 'id')}`,
        ),
      },
      here: {
        before: after(({ state: { rateLimit: found } }) =>
          found === undefined || found.allowed
            ? 'undefined undefined'
            : `${Math.ceil(found.retryAfterMs / 1_000)} ${found.key}`,
        ),
      },
      look: ['body'],
      seen: ['200 | undefined undefined', '429 | 60 127.0.0.1'],
    },
  ],
}

const ALWAYS = ['limit', 'window', 'name', 'reads', 'before', 'store']
const uses = (setUp: Here) => Object.keys(setUp).filter((name) => !ALWAYS.includes(name))

compare<There, Here>({
  from: 'koa-ratelimit',
  rows: { ...options, ...state },
  startThere,
  startHere,
  uses,
})

test('no option of koa-ratelimit is missing', () => {
  const { resolve } = createRequire(import.meta.url)
  const sources = [
    resolve('koa-ratelimit'),
    resolve('koa-ratelimit/limiter/memory.js'),
    createRequire(resolve('koa-ratelimit')).resolve('async-ratelimiter'),
  ].map((path) => readFileSync(path, 'utf8'))
  const found = sources.flatMap((source) => [
    ...[...source.matchAll(/\bopts\.(\w+)/g)].map(([, name]) => name),
    ...[...source.matchAll(/\{ (\w+) \} = opts\b/g)].map(([, name]) => name),
    ...[...source.matchAll(/constructor ?\(\{ (.*?) \}\)/g)].flatMap(([, names = '']) =>
      names.split(', ').map((name) => name.replace(/ = .*/, '')),
    ),
  ])
  expect([...new Set(found)].sort()).toEqual(Object.keys(options).sort())
})
