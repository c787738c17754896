// A Fastify application, compiled with the types of Fastify 5 and of Fastify 4: what is inferred,
// and what does not compile.
import {
  duration,
  fixedWindow,
  memoryStore,
  overload,
  type RateLimitSettings,
  rateLimit,
  rateLimitPlugin,
  unlimited,
} from '@weir/fastify'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'

const small = fixedWindow({ limit: 5, window: '1h' })

export const app: FastifyInstance = Fastify()
app.addHook(
  'onRequest',
  rateLimit({
    policy: (request) => (request.headers['x-plan'] === 'pro' ? unlimited() : small),
    key: (request) => String(request.headers['x-api-key'] ?? request.ip),
    cost: (request) => request.url.length,
    skip: (request) => request.url === '/health',
    refundWhen: (request, { status, finished }, reply) =>
      finished && status >= 500 && request.method === 'GET' && reply.statusCode >= 500,
    onDenied: async (decision, request, reply, done) => {
      if (request.url === '/free') done()
      else await reply.code(429).send(`in ${decision.retryAfterMs} ms`)
    },
  }),
)
app.get('/', async (request) => {
  const left: number | undefined = request.rateLimit?.remaining
  const all: number | undefined = request.rateLimit?.all.length
  return { left, all }
})

/** Requests that a hook of the application has completed. */
type Known = FastifyRequest & { user: { readonly id: string } }
const perUser = rateLimit<Known>({
  limit: 10,
  window: '1m',
  key: (request) => {
    // @ts-expect-error an id is a string
    const wrong: number = request.user.id
    return `${request.user.id}:${wrong}`
  },
})
app.get('/user', { preHandler: perUser }, async () => 'ok')
app.get('/both', { preHandler: [perUser, rateLimit({ policy: small })] }, async () => 'ok')
void perUser.limiter.reset('u1')

// Settings that several limiters share.
const shared: RateLimitSettings = { headers: 'legacy', store: memoryStore() }
const window = duration(String(process.env.WINDOW))
app.addHook('preHandler', rateLimit({ ...shared, limit: 1, window }))

// The names of classes are inferred from `reserve`.
const reserve = { normal: 0.2, batch: 0.5 }
const priority = (request: FastifyRequest) => (request.url === '/' ? 'normal' : 'batch')
app.addHook('preHandler', rateLimit({ policy: small, reserve, priority }))
// @ts-expect-error an unknown class
rateLimit({ policy: small, reserve, priority: () => 'bacth' })

// @ts-expect-error neither a policy nor a limit
rateLimit({})
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1s', policy: small })
// @ts-expect-error an unknown option
rateLimit({ limit: 1, window: '1s', max: 5 })
// @ts-expect-error a string is not a cost
rateLimit({ limit: 1, window: '1s', cost: (request) => request.url })

const http2 = Fastify({ http2: true })
http2.addHook('onRequest', overload())
http2.get<{ Params: { id: string } }>('/:id', { preHandler: perUser }, async (request) => {
  return `${request.params.id}: ${request.rateLimit?.remaining}`
})

// The plugin, and what it declares.
app.register(rateLimitPlugin, { limit: 100, window: '1m', hook: 'preHandler' })
app.register(rateLimitPlugin, { global: false, store: memoryStore() })
// @ts-expect-error no limit, and not only for routes
app.register(rateLimitPlugin, { store: memoryStore() })
app.get('/own', { config: { rateLimit: { limit: 3 } } }, async () => 'ok')
app.get('/free', { config: { rateLimit: false } }, async () => 'ok')
app.get('/shared', { config: { rateLimit: perUser } }, async () => 'ok')
// @ts-expect-error a string is not a limit
app.get('/wrong', { config: { rateLimit: { limit: '3' } } }, async () => 'ok')
app.setNotFoundHandler({ preHandler: app.rateLimit({ limit: 5 }) }, async () => 'none')
void app.rateLimit.limiter?.reset('127.0.0.1')
