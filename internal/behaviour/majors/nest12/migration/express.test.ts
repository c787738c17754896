import {
  addressKey,
  fixedWindow,
  type RateLimitHandler,
  type RateLimitOptions,
  rateLimit,
  redisStore,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '@weir/express'
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express'
import rateLimitThere, {
  ipKeyGenerator,
  type Options,
  type RateLimitInfo,
  type RateLimitRequestHandler,
} from 'express-rate-limit'
import { RedisStore } from 'rate-limit-redis'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  compare,
  documented,
  listen,
  preflight,
  type Row,
  type Rows,
  type Start,
  thrice,
} from './compare.js'

type There = Partial<Options> & Server
type Here = Partial<RateLimitOptions> & Server

/** Since Node.js 24, responses that wait behind another one learn that their client has left. */
const ENDS_ALL = Number(process.versions.node.split('.')[0]) >= 24
const GAVE_ALL_BACK = ['left', '200', '200', '200', '429']

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
  const limiter = rateLimitThere({ ...ONE, ...handler, ...options })
  return serve(limiter, { reads, trust })
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
const fail = (): never => {
  throw new Error('failed')
}
/** Shows what is logged there. */
const logs = (note: (what: string) => void): There => ({
  logger: {
    warn: () => {},
    error: (error) => {
      const { code, name } = error as Error & { code?: string }
      note(`log ${code ?? name}`)
    },
  },
})
const IPV6 = '2001:db8:1:2::1'
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
  ],
  limit: [
    {
      title: 'a function that gives no whole number',
      there: { limit: () => 1.5 },
      here: { name: 'api', limit: () => 1.5 },
      seen: ['200', '429'],
      differs: 'there are no fractions of a unit: it is an error of the function',
      seenHere: ['500', '500'],
    },
    {
      title: 'a function that lifts it',
      there: { limit: () => Number.POSITIVE_INFINITY },
      here: { name: 'api', policy: () => unlimited() },
      asks: thrice,
      seen: ['200', '200', '200'],
    },
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
        '200 | text/html;charset=utf-8 | ok',
        '429 | text/html;charset=utf-8 | Too many requests, please try again later.',
      ],
      differs: 'a problem document, which programs can read',
      seenHere: [
        '200 | text/html;charset=utf-8 | ok',
        '429 | application/problem+json | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"Try again in 60 seconds.","violated-policies":["api"]}',
      ],
    },
    {
      title: 'a text, as HTML',
      there: { message: 'Slow down' },
      here: { body: 'Slow down', mediaType: 'text/html; charset=utf-8' },
      look: ['content-type', 'body'],
      seen: ['200 | text/html;charset=utf-8 | ok', '429 | text/html;charset=utf-8 | Slow down'],
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
      seen: ['200 | 1 | 0 | now+60 | none | none', '429 | 1 | 0 | now+60 | 60 | none'],
      differs: 'the default is draft 8',
      seenHere: [
        '200 | none | none | none | none | "api";r=0;t=60',
        '429 | none | none | none | 60 | "api";r=0;t=60',
      ],
    },
    {
      title: 'with some left, later',
      there: { limit: 3 },
      here: { headers: 'legacy', limit: 3 },
      asks: [{}, { after: 15_000 }],
      look: ['x-ratelimit-remaining', 'x-ratelimit-reset'],
      seen: ['200 | 2 | now+60', '200 | 1 | now+45'],
      differs: 'a sliding window has no end at which all units are back',
      seenHere: ['200 | 2 | now+60', '200 | 1 | now+60'],
    },
    {
      title: 'false, without standard ones',
      there: { legacyHeaders: false },
      here: { headers: false },
      look: LEGACY,
      seen: ['200 | none | none | none | none', '429 | none | none | none | none'],
      differs: 'Retry-After is always sent, or clients come back too early',
      seenHere: ['200 | none | none | none | none', '429 | none | none | none | 60'],
    },
  ],
  standardHeaders: [
    {
      title: 'the old window, in headers of draft-7, and the legacy ones',
      there: { standardHeaders: 'draft-7' },
      here: {
        policy: fixedWindow({ limit: 1, window: '1m' }),
        headers: ['legacy', 'draft-7'],
      },
      asks: [{}, { after: 15_000 }, { after: 44_500 }],
      look: ['x-ratelimit-reset', 'retry-after', 'ratelimit'],
      seen: [
        '200 | now+60 | none | limit=1, remaining=0, reset=60',
        '429 | now+45 | 45 | limit=1, remaining=0, reset=45',
        '429 | now+0.5 | 1 | limit=1, remaining=0, reset=1',
      ],
    },
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
      seen: ['200 | 1;w=60 | 1 | 0 | 60 | none', '429 | 1;w=60 | 1 | 0 | 60 | 60'],
    },
    {
      title: 'draft-8',
      there: { standardHeaders: 'draft-8' },
      here: { name: '1-in-1min' },
      look: ['ratelimit-policy', 'ratelimit'],
      seen: [
        '200 | "1-in-1min";q=1;w=60;pk=:MTJjYTE3YjQ5YWYy: | "1-in-1min";r=0;t=60',
        '429 | "1-in-1min";q=1;w=60;pk=:MTJjYTE3YjQ5YWYy: | "1-in-1min";r=0;t=60',
      ],
      differs: BLOCK_PK,
      seenHere: [
        '200 | "1-in-1min";q=1;w=60 | "1-in-1min";r=0;t=60',
        '429 | "1-in-1min";q=1;w=60 | "1-in-1min";r=0;t=60',
      ],
    },
  ],
  identifier: [
    {
      there: { identifier: 'api', standardHeaders: 'draft-8' },
      here: { name: 'api' },
      look: ['ratelimit'],
      seen: ['200 | "api";r=0;t=60', '429 | "api";r=0;t=60'],
    },
    {
      title: 'a function',
      there: { identifier: userOf, standardHeaders: 'draft-8' },
      here: { policy: (req) => slidingWindow({ name: userOf(req), limit: 1, window: '1m' }) },
      look: ['ratelimit'],
      asks: [by('free'), by('pro')],
      seen: ['200 | "free";r=0;t=60', '429 | "pro";r=0;t=60'],
      differs: 'the name of a policy is whose counter it is, so another name is another count',
      seenHere: ['200 | "free";r=0;t=60', '200 | "pro";r=0;t=60'],
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
      seen: ['200 | none', '429 | 5'],
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
      title: 'a client that leaves, and has sent three requests at once',
      there: { limit: 3, skipFailedRequests: true },
      here: { limit: 3, refundWhen: (_req, { status, finished }) => !finished || status >= 400 },
      asks: [{ path: '/hang', leaves: true, pipelined: 3 }, {}, {}, {}, {}],
      ...(ENDS_ALL
        ? { seen: GAVE_ALL_BACK }
        : {
            seen: ['left', '200', '429', '429', '429'],
            differs: 'all three have failed; there, only the first of a connection is given back',
            seenHere: GAVE_ALL_BACK,
          }),
    },
  ],
  skipSuccessfulRequests: {
    there: { skipSuccessfulRequests: true },
    here: { refundWhen: (_req, { status, finished }) => finished && status < 400 },
    asks: [{}, status(401), {}],
    seen: ['200', '401', '429'],
  },
  requestWasSuccessful: [
    {
      title: 'with skipSuccessfulRequests, and asynchronous',
      there: {
        skipSuccessfulRequests: true,
        requestWasSuccessful: async (_req, res) => res.statusCode !== 404,
      },
      here: { refundWhen: async (_req, { status, finished }) => finished && status !== 404 },
      asks: [{}, status(500), status(404), {}],
      seen: ['200', '500', '404', '429'],
    },
    {
      title: 'that throws',
      there: ({ note }) => ({
        skipFailedRequests: true,
        requestWasSuccessful: () => fail(),
        ...logs(note),
      }),
      here: { refundWhen: () => fail() },
      seen: ['200 | log Error', '429 | log Error'],
      differs: 'it is a warning of the process, once, and nothing is asked of refused requests',
      seenHere: ['200 | warning WEIR_REFUND_FAILED', '429'],
    },
  ],
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
      there: { trust: 1, ipv6Subnet: 64 },
      here: { trust: 1, ipv6Prefix: 64 },
      asks: [from('2001:db8:1:2::1'), from('2001:db8:1:2::2'), from('2001:db8:1:3::1')],
      seen: ['200', '429', '200'],
    },
    {
      title: 'an address with a port',
      there: ({ note }) => ({ trust: 1, ...logs(note) }),
      here: { trust: 1 },
      asks: [from('192.0.2.1:1000'), from('192.0.2.1:2000')],
      seen: ['200 | log ERR_ERL_INVALID_IP_ADDRESS', '200'],
      differs: 'the port is no part of the address; there, each port is a client',
      seenHere: ['200', '429'],
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
      seen: ['200 | ok | none', '429 | No | 60'],
    },
    {
      title: 'that lets requests go on',
      there: { handler: (_req, _res, next) => next() },
      here: { onDenied: (_decision, _req, _res, next) => next() },
      look: ['retry-after'],
      seen: ['200 | none', '200 | 60'],
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
      '200 | none | limit=1, remaining=0, reset=60',
      '429 | none | limit=1, remaining=0, reset=60',
    ],
  },
}

/** Without its log. */
function storeThere(redis: { call(command: string, ...args: string[]): Promise<unknown> }): There {
  const sendCommand = (...[command, ...args]: string[]) =>
    redis.call(command as string, ...args) as never
  const logger = { warn: () => {}, error: () => {} }
  return { store: new RedisStore({ sendCommand }), logger }
}

/** What a handler finds on the request, whether or not it is refused: there, and, if it differs,
 *  here. */
const found: Record<keyof RateLimitInfo | 'current', readonly [there: string, here?: string]> = {
  current: ['1 2 3', '1 2 2'],
  limit: ['2 2 2'],
  remaining: ['1 0 0'],
  used: ['1 2 3', '1 2 2'],
  resetTime: ['60000 60000 60000'],
  key: ['127.0.0.1 127.0.0.1 127.0.0.1'],
}

const info = Object.fromEntries(
  Object.entries(found).map(([name, [there, here]]): [string, Row<There, Here>] => {
    const reading = (property: string) => ({
      limit: 2,
      passes: true,
      reads: (req: Request) => {
        const value = Reflect.get(req.rateLimit as object, property)
        return String(value instanceof Date ? value.getTime() - Date.now() : value)
      },
    })
    const seenOf = (values: string) => values.split(' ').map((value) => `200 | ${value}`)
    const row = {
      there: reading(name),
      here: reading(name === 'current' ? 'used' : name),
      asks: thrice,
      look: ['body'],
      seen: seenOf(there),
    }
    if (here === undefined) return [`req.rateLimit.${name}`, row]
    const differs = 'a refused request costs nothing, so never more than the limit is used'
    return [`req.rateLimit.${name}`, { ...row, differs, seenHere: seenOf(here) }]
  }),
)

type There1 = Pick<RateLimitRequestHandler, 'resetKey' | 'getKey'>
type Here1 = Pick<RateLimitHandler, 'limiter'>

const methods: Record<keyof There1 | 'ipKeyGenerator', Rows<There, Here>> = {
  resetKey: {
    title: 'of an IPv6 address',
    there: {
      trust: 1,
      reads: async ({ path }, limit: There1) =>
        path === '/reset' && limit.resetKey(ipKeyGenerator(IPV6)),
    },
    here: {
      trust: 1,
      reads: async ({ path }, { limiter }: Here1) => path === '/reset' && limiter.reset(IPV6),
    },
    asks: [from(IPV6), from(IPV6), { path: '/reset' }, from(IPV6), from(IPV6)],
    seen: ['200', '429', '200', '200', '429'],
  },
  getKey: {
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

test.each(['delayAfter', 'delayMs', 'maxDelayMs'])(
  'express-slow-down: %s has an equivalent option, which its page names',
  (name) => {
    const options = { ...ONE_HERE, [name]: 5 } as RateLimitOptions
    expect(() => rateLimit(options)).toThrow(/here that is wait: see docs\/migrating.md/)
    expect(documented('express-rate-limit', name)).toContain('wait')
  },
)

test('express-slow-down: requests above the limit are delayed, and refused beyond the wait', async () => {
  vi.useRealTimers()
  const policy = tokenBucket({ name: 'slow', capacity: 2, refill: 1, every: '10s' })
  const reads = (req: Request) => String(req.rateLimit?.waitedMs)
  const { url, close } = await startHere({ name: 'slow', policy, wait: '50ms', reads })
  onTestFinished(async () => void (await close()))
  const statuses = [await fetch(url), await fetch(url), await fetch(url)].map((one) => one.status)
  expect(statuses).toEqual([200, 200, 429])
  const quick = tokenBucket({ name: 'quick', capacity: 1, refill: 1, every: '1s' })
  const other = await startHere({ name: 'quick', policy: quick, wait: '2s', reads })
  onTestFinished(async () => void (await other.close()))
  const startedMs = performance.now()
  const firstMs = Number(await (await fetch(other.url)).text())
  const delayedMs = Number(await (await fetch(other.url)).text())
  // The first request is not delayed: it takes only what the machine needs.
  expect(firstMs).toBeLessThan(500)
  expect(delayedMs).toBeGreaterThan(0)
  expect(performance.now() - startedMs).toBeGreaterThan(990)
})

test('limit and window have no defaults: there, they are five a minute', () => {
  expect(() => rateLimit({} as RateLimitOptions)).toThrow('limit and window')
})

test('a name has only letters, digits, _ . and -: there, an identifier may be any text', () => {
  expect(() => rateLimit({ ...ONE_HERE, name: 'my api' } as RateLimitOptions)).toThrow('name')
})
