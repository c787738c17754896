// An Express application, compiled with the types of Express 5 and of Express 4: what is inferred,
// and what does not compile.
import {
  type Decision,
  duration,
  fixedWindow,
  overload,
  type RateLimitSettings,
  type RequestDecision,
  rateLimit,
  tokenBucket,
  unlimited,
} from '@weir/express'
import express, { type Request } from 'express'

interface SignedIn extends Request {
  user: { id: string; plan: 'free' | 'paid' }
}

const daily = fixedWindow({ name: 'daily', limit: 10, window: '1d' })

export const app = express()
app.use(rateLimit({ limit: 100, window: '1m' }))
app.use(
  rateLimit({
    policy: (req) => (req.get('x-plan') === 'paid' ? unlimited() : daily),
    key: (req) => req.get('x-api-key') ?? req.ip,
    cost: (req) => Number(req.query.pages ?? 1),
    skip: async (req) => req.path === '/health',
    refundWhen: (req, { status, finished }) => finished && status < 400 && req.method === 'GET',
    onDenied: (decision, req, res, next) => {
      const seconds: number = decision.retryAfterMs / 1_000
      if (req.path === '/') next()
      else res.status(429).send(`in ${seconds} s`)
    },
  }),
)
app.get('/:id', rateLimit({ policy: daily, key: (req: SignedIn) => req.user.id }), (req, res) => {
  const id: string = req.params.id
  const decision: RequestDecision | undefined = req.rateLimit
  const all: readonly Decision[] = decision?.all ?? []
  // @ts-expect-error only a denied decision has a wait
  const wait = decision.retryAfterMs
  res.json([id, all.length, wait])
})

const perUser = rateLimit<SignedIn>({
  limit: (req) => (req.user.plan === 'paid' ? 1_000 : 10),
  window: '1m',
  key: (req) => req.user.id,
  body: (decision, req) => ({ user: req.user.id, limit: decision.limit }),
  headers: ['draft-8', 'legacy'],
})
app.use(perUser)
void perUser.limiter.reset('u1')
rateLimit({
  policy: [{ policy: daily, whenUnavailable: fixedWindow({ limit: 2, window: '1h' }) }],
  whenUnavailable: tokenBucket({ capacity: 2, refill: 1, every: '1m' }),
})
rateLimit({ policy: daily, key: () => 7 })
rateLimit({ policy: daily, key: async () => 7n })

// Each function also gets the response.
rateLimit({
  limit: (_req, res) => (res.locals.plan === 'paid' ? 100 : 10),
  window: (_req, res) => (res.writable ? duration(String(process.env.WINDOW ?? '1m')) : '1h'),
  key: (req, res) => res.locals.tenant ?? req.ip,
  cost: (_req, res) => Number(res.locals.cost),
  skip: (_req, res) => res.headersSent,
  onMissingKey: (_req, res) => res.locals.tenant,
  refundWhen: (_req, { status }, res) => status >= 500 || res.hasHeader('x-free'),
  body: (decision, _req, res) => ({ limit: decision.limit, tenant: res.locals.tenant }),
})

// Settings that several limiters share.
const shared: RateLimitSettings = { headers: 'legacy' }
const partial: Partial<RateLimitSettings> = { name: 'shared' }
rateLimit({ ...shared, ...partial, limit: 1, window: '1m' })

// The names of classes are inferred from `reserve`.
const reserve = { normal: 0.2, batch: 0.5 }
type Classes = 'normal' | 'batch'
rateLimit({
  policy: daily,
  reserve: { normal: 0.2, batch: 0.5 },
  priority: (req, res) => (res.locals.paid ? 'critical' : req.path === '/' ? 'normal' : 'batch'),
})
rateLimit({ policy: daily, reserve, priority: async (req) => (req.ip ? 'batch' : 'critical') })
rateLimit({ priority: () => 'normal', reserve, limit: 1, window: '1m' })
rateLimit<SignedIn, Classes>({ policy: daily, reserve, priority: 'batch' })
// @ts-expect-error no such class
rateLimit({ policy: daily, reserve, priority: 'bacth' })
// @ts-expect-error no such class
rateLimit({ policy: daily, reserve, priority: (req) => (req.ip ? 'batch' : 'idle') })
// @ts-expect-error no such class, where the type of the request is given
rateLimit<SignedIn>({ policy: daily, reserve, priority: 'bacth' })
// @ts-expect-error the classes are not named beside the type of the request
rateLimit<SignedIn>({ policy: daily, reserve, priority: () => 'batch' })
// @ts-expect-error no such class
rateLimit<SignedIn, Classes>({ policy: daily, reserve, priority: () => 'bacth' })
// @ts-expect-error no such class
rateLimit({ policy: daily, priority: () => 'batch' })
// @ts-expect-error a string is not a fraction
rateLimit({ policy: daily, reserve: { batch: '50%' } })

// @ts-expect-error no window
rateLimit({ limit: 1 })
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1m', policy: daily })
// @ts-expect-error neither
rateLimit({ name: 'x' })
// @ts-expect-error options are needed
rateLimit()
// @ts-expect-error the option of another library
rateLimit({ limit: 1, windowMs: 60_000 })
// @ts-expect-error no such unit
rateLimit({ limit: 1, window: '1w' })
// @ts-expect-error an unknown format
rateLimit({ policy: daily, headers: 'draft-9' })
// @ts-expect-error true is not a key
rateLimit({ policy: daily, key: () => true })
// @ts-expect-error a string is not a cost
rateLimit({ policy: daily, cost: () => '1' })
// @ts-expect-error requests have no such property
rateLimit({ policy: daily, key: (req) => req.user.id })
// @ts-expect-error neither has this user
rateLimit<SignedIn>({ policy: daily, cost: (req) => req.user.pages })
// @ts-expect-error not one of the choices
rateLimit({ policy: daily, onMissingKey: 'allow' })
// @ts-expect-error a function must give a policy
rateLimit({ policy: (req) => req.path })
// @ts-expect-error not a policy
rateLimit({ policy: { limit: 1, window: '1m' } })
// @ts-expect-error a bucket has no window
tokenBucket({ capacity: 1, window: '1m' })

export const guards = [
  overload(),
  overload({ reserve, priority: (req) => (req.get('x-plan') ? 'normal' : 'batch') }),
  overload({ reserve, priority: (req: SignedIn) => (req.user.plan ? 'batch' : 'critical') }),
]
// @ts-expect-error no such class
overload({ reserve, priority: () => 'bacth' })
// @ts-expect-error the class must be known synchronously
overload({ reserve, priority: async () => 'batch' })
// @ts-expect-error priority is a function, not a class for all requests
overload({ reserve, priority: 'batch' })
// @ts-expect-error requests have no such property
overload({ reserve, priority: (req) => req.user.plan })
// @ts-expect-error a string is not a fraction
overload({ reserve: { batch: '50%' }, priority: () => 'batch' })
