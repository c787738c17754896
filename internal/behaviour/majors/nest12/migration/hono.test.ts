import { getRequestListener, type HttpBindings } from '@hono/node-server'
import {
  clientAddress,
  decisionOf,
  fixedWindow,
  honoMiddleware,
  type RateLimitOptions,
  rateLimit,
  redisStore,
} from '@weir/fetch'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { type HonoConfigProps, RedisStore, rateLimiter } from 'hono-rate-limiter'
import { type Ask, compare, listen, type Rows, type Start, type Tools, thrice } from './compare.js'

type Env = { Bindings: HttpBindings }
type There = Partial<HonoConfigProps> & Reads
type Here = Partial<RateLimitOptions> & Reads

interface Reads {
  /** What the handler answers with, by the limiter's decision. */
  readonly reads?: ((c: Context) => unknown) | undefined
}

/** Without other options, both allow one request a minute, for everybody together. */
function startThere({ reads, ...options }: There): Start {
  const one = { windowMs: 60_000, limit: 1, keyGenerator: () => 'all' }
  const config = { ...one, ...options } as HonoConfigProps<Env>
  return serve(rateLimiter(config), reads)
}

function startHere({ reads, ...options }: Here): Start {
  const allowed = 'policy' in options ? {} : { limit: 1, window: '1m' }
  const limiter = rateLimit({ ...allowed, key: () => 'all', ...options } as RateLimitOptions)
  return serve(
    honoMiddleware(limiter, (c) => clientAddress.node(c.env)),
    reads,
  )
}

function serve(limiter: MiddlewareHandler<Env>, reads: Reads['reads'] = () => 'ok'): Start {
  const app = new Hono<Env>().use(limiter)
  app.get('/broken', (c) => c.text('broken', 500))
  app.get('/raw', () => new Response('raw'))
  app.get('*', (c) => c.text(String(reads(c))))
  const listener = getRequestListener(app.fetch)
  return listen((req, res) => void listener(req, res))
}

const ok: Ask = {}
const broken: Ask = { path: '/broken' }
const by = (user: string): Ask => ({ headers: { user } })
const userOf = (request: Request | Context['req']): string =>
  ('headers' in request ? request.headers.get('user') : request.header('user')) ?? ''
const draft7 = ['ratelimit', 'ratelimit-policy']
const draft6 = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']

function sharedThere({ redis }: Tools): There {
  const client = {
    scriptLoad: (script: string) => redis.script('LOAD', script) as Promise<string>,
    evalsha: <Result>(sha: string, keys: string[], args: unknown[]) =>
      redis.evalsha(sha, keys.length, ...keys, ...(args as string[])) as Promise<Result>,
    decr: (key: string) => redis.decr(key),
    del: (key: string) => redis.del(key),
  }
  return { store: new RedisStore({ client }) }
}

const rows: Record<string, Rows<There, Here>> = {
  windowMs: [
    {
      there: { windowMs: 60_000 },
      here: { policy: fixedWindow({ limit: 1, window: '1m' }) },
      asks: [ok, ok, { after: 60_001 }],
      seen: ['200', '429', '200'],
    },
  ],
  limit: {
    there: { limit: (c) => (c.req.header('user') === 'ann' ? 2 : 1) },
    here: { name: 'tiers', limit: (request) => (userOf(request) === 'ann' ? 2 : 1) },
    asks: [by('ann'), by('ann'), by('ann')],
    seen: ['200', '200', '429'],
  },
  keyGenerator: {
    there: { keyGenerator: (c) => userOf(c.req) },
    here: { key: (request) => userOf(request) },
    asks: [by('ann'), by('ann'), by('bob')],
    seen: ['200', '429', '200'],
  },
  message: {
    there: { message: { error: 'slow down' } },
    here: { body: { error: 'slow down' } },
    look: ['body', 'content-type'],
    seen: ['200 | ok | text/plain;charset=UTF-8', '429 | {"error":"slow down"} | application/json'],
  },
  statusCode: {
    there: { statusCode: 503 },
    here: { status: 503 },
    seen: ['200', '503'],
  },
  standardHeaders: [
    {
      title: 'draft-7',
      there: { limit: 2, standardHeaders: 'draft-7' },
      here: { headers: 'draft-7', policy: fixedWindow({ limit: 2, window: '1m' }) },
      asks: [ok],
      look: draft7,
      seen: ['200 | limit=2, remaining=1, reset=60 | 2;w=60'],
    },
    {
      title: 'draft-6, on a Response that a handler made',
      there: { limit: 2, standardHeaders: 'draft-6' },
      here: { headers: 'draft-6', policy: fixedWindow({ limit: 2, window: '1m' }) },
      asks: [ok, { path: '/raw' }],
      look: draft6,
      seen: ['200 | 2 | 1 | 60', '200 | none | none | none'],
      differs: 'every response has the headers',
      seenHere: ['200 | 2 | 1 | 60', '200 | 2 | 0 | 60'],
    },
  ],
  skip: {
    there: { skip: (c) => userOf(c.req) === 'root' },
    here: { skip: (request) => userOf(request) === 'root' },
    asks: [by('root'), by('root'), ok, ok],
    seen: ['200', '200', '200', '429'],
  },
  skipFailedRequests: {
    there: { skipFailedRequests: true },
    here: { refundWhen: (_, { status, finished }) => !finished || status >= 400 },
    asks: [broken, ok, ok],
    seen: ['500', '200', '429'],
  },
  skipSuccessfulRequests: {
    there: { skipSuccessfulRequests: true },
    here: { refundWhen: (_, { status, finished }) => finished && status < 400 },
    asks: [ok, broken, ok],
    seen: ['200', '500', '429'],
  },
  requestWasSuccessful: {
    there: { skipFailedRequests: true, requestWasSuccessful: (c) => c.res.status !== 500 },
    here: { refundWhen: (_, { status }) => status === 500 },
    asks: [broken, ok, ok],
    seen: ['500', '200', '429'],
  },
  handler: {
    there: { handler: (c) => c.text(`no, ${userOf(c.req)}`, 420 as 429) },
    here: {
      onDenied: (_, request) => new Response(`no, ${userOf(request)}`, { status: 420 }),
    },
    asks: [by('ann'), by('ann')],
    look: ['body'],
    seen: ['200 | ok', '420 | no, ann'],
  },
  requestPropertyName: {
    there: { requestPropertyName: 'quota', reads: (c) => c.get('quota').remaining },
    here: {
      requestProperty: 'quota',
      reads: (c) => decisionOf(c.req.raw, 'quota')?.remaining,
    },
    asks: [ok],
    look: ['body'],
    seen: ['200 | 0'],
  },
  store: {
    title: 'refused requests',
    there: sharedThere,
    here: ({ redis }) => ({ store: redisStore(redis) }),
    asks: thrice,
    seen: ['200', '429', '429'],
  },
}

/** What else the page names beside an option. */
const uses = ({ reads, ...options }: Here) => [
  ...Object.keys(options),
  ...(reads === undefined ? [] : ['decisionOf']),
]

compare<There, Here>({ from: 'hono-rate-limiter', rows, startThere, startHere, uses })
