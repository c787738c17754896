// @fastify/rate-limit 11, 10 and 9, with its option `redis` and with Weir's store.

import * as of11 from '@fastify/rate-limit'
import * as of9 from '@fastify/rate-limit-9'
import * as of10 from '@fastify/rate-limit-10'
import { type FastifyRequest, fastify as fastify5 } from 'fastify'
import { fastify as fastify4 } from 'fastify-4'
import { Redis } from 'ioredis'
import { weirStore } from '../../src/fastify-rate-limit.js'
import { wanted } from './http.js'
import { type Behaviour, type Counting, type Incumbent, times, type Version } from './incumbent.js'

function countedBy(counting: Counting): object {
  if (counting.kind === 'own') return { redis: counting.redis, nameSpace: counting.prefix }
  return { store: weirStore(counting.store, { name: counting.name, shared: true }) }
}

const userOf = ({ headers }: FastifyRequest): string => String(headers['x-user'])

function version(
  name: string,
  { default: plugin }: typeof of11,
  fastify: typeof fastify5,
): Version {
  return {
    version: name,
    async serve(counting, options) {
      const app = fastify()
      const { route = {}, ...others } = options as { route?: object }
      const all = { max: 3, timeWindow: 60_000, keyGenerator: userOf }
      await app.register(plugin, { ...all, ...countedBy(counting), ...others })
      app.get('/', (request, reply) => reply.status(wanted(request.headers)).send('ok'))
      app.get('/own', { config: { rateLimit: route } }, async () => 'ok')
      app.get('/free', { config: { rateLimit: false } }, async () => 'ok')
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      return { url, close: () => app.close() }
    },
  }
}

const LOOK = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']

const behaviours: readonly Behaviour[] = [
  {
    promise: 'headers of requests that pass, and of refusals',
    options: { max: 1 },
    look: LOOK,
    asks: times(2),
    seen: '200 1 0 60 none, 429 1 0 60 60',
  },
  {
    promise: '`enableDraftSpec`',
    options: { enableDraftSpec: true },
    look: ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
    asks: [{}],
    seen: '200 3 2 60',
  },
  {
    promise: '`max` may be a function of the request',
    options: { max: (request: FastifyRequest) => (userOf(request) === 'pro' ? 4 : 2) },
    asks: [...times(3), ...times(5, { user: 'pro' })],
    seen: '200 x2, 429, 200 x4, 429',
  },
  {
    promise: '`timeWindow` may be a function of the request',
    options: { timeWindow: () => 60_000, max: 1 },
    look: ['retry-after'],
    asks: times(2),
    seen: '200 none, 429 60',
    of: ['11', '10'],
  },
  {
    promise: 'a route has a limit of its own, or none',
    options: { route: { max: 1, timeWindow: 60_000 } },
    asks: [...times(2, { path: '/own' }), ...times(5, { path: '/free' }), ...times(4)],
    seen: '200, 429, 200 x8, 429',
  },
  {
    promise: '`allowList`: requests of these keys are not counted',
    options: { allowList: ['free'] },
    asks: [...times(5, { user: 'free' }), ...times(4)],
    seen: '200 x8, 429',
  },
  {
    promise: '`ban`: 403 after this many refusals, until the window is over',
    options: { ban: 2, timeWindow: 2_000 },
    asks: [...times(7), { afterMs: 2_100 }],
    seen: '200 x3, 429 x2, 403 x2, 200',
  },
  {
    promise: '`continueExceeding`: a refused request begins the window anew',
    options: { continueExceeding: true, max: 1, timeWindow: 2_000 },
    asks: [...times(2), { afterMs: 1_200 }, { afterMs: 1_200 }, { afterMs: 2_100 }],
    seen: '200, 429 x3, 200',
    differs: { weir: 'it is refused when the plug-in is registered' },
  },
  {
    promise: '`exponentialBackoff`: each refused request makes the window longer',
    options: { exponentialBackoff: true, max: 1, timeWindow: 1_000 },
    asks: [...times(5), { afterMs: 2_000 }],
    seen: '200, 429 x5',
    of: ['11', '10'],
    differs: { weir: 'it is refused when the plug-in is registered' },
  },
]

export const fastifyRateLimit: Incumbent = {
  name: '@fastify/rate-limit',
  own: 'its option `redis`',
  // As its README recommends.
  client: (port) => new Redis(port, { connectTimeout: 500, maxRetriesPerRequest: 1 }),
  versions: [
    version('11', of11, fastify5),
    version('10', of10 as unknown as typeof of11, fastify5),
    version('9', of9 as unknown as typeof of11, fastify4 as unknown as typeof fastify5),
  ],
  behaviours,
  limitedTo: (max, timeWindow) => ({ max, timeWindow }),
  passed: 200,
}
