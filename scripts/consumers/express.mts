// An Express application, compiled with the types of Express 5 and of Express 4: what compiles, and
// what does not.
import { fixedWindow, type RequestDecision, rateLimit, tokenBucket, unlimited } from '@weir/express'
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
      if (req.path === '/') next()
      else res.status(429).send(`in ${decision.retryAfterMs} ms`)
    },
  }),
)
app.get('/:id', (req, res) => {
  const id: string = req.params.id
  const decision: RequestDecision | undefined = req.rateLimit
  // @ts-expect-error only a denied decision has a wait
  const wait = decision.retryAfterMs
  res.json([id, wait])
})

const perUser = rateLimit<SignedIn>({
  limit: (req) => (req.user.plan === 'paid' ? 1_000 : 10),
  window: '1m',
  key: (req) => req.user.id,
})
app.use(perUser)
void perUser.limiter.reset('u1')
app.use(
  rateLimit({
    policy: tokenBucket({ capacity: 5, refill: 1, every: '1s' }),
    key: (req: SignedIn) => req.user.id,
  }),
)

rateLimit({ policy: daily, reserve: { batch: 0.5 }, priority: () => 'batch' })
// @ts-expect-error no such class
rateLimit({ policy: daily, reserve: { batch: 0.5 }, priority: () => 'bach' })
// @ts-expect-error no window
rateLimit({ limit: 1 })
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1m', policy: daily })
// @ts-expect-error the option of another library
rateLimit({ limit: 1, windowMs: 60_000 })
// @ts-expect-error an unknown format
rateLimit({ policy: daily, headers: 'draft-9' })
rateLimit({ policy: daily, key: () => 7 })
// @ts-expect-error true is not a key
rateLimit({ policy: daily, key: () => true })
// @ts-expect-error a string is not a cost
rateLimit({ policy: daily, cost: () => '1' })
// @ts-expect-error requests have no such property
rateLimit({ policy: daily, key: (req) => req.user.id })
// @ts-expect-error neither has this user
rateLimit<SignedIn>({ policy: daily, cost: (req) => req.user.pages })
// @ts-expect-error a function must give a policy
rateLimit({ policy: (req) => req.path })
