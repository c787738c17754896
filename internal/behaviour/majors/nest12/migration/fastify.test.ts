import rateLimitThere, { type RateLimitPluginOptions as OptionsThere } from '@fastify/rate-limit'
import {
  type Duration,
  fixedWindow,
  lockout,
  memoryStore,
  type RateLimiter,
  type RateLimitPluginOptions,
  rateLimitPlugin,
  redisStore,
} from '@weir/fastify'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { type Ask, compare, type Rows, type Start } from './compare.js'

interface Server<Route> {
  /** The `config.rateLimit` of `/own` and `/other`. */
  readonly route?: Route | false
  /** Answers in place of the handler of `/`. */
  readonly reads?: (request: FastifyRequest, app: FastifyInstance) => unknown
}
type There = Partial<OptionsThere> & Server<object>
type Here = Partial<RateLimitPluginOptions> & Server<object>

/** Without other options, one request a minute is allowed. */
async function startThere({ route, reads, ...options }: There): Start {
  const given = { max: 1, timeWindow: 60_000, ...options } as OptionsThere
  return serve((app) => app.register(rateLimitThere, given), { route, reads })
}

async function startHere({ route, reads, ...options }: Here): Start {
  const allowed = 'policy' in options ? {} : { limit: 1, window: '1m' }
  const given = { ...allowed, ...options } as RateLimitPluginOptions
  return serve((app) => app.register(rateLimitPlugin, given), { route, reads })
}

async function serve(
  register: (app: FastifyInstance) => PromiseLike<unknown>,
  {
    route,
    reads = () => 'ok',
  }: { [Name in keyof Server<object>]: Server<object>[Name] | undefined },
): Start {
  const app = fastify({ trustProxy: 'loopback' })
  app.decorateRequest('user', '')
  app.addHook('preHandler', async (request) => {
    ;(request as { user?: unknown }).user = request.headers['x-user']
  })
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) =>
    reply.code(error.statusCode ?? 500).send(error),
  )
  await register(app)
  app.get('/', async (request) => reads(request, app))
  const config = { rateLimit: route } as object
  app.get('/own', route === undefined ? {} : { config }, async () => 'ok')
  app.get('/other', route === undefined ? {} : { config }, async () => 'ok')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

const ask: Ask = {}
const after = (seconds: number): Ask => ({ after: seconds * 1_000 })
const own: Ask = { path: '/own' }
const other: Ask = { path: '/other' }
const from = (address: string): Ask => ({ headers: { 'x-forwarded-for': address } })
const by = (user: string): Ask => ({ headers: { 'x-user': user } })
const userOf = ({ headers }: FastifyRequest) => String(headers['x-user'])

const look = ['retry-after']
const seen = (status: number, retryAfter: number | 'none' = 'none') => `${status} | ${retryAfter}`
const ONE = { limit: 1, window: '1m' } as const
/** The equivalent of one a minute with blocks afterwards. */
const blocking = (...block: readonly Duration[]) =>
  lockout({ ...ONE, block, forget: '1h', starts: 'excess' })
const DRAFT = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']
const LEGACY = DRAFT.map((name) => name.replace(/^ratelimit/, 'x-$&'))

const rows: Record<string, Rows<There, Here>> = {
  max: [
    { there: {}, here: {}, look, seen: [seen(200), seen(429, 60)] },
    {
      title: 'as a function',
      there: { max: async (request) => (userOf(request) === 'pro' ? 2 : 1), keyGenerator: userOf },
      here: { name: 'plans', limit: (request) => (userOf(request) === 'pro' ? 2 : 1), key: userOf },
      asks: [by('pro'), by('pro'), by('pro'), by('ann'), by('ann')],
      seen: ['200', '200', '429', '200', '429'],
    },
  ],
  timeWindow: [
    {
      title: 'as a text',
      there: { timeWindow: '1 minute', max: 2 },
      here: { limit: 2, window: '1m' },
      asks: [ask, after(59), after(2), ask],
      seen: ['200', '200', '200', '200'],
      differs: 'windows slide, so that twice the limit never passes',
      seenHere: ['200', '200', '200', '429'],
    },
    {
      title: 'with a fixed window',
      there: { timeWindow: '1 minute', max: 2 },
      here: { policy: fixedWindow({ limit: 2, window: '1m' }) },
      asks: [ask, after(59), after(2), ask, ask],
      seen: ['200', '200', '200', '200', '429'],
    },
  ],
  global: {
    there: { global: false, route: { max: 1 } },
    here: { global: false, route: { limit: 1 } },
    asks: [ask, ask, own, own],
    seen: ['200', '200', '200', '429'],
  },
  hook: {
    there: {
      hook: 'preHandler',
      keyGenerator: (request) => (request as { user?: string }).user ?? '',
    },
    here: { hook: 'preHandler', key: (request) => (request as { user?: string }).user },
    asks: [by('ann'), by('bob'), by('ann')],
    seen: ['200', '200', '429'],
  },
  'config.rateLimit': [
    {
      there: { route: { max: 2 } },
      here: { route: { limit: 2 } },
      asks: [ask, ask, own, own, own, other],
      seen: ['200', '429', '200', '200', '429', '200'],
    },
    {
      title: 'false',
      there: { route: false },
      here: { route: false },
      asks: [ask, ask, own, own],
      seen: ['200', '429', '200', '200'],
    },
  ],
  groupId: {
    there: { route: { max: 1, groupId: 'otp' } },
    here: { route: { limit: 1, name: 'otp' } },
    asks: [own, other],
    seen: ['200', '200'],
    differs: 'the routes of a group count together',
    seenHere: ['200', '429'],
  },
  setNotFoundHandler: {
    there: {},
    here: {},
    asks: [{ path: '/none' }, { path: '/none' }],
    seen: ['404', '404'],
    differs: 'requests without a route are limited',
    seenHere: ['404', '429'],
  },
  keyGenerator: {
    there: { keyGenerator: userOf },
    here: { key: userOf },
    asks: [by('ann'), by('bob'), by('ann')],
    seen: ['200', '200', '429'],
  },
  ipv6Subnet: {
    there: { ipv6Subnet: 64 },
    here: { ipv6Prefix: 64 },
    asks: [from('2001:db8::1'), from('2001:db8::2'), from('2001:db8:0:1::1')],
    seen: ['200', '429', '200'],
  },
  allowList: [
    { there: { allowList: ['127.0.0.1'] }, here: { allow: ['127.0.0.1'] }, seen: ['200', '200'] },
    {
      title: 'as a function',
      there: { allowList: (request) => userOf(request) === 'free' },
      here: { skip: (request) => userOf(request) === 'free' },
      asks: [by('free'), by('free'), by('ann'), by('ann')],
      seen: ['200', '200', '200', '429'],
    },
  ],
  redis: {
    there: ({ redis }) => ({ redis }),
    here: ({ redis }) => ({ store: redisStore(redis), name: 'api' }),
    look,
    seen: [seen(200), seen(429, 60)],
  },
  nameSpace: {
    there: ({ redis }) => ({ redis, nameSpace: 'api-' }),
    here: ({ redis }) => ({ store: redisStore(redis, { prefix: 'api' }), name: 'api' }),
    seen: ['200', '429'],
  },
  cache: {
    there: { cache: 10_000 },
    here: { store: memoryStore({ maxKeys: 10_000 }) },
    seen: ['200', '429'],
  },
  skipOnError: [
    {
      there: ({ lost }) => ({ redis: lost, skipOnError: true }),
      here: ({ lost }) => ({ store: redisStore(lost), name: 'a', whenUnavailable: 'allow' }),
      seen: ['200', '200'],
    },
    {
      title: 'false',
      there: ({ lost }) => ({ redis: lost }),
      here: ({ lost }) => ({ store: redisStore(lost), name: 'a', whenUnavailable: 'throw' }),
      seen: ['500', '500'],
    },
    {
      title: 'by default',
      there: ({ lost }) => ({ redis: lost }),
      here: ({ lost }) => ({ store: redisStore(lost), name: 'a' }),
      seen: ['500', '500'],
      differs: 'each process goes on with its part of the limit',
      seenHere: ['200', '429'],
    },
  ],
  errorResponseBuilder: {
    there: { errorResponseBuilder: (_, { statusCode, max }) => ({ statusCode, max }) },
    here: { body: ({ limit }) => ({ statusCode: 429, max: limit }) },
    look: ['body'],
    seen: ['200 | ok', '429 | {"statusCode":429,"max":1}'],
  },
  setErrorHandler: {
    there: {},
    here: {
      onDenied: () => {
        throw Object.assign(new Error('slow down'), { statusCode: 429 })
      },
    },
    look,
    seen: [seen(200), seen(429, 60)],
  },
  'x-ratelimit-reset': {
    there: {},
    here: { headers: 'legacy-delta' },
    look: LEGACY,
    seen: shown(LEGACY),
  },
  enableDraftSpec: {
    there: { enableDraftSpec: true },
    here: { headers: 'draft-6' },
    look: DRAFT,
    seen: shown(DRAFT),
  },
  addHeaders: {
    there: {
      addHeaders: Object.fromEntries(LEGACY.map((name) => [name, false])),
      addHeadersOnExceeding: Object.fromEntries(LEGACY.map((name) => [name, false])),
    },
    here: { headers: false },
    look,
    seen: [seen(200), seen(429)],
    differs: 'Retry-After is always sent',
    seenHere: [seen(200), seen(429, 60)],
  },
  onExceeding: {
    there: ({ note }) => ({ onExceeding: () => note('more'), onExceeded: () => note('over') }),
    here: ({ note }) => ({ onDecision: ({ allowed }) => note(allowed ? 'more' : 'over') }),
    seen: ['200 | more', '429 | over'],
  },
  createRateLimit: {
    there: {
      global: false,
      reads: async (request, app) => {
        const counted = await app.createRateLimit()(request)
        return !counted.isAllowed && counted.isExceeded
      },
    },
    here: {
      skip: () => true,
      reads: async ({ ip }, app) => {
        // The type that the other plugin declares is different.
        const { limiter } = app.rateLimit as unknown as { readonly limiter: RateLimiter }
        return !(await limiter.consume(ip)).allowed
      },
    },
    look: ['body'],
    seen: ['200 | false', '200 | true'],
  },
  ban: {
    there: { ban: 1 },
    here: {
      policy: blocking('1m'),
      onDenied: ({ reason }, _request, reply) =>
        void reply.code(reason === 'blocked' ? 403 : 429).send(),
    },
    asks: [ask, after(30), ask, after(30), after(30)],
    look,
    seen: [seen(200), seen(429, 30), seen(403, 30), seen(200), seen(429, 30)],
    differs: 'the first refusal starts a block, of a length of its own',
    seenHere: [seen(200), seen(403, 60), seen(403, 60), seen(403, 30), seen(200)],
  },
  onBanReach: {
    there: ({ note }) => ({ ban: 0, onBanReach: () => note('banned') }),
    here: ({ note }) => ({
      policy: blocking('1m'),
      status: 403,
      onDecision: (decision) => {
        if (!decision.allowed && decision.reason === 'blocked') note('banned')
      },
    }),
    look,
    seen: [seen(200), `${seen(403, 60)} | banned`],
  },
  continueExceeding: [
    {
      there: { continueExceeding: true },
      here: { policy: blocking('1m') },
      asks: [ask, after(30), after(60), ask],
      look,
      seen: [seen(200), seen(429, 60), seen(200), seen(429, 60)],
    },
    {
      title: 'of a client that asks on',
      there: { continueExceeding: true },
      here: { policy: blocking('1m') },
      asks: [ask, after(30), after(30), after(30), after(30)],
      look,
      seen: [seen(200), seen(429, 60), seen(429, 60), seen(429, 60), seen(429, 60)],
      differs: 'what is refused lengthens no block',
      seenHere: [seen(200), seen(429, 60), seen(429, 30), seen(200), seen(429, 60)],
    },
  ],
  exponentialBackoff: {
    there: { exponentialBackoff: true },
    here: { policy: blocking('1m', '2m', '4m') },
    asks: [ask, ask, ask, after(60), ask, ask],
    look,
    seen: [seen(200), seen(429, 60), seen(429, 120), seen(200), seen(429, 60), seen(429, 120)],
    differs: 'each block is longer than the one before, not each refusal',
    seenHere: [seen(200), seen(429, 60), seen(429, 60), seen(200), seen(429, 120), seen(429, 120)],
  },
}

/** The header fields of two requests at a limit of one. */
function shown(names: readonly string[]): string[] {
  const values = [
    ['1', '0', '60', 'none'],
    ['1', '0', '60', '60'],
  ]
  return values.map((all, i) => [i === 0 ? 200 : 429, ...names.map((_, j) => all[j])].join(' | '))
}

const ALWAYS = ['route', 'reads', 'window', 'limit', 'name', 'key']
const uses = (setUp: Here) => Object.keys(setUp).filter((name) => !ALWAYS.includes(name))

compare<There, Here>({ from: '@fastify/rate-limit', rows, startThere, startHere, uses })
