import {
  addressKey,
  fixedWindow,
  type RateLimitHandler,
  type RateLimitOptions,
  type RequestDecision,
  rateLimit,
  redisStore,
  slidingWindow,
} from '@weir/express'
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express'
import rateLimitThere, {
  ipKeyGenerator,
  type Options,
  type RateLimitInfo,
  type RateLimitRequestHandler,
} from 'express-rate-limit'
import { RedisStore } from 'rate-limit-redis'
import { compare, listen, preflight, type Row, type Rows, type Start, thrice } from './compare.js'

type There = Partial<Options> & Server
type Here = Partial<RateLimitOptions> & Server

interface Server {
  /** What the handler answers with. */
  readonly reads?: Reads | undefined
  /** Refused requests go on to the handler. */
  readonly passes?: boolean
  /** Express's `trust proxy`. */
  readonly trust?: number | boolean | undefined
}

type Reads = (req: Request, limiter: never) => unknown

/** Without other options, both allow one request a minute. */
const ONE = { limit: 1, windowMs: 60_000 }
const ONE_HERE = { limit: 1, window: '1m' }

function startThere({ reads, trust, passes, ...options }: There): Start {
  const handler = passes && { handler: ((_req, _res, next) => next()) as Options['handler'] }
  return serve(rateLimitThere({ ...ONE, ...handler, ...options }), { reads, trust })
}

function startHere({ reads, trust, passes, ...options }: Here): Start {
  const onDenied = passes && {
    onDenied: ((_decision, _req, _res, next) => next()) as RateLimitOptions['onDenied'],
  }
  const allowed = 'policy' in options ? {} : ONE_HERE
  return serve(rateLimit({ ...allowed, ...onDenied, ...options } as RateLimitOptions), {
    reads,
    trust,
  })
}

function serve(limiter: RequestHandler, { reads = () => 'ok', trust = 0 }: Server): Start {
  const failed: ErrorRequestHandler = (_error, _req, res, _next) =>
    void res.status(500).send('failed')
  const app = express()
    .set('trust proxy', trust)
    .use(limiter)
    .get('/hang', (_req, res) => res.flushHeaders())
    .use(async (req, res) => {
      const answer = await reads(req, limiter as never)
      res.status(Number(req.query.status ?? 200)).send(answer)
    })
    .use(failed)
  return listen(app)
}

const LEGACY = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const by = (user: string) => ({ headers: { user } })
const status = (code: number) => ({ path: `/?status=${code}` })
const userOf = (req: Request) => req.get('user') ?? 'nobody'

const BLOCK_PK = 'the fields say the same but for pk, a hash of the key, which Weir does not send'

const options: Record<keyof Options, Rows<There, Here>> = {
  windowMs: [
    {
      there: { windowMs: 60_000 },
      here: { window: 60_000 },
      asks: [{}, {}, { after: 60_000 }],
      seen: ['200', '429', '200'],
    },
    {
      title: 'two requests before its end and two after',
      there: { limit: 2 },
      here: { limit: 2 },
      asks: [{}, { after: 59_000 }, { after: 1_000 }, {}],
      seen: ['200', '200', '200', '200'],
      differs: 'the window slides: there, three requests pass within a second at a limit of two',
      seenHere: ['200', '200', '200', '429'],
    },
    {
      title: 'the old window',
      there: { limit: 2 },
      here: { policy: fixedWindow({ limit: 2, window: '1m' }) },
      asks: [{}, { after: 59_000 }, { after: 1_000 }, {}],
      seen: ['200', '200', '200', '200'],
    },
    {
      title: 'the old window, in headers',
      there: { limit: 3, identifier: 'api', standardHeaders: 'draft-8' },
      here: { policy: fixedWindow({ name: 'api', limit: 3, window: '1m' }) },
      asks: [{}, { after: 15_000 }],
      look: ['ratelimit'],
      seen: ['200 | ratelimit: "api";r=2;t=60', '200 | ratelimit: "api";r=1;t=45'],
    },
  ],
  limit: [
    { there: { limit: 2 }, here: { limit: 2 }, asks: thrice, seen: ['200', '200', '429'] },
    {
      title: 'a function',
      there: { limit: async (req) => (userOf(req) === 'pro' ? 2 : 1) },
      here: { name: 'api', limit: async (req) => (userOf(req) === 'pro' ? 2 : 1) },
      asks: [by('pro'), by('free'), by('pro'), by('pro')],
      seen: ['200', '429', '429', '429'],
      differs: 'a refused request costs nothing: there, it took the place of the next one',
      seenHere: ['200', '429', '200', '429'],
    },
    {
      title: 'a function, and no name here',
      there: { limit: (req) => (userOf(req) === 'pro' ? 2 : 1) },
      here: { limit: (req) => (userOf(req) === 'pro' ? 2 : 1) },
      asks: [by('pro'), by('free')],
      seen: ['200', '429'],
      differs: 'without a name, each limit is a count of its own',
      seenHere: ['200', '200'],
    },
    {
      title: '0',
      there: { limit: 0, validate: false },
      here: { limit: 0 },
      asks: [{}],
      seen: ['429'],
    },
  ],
  max: {
    there: { limit: undefined as never, max: 2 },
    here: { limit: 2 },
    asks: thrice,
    seen: ['200', '200', '429'],
  },
  message: [
    {
      title: 'none',
      there: {},
      here: { name: 'api' },
      look: ['content-type', 'body'],
      seen: [
        '200 | content-type: text/html;charset=utf-8 | ok',
        '429 | content-type: text/html;charset=utf-8 | Too many requests, please try again later.',
      ],
      differs: 'a problem document, which programs can read',
      seenHere: [
        '200 | content-type: text/html;charset=utf-8 | ok',
        '429 | content-type: application/problem+json | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"Try again in 60 seconds.","violated-policies":["api"]}',
      ],
    },
    {
      title: 'a text, as HTML',
      there: { message: 'Slow down' },
      here: { body: 'Slow down', mediaType: 'text/html; charset=utf-8' },
      look: ['content-type', 'body'],
      seen: [
        '200 | content-type: text/html;charset=utf-8 | ok',
        '429 | content-type: text/html;charset=utf-8 | Slow down',
      ],
    },
    {
      title: 'an object',
      there: { message: { error: 'slow down' } },
      here: { body: { error: 'slow down' }, mediaType: 'application/json; charset=utf-8' },
      look: ['content-type', 'body'],
      seen: [
        '200 | content-type: text/html;charset=utf-8 | ok',
        '429 | content-type: application/json;charset=utf-8 | {"error":"slow down"}',
      ],
    },
    {
      title: 'a function',
      there: { message: async (req: Request) => `Slow down, ${userOf(req)}` },
      here: { body: async (_decision, req) => `Slow down, ${userOf(req)}` },
      look: ['body'],
      seen: ['200 | ok', '429 | Slow down, nobody'],
    },
  ],
  statusCode: { there: { statusCode: 503 }, here: { status: 503 }, seen: ['200', '503'] },
  legacyHeaders: [
    {
      title: 'by default',
      there: {},
      here: { name: 'api' },
      look: [...LEGACY, 'ratelimit'],
      seen: [
        '200 | x-ratelimit-limit: 1 | x-ratelimit-remaining: 0 | x-ratelimit-reset: now+60 | retry-after: none | ratelimit: none',
        '429 | x-ratelimit-limit: 1 | x-ratelimit-remaining: 0 | x-ratelimit-reset: now+60 | retry-after: 60 | ratelimit: none',
      ],
      differs: 'the default is draft 8',
      seenHere: [
        '200 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: none | ratelimit: "api";r=0;t=60',
        '429 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: 60 | ratelimit: "api";r=0;t=60',
      ],
    },
    {
      there: { legacyHeaders: true },
      here: { headers: 'legacy' },
      look: LEGACY,
      seen: [
        '200 | x-ratelimit-limit: 1 | x-ratelimit-remaining: 0 | x-ratelimit-reset: now+60 | retry-after: none',
        '429 | x-ratelimit-limit: 1 | x-ratelimit-remaining: 0 | x-ratelimit-reset: now+60 | retry-after: 60',
      ],
    },
    {
      title: 'with some left, later',
      there: { limit: 3 },
      here: { headers: 'legacy', limit: 3 },
      asks: [{}, { after: 15_000 }],
      look: ['x-ratelimit-remaining', 'x-ratelimit-reset'],
      seen: [
        '200 | x-ratelimit-remaining: 2 | x-ratelimit-reset: now+60',
        '200 | x-ratelimit-remaining: 1 | x-ratelimit-reset: now+45',
      ],
      differs: 'a sliding window has no end at which all units are back',
      seenHere: [
        '200 | x-ratelimit-remaining: 2 | x-ratelimit-reset: now+60',
        '200 | x-ratelimit-remaining: 1 | x-ratelimit-reset: now+60',
      ],
    },
    {
      title: 'false, without standard ones',
      there: { legacyHeaders: false },
      here: { headers: false },
      look: LEGACY,
      seen: [
        '200 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: none',
        '429 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: none',
      ],
      differs: 'Retry-After is always sent, or clients come back too early',
      seenHere: [
        '200 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: none',
        '429 | x-ratelimit-limit: none | x-ratelimit-remaining: none | x-ratelimit-reset: none | retry-after: 60',
      ],
    },
  ],
  standardHeaders: [
    {
      title: 'draft-6, which true means',
      there: { legacyHeaders: false, standardHeaders: true },
      here: { headers: 'draft-6' },
      look: [
        'ratelimit-policy',
        'ratelimit-limit',
        'ratelimit-remaining',
        'ratelimit-reset',
        'retry-after',
      ],
      seen: [
        '200 | ratelimit-policy: 1;w=60 | ratelimit-limit: 1 | ratelimit-remaining: 0 | ratelimit-reset: 60 | retry-after: none',
        '429 | ratelimit-policy: 1;w=60 | ratelimit-limit: 1 | ratelimit-remaining: 0 | ratelimit-reset: 60 | retry-after: 60',
      ],
    },
    {
      title: 'draft-7, and the legacy ones',
      there: { standardHeaders: 'draft-7' },
      here: { headers: ['legacy', 'draft-7'] },
      look: ['ratelimit-policy', 'ratelimit', 'x-ratelimit-limit', 'x-ratelimit-reset'],
      seen: [
        '200 | ratelimit-policy: 1;w=60 | ratelimit: limit=1, remaining=0, reset=60 | x-ratelimit-limit: 1 | x-ratelimit-reset: now+60',
        '429 | ratelimit-policy: 1;w=60 | ratelimit: limit=1, remaining=0, reset=60 | x-ratelimit-limit: 1 | x-ratelimit-reset: now+60',
      ],
    },
    {
      title: 'draft-8',
      there: { standardHeaders: 'draft-8' },
      here: { name: '1-in-1min' },
      look: ['ratelimit-policy', 'ratelimit'],
      seen: [
        '200 | ratelimit-policy: "1-in-1min";q=1;w=60;pk=:MTJjYTE3YjQ5YWYy: | ratelimit: "1-in-1min";r=0;t=60',
        '429 | ratelimit-policy: "1-in-1min";q=1;w=60;pk=:MTJjYTE3YjQ5YWYy: | ratelimit: "1-in-1min";r=0;t=60',
      ],
      differs: BLOCK_PK,
      seenHere: [
        '200 | ratelimit-policy: "1-in-1min";q=1;w=60 | ratelimit: "1-in-1min";r=0;t=60',
        '429 | ratelimit-policy: "1-in-1min";q=1;w=60 | ratelimit: "1-in-1min";r=0;t=60',
      ],
    },
  ],
  identifier: [
    {
      there: { identifier: 'api', standardHeaders: 'draft-8' },
      here: { name: 'api' },
      look: ['ratelimit'],
      seen: ['200 | ratelimit: "api";r=0;t=60', '429 | ratelimit: "api";r=0;t=60'],
    },
    {
      title: 'a function',
      there: { identifier: userOf, standardHeaders: 'draft-8' },
      here: { policy: (req) => slidingWindow({ name: userOf(req), limit: 1, window: '1m' }) },
      look: ['ratelimit'],
      asks: [by('free'), by('pro')],
      seen: ['200 | ratelimit: "free";r=0;t=60', '429 | ratelimit: "pro";r=0;t=60'],
      differs: 'the name of a policy is whose counter it is, so another name is another count',
      seenHere: ['200 | ratelimit: "free";r=0;t=60', '200 | ratelimit: "pro";r=0;t=60'],
    },
  ],
  retryAfter: [
    {
      there: { retryAfter: 5 },
      here: {
        onDenied: (_decision, _req, res) =>
          void res.status(429).set('Retry-After', '5').send('Too many requests'),
      },
      look: ['retry-after'],
      seen: ['200 | retry-after: none', '429 | retry-after: 5'],
    },
  ],
  requestPropertyName: {
    there: {
      requestPropertyName: 'quota',
      reads: (req) => String(Reflect.get(req, 'quota').limit),
    },
    here: { requestProperty: 'quota', reads: (req) => String(Reflect.get(req, 'quota').limit) },
    look: ['body'],
    asks: [{}],
    seen: ['200 | 1'],
  },
  skipFailedRequests: [
    {
      there: { skipFailedRequests: true },
      here: { refundWhen: (_req, { status, finished }) => !finished || status >= 400 },
      asks: [status(500), status(404), {}, {}],
      seen: ['500', '404', '200', '429'],
    },
    {
      title: 'a client that leaves',
      there: { skipFailedRequests: true },
      here: { refundWhen: (_req, { status, finished }) => !finished || status >= 400 },
      asks: [{ path: '/hang', leaves: true }, {}, {}],
      seen: ['left', '200', '429'],
    },
  ],
  skipSuccessfulRequests: [
    {
      there: { skipSuccessfulRequests: true },
      here: { refundWhen: (_req, { status, finished }) => finished && status < 400 },
      asks: [{}, status(401), {}],
      seen: ['200', '401', '429'],
    },
    {
      title: 'a client that leaves',
      there: { skipSuccessfulRequests: true },
      here: { refundWhen: (_req, { status, finished }) => finished && status < 400 },
      asks: [{ path: '/hang', leaves: true }, {}],
      seen: ['left', '429'],
    },
  ],
  requestWasSuccessful: {
    there: {
      skipFailedRequests: true,
      requestWasSuccessful: (_req, res) => res.statusCode !== 404,
    },
    here: { refundWhen: (_req, { status, finished }) => !finished || status === 404 },
    asks: [status(404), status(500), {}],
    seen: ['404', '500', '429'],
  },
  keyGenerator: [
    {
      there: { keyGenerator: async (req) => userOf(req) },
      here: { key: async (req) => userOf(req) },
      asks: [by('ann'), by('bob'), by('ann')],
      seen: ['200', '200', '429'],
    },
    {
      title: 'that finds none',
      there: { keyGenerator: (req) => req.get('user') as string },
      here: { name: 'no-key', key: (req) => req.get('user') },
      seen: ['200', '429'],
      differs: 'who has no key shares one count, as there, but a warning says so once',
      seenHere: ['200 | warning WEIR_NO_KEY', '429'],
    },
  ],
  ipv6Subnet: [
    {
      title: 'by default',
      there: { trust: 1 },
      here: { trust: 1 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:3::1'), from('2001:db8:1:100::1')],
      seen: ['200', '429', '200'],
    },
    {
      there: { trust: 1, ipv6Subnet: 64 },
      here: { trust: 1, ipv6Prefix: 64 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:2::2'), from('2001:db8:1:3::1')],
      seen: ['200', '429', '200'],
    },
    {
      title: 'false',
      there: { trust: 1, ipv6Subnet: false },
      here: { trust: 1, ipv6Prefix: 128 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:2::2'), from('2001:db8:1:2::1')],
      seen: ['200', '200', '429'],
    },
    {
      title: 'a function',
      there: { trust: 1, ipv6Subnet: (req) => (userOf(req) === 'lab' ? 48 : 64) },
      here: {
        trust: 1,
        key: (req) => addressKey({ ipv6Prefix: userOf(req) === 'lab' ? 48 : 64 })(req.ip),
      },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:2::2'), from('2001:db8:1:3::1')],
      seen: ['200', '429', '200'],
    },
  ],
  handler: [
    {
      there: {
        handler: (_req, res, _next, { statusCode }) => void res.status(statusCode).send('No'),
      },
      here: { onDenied: (_decision, _req, res) => void res.status(429).send('No') },
      look: ['body', 'retry-after'],
      seen: ['200 | ok | retry-after: none', '429 | No | retry-after: 60'],
    },
    {
      title: 'that lets requests go on',
      there: { handler: (_req, _res, next) => next() },
      here: { onDenied: (_decision, _req, _res, next) => next() },
      look: ['retry-after'],
      seen: ['200 | retry-after: none', '200 | retry-after: 60'],
    },
    {
      title: 'that gives an error',
      there: { handler: (_req, _res, next) => next(new Error('No')) },
      here: { onDenied: (_decision, _req, _res, next) => next(new Error('No')) },
      look: ['retry-after'],
      seen: ['200 | retry-after: none', '500 | retry-after: 60'],
    },
  ],
  skip: [
    {
      there: { skip: async (req) => req.path === '/free' },
      here: { skip: async (req) => req.path === '/free' },
      asks: [{}, { path: '/free' }, {}],
      seen: ['200', '200', '429'],
    },
    {
      title: 'preflights of browsers',
      there: {},
      here: {},
      asks: [preflight, preflight],
      seen: ['200', '429'],
      differs: 'browsers send them by themselves, so they are not limited',
      seenHere: ['200', '200'],
    },
    {
      title: 'preflights of browsers, counted',
      there: {},
      here: { preflight: 'count' },
      asks: [preflight, preflight],
      seen: ['200', '429'],
    },
  ],
  store: {
    there: ({ redis }) => ({
      store: new RedisStore({
        prefix: 'there:',
        sendCommand: (...[command, ...args]) => redis.call(command as string, ...args) as never,
      }),
    }),
    here: ({ redis }) => ({ store: redisStore(redis, { deadlineMs: 20_000, prefix: 'here' }) }),
    seen: ['200', '429'],
  },
  passOnStoreError: [
    {
      title: 'true',
      there: ({ lost }) => ({ ...storeThere(lost), passOnStoreError: true }),
      here: ({ lost }) => ({ store: redisStore(lost), whenUnavailable: 'allow' }),
      asks: thrice,
      seen: ['200', '200', '200'],
    },
    {
      title: 'false',
      there: ({ lost }) => storeThere(lost),
      here: ({ lost }) => ({ store: redisStore(lost), whenUnavailable: 'throw' }),
      seen: ['500', '500'],
    },
    {
      title: 'by default',
      there: ({ lost }) => storeThere(lost),
      here: ({ lost }) => ({ store: redisStore(lost) }),
      seen: ['500', '500'],
      differs: 'each process goes on with a quota of its own',
      seenHere: ['200', '429'],
    },
  ],
  validate: {
    there: { validate: false, limit: 2 },
    here: { name: 'validated', limit: 2 },
    asks: [{ headers: { forwarded: 'for=192.0.2.1' } }],
    seen: ['200'],
    differs: 'warnings are silenced for the process, with node --disable-warning=<code>',
    seenHere: ['200 | warning WEIR_FORWARDED_IGNORED'],
  },
  logger: {
    there: ({ note }) => ({
      trust: true,
      logger: { warn: () => {}, error: (error) => note(`log ${(error as { code: string }).code}`) },
    }),
    here: { trust: true },
    asks: [{}],
    seen: ['200 | log ERR_ERL_PERMISSIVE_TRUST_PROXY'],
    differs: 'warnings are those of the process: process.on("warning", ...)',
    seenHere: ['200 | warning WEIR_TRUST_ALL'],
  },
  headers: {
    there: { headers: false, standardHeaders: 'draft-7' },
    here: { headers: 'draft-7' },
    look: ['x-ratelimit-limit', 'ratelimit'],
    seen: [
      '200 | x-ratelimit-limit: none | ratelimit: limit=1, remaining=0, reset=60',
      '429 | x-ratelimit-limit: none | ratelimit: limit=1, remaining=0, reset=60',
    ],
  },
}

/** Without what is logged. */
function storeThere(redis: { call(command: string, ...args: string[]): Promise<unknown> }): There {
  const sendCommand = (...[command, ...args]: string[]) =>
    redis.call(command as string, ...args) as never
  const logger = { warn: () => {}, error: () => {} }
  return { store: new RedisStore({ sendCommand }), logger }
}

/** What a handler finds on the request, refused or not. */
function placed(
  there: (found: RateLimitInfo) => unknown,
  here: (found: RequestDecision) => unknown,
): Pick<Row<There, Here>, 'there' | 'here' | 'asks' | 'look'> {
  return {
    there: {
      limit: 2,
      passes: true,
      reads: (req) => String(there(req.rateLimit as unknown as RateLimitInfo)),
    },
    here: {
      limit: 2,
      passes: true,
      reads: (req) => String(here(req.rateLimit as RequestDecision)),
    },
    asks: thrice,
    look: ['body'],
  }
}

const info: Record<`req.rateLimit.${keyof RateLimitInfo}`, Rows<There, Here>> = {
  'req.rateLimit.limit': {
    ...placed(
      (found) => found.limit,
      (found) => found.limit,
    ),
    seen: ['200 | 2', '200 | 2', '200 | 2'],
  },
  'req.rateLimit.remaining': {
    ...placed(
      (found) => found.remaining,
      (found) => found.remaining,
    ),
    seen: ['200 | 1', '200 | 0', '200 | 0'],
  },
  'req.rateLimit.used': {
    ...placed(
      (found) => found.used,
      (found) => found.limit - found.remaining,
    ),
    seen: ['200 | 1', '200 | 2', '200 | 3'],
    differs: 'a refused request costs nothing, so never more than the limit is used',
    seenHere: ['200 | 1', '200 | 2', '200 | 2'],
  },
  'req.rateLimit.resetTime': {
    ...placed(
      (found) => (found.resetTime as Date).getTime() - Date.now(),
      (found) => new Date(Date.now() + found.resetAfterMs).getTime() - Date.now(),
    ),
    seen: ['200 | 60000', '200 | 60000', '200 | 60000'],
  },
  'req.rateLimit.key': {
    ...placed(
      (found) => found.key,
      (found) => found.key,
    ),
    seen: ['200 | 127.0.0.1', '200 | 127.0.0.1', '200 | 127.0.0.1'],
  },
}

type There1 = Pick<RateLimitRequestHandler, 'resetKey' | 'getKey'>
type Here1 = Pick<RateLimitHandler, 'limiter'>

const methods: Record<keyof There1 | 'ipKeyGenerator', Rows<There, Here>> = {
  resetKey: {
    there: {
      limit: 2,
      reads: async ({ path }, limit: There1) => path === '/reset' && limit.resetKey('127.0.0.1'),
    },
    here: {
      limit: 2,
      reads: async ({ path }, { limiter }: Here1) =>
        path === '/reset' && limiter.reset('127.0.0.1'),
    },
    asks: [{}, { path: '/reset' }, {}, {}, {}],
    seen: ['200', '200', '200', '200', '429'],
  },
  getKey: [
    {
      there: {
        limit: 2,
        reads: async (_req, limit: There1) => {
          const found = await limit.getKey('127.0.0.1')
          return String(2 - (found?.totalHits ?? 0))
        },
      },
      here: {
        limit: 2,
        reads: async (_req, { limiter }: Here1) =>
          String((await limiter.peek('127.0.0.1')).remaining),
      },
      look: ['body'],
      seen: ['200 | 1', '200 | 0'],
    },
    {
      title: 'of a limit that is a function',
      there: {
        limit: () => 2,
        reads: async (_req, limit: There1) => {
          const found = await limit.getKey('127.0.0.1')
          return String(2 - (found?.totalHits ?? 0))
        },
      },
      here: {
        name: 'by-plan',
        limit: () => 2,
        reads: async (_req, { limiter }: Here1) => {
          const policy = slidingWindow({ name: 'by-plan', limit: 2, window: '1m' })
          return String((await limiter.peek('127.0.0.1', { policy })).remaining)
        },
      },
      look: ['body'],
      seen: ['200 | 1', '200 | 0'],
    },
  ],
  ipKeyGenerator: {
    there: { trust: 1, keyGenerator: (req) => req.get('user') ?? ipKeyGenerator(req.ip as string) },
    here: { trust: 1, key: (req) => req.get('user') ?? addressKey()(req.ip) },
    asks: [by('ann'), from('2001:db8:1:2::1'), from('2001:db8:1:3::1')],
    seen: ['200', '200', '429'],
  },
}

const rows = { ...options, ...info, ...methods }
const ALWAYS = ['limit', 'window', 'name', 'reads', 'trust', 'passes', 'store']
const uses = (setUp: Here) => Object.keys(setUp).filter((name) => !ALWAYS.includes(name))

compare<There, Here>({ from: 'express-rate-limit', rows, startThere, startHere, uses })
