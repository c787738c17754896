// What users write, checked by the compiler; running it only proves that it can be built.

import type { Request } from 'express'
import express from 'express'
import { expect, test } from 'vitest'
import {
  type Decision,
  duration,
  fixedWindow,
  overload,
  type RateLimitHandler,
  type RateLimitSettings,
  type RequestDecision,
  rateLimit,
  tokenBucket,
  unlimited,
} from '../src/index.js'

interface SignedIn extends Request {
  user: { id: string; plan: 'free' | 'paid' }
}

const daily = fixedWindow({ name: 'daily', limit: 10, window: '1d' })

test('request types are inferred, and wrong options do not compile', () => {
  const plain = rateLimit({
    policy: (req) => (req.get('x-plan') === 'paid' ? unlimited() : daily),
    key: (req) => req.ip,
    cost: (req) => Number(req.query.pages),
    skip: async (req) => req.path === '/health',
    refundWhen: (req, { status, finished }) => finished && status >= 400 && req.method === 'GET',
    onDenied: (decision, req, res, next) => {
      const seconds: number = decision.retryAfterMs / 1_000
      if (req.path === '/') next()
      else res.status(503).send(`again in ${seconds} s`)
    },
  })
  const own = rateLimit<SignedIn>({
    limit: (req) => (req.user.plan === 'paid' ? 1_000 : 10),
    window: '1m',
    key: (req) => req.user.id,
    body: (decision, req) => ({ user: req.user.id, limit: decision.limit }),
    headers: ['draft-8', 'legacy'],
  })
  const annotated = rateLimit({ limit: 1, window: 60_000, key: (req: SignedIn) => req.user.id })
  const inOutages = rateLimit({
    policy: [{ policy: daily, whenUnavailable: fixedWindow({ limit: 2, window: '1h' }) }],
    whenUnavailable: tokenBucket({ capacity: 2, refill: 1, every: '1m' }),
  })
  const byNumber = rateLimit({ policy: daily, key: () => 7 })
  const byBigint = rateLimit({ policy: daily, key: async () => 7n })
  const withResponse = rateLimit({
    limit: (_req, res) => (res.locals.plan === 'paid' ? 100 : 10),
    window: (_req, res) => (res.writable ? duration(String(process.env.WINDOW ?? '1m')) : '1h'),
    key: (req, res) => res.locals.tenant ?? req.ip,
    cost: (_req, res) => Number(res.locals.cost),
    skip: (_req, res) => res.headersSent,
    onMissingKey: (_req, res) => res.locals.tenant,
    refundWhen: (_req, { status }, res) => status >= 500 || res.hasHeader('x-free'),
    body: (decision, _req, res) => ({ limit: decision.limit, tenant: res.locals.tenant }),
  })
  const reserve = { normal: 0.2, batch: 0.5 }
  const byClass = rateLimit({
    policy: daily,
    reserve: { normal: 0.2, batch: 0.5 },
    priority: (req, res) => (res.locals.paid ? 'critical' : req.path === '/' ? 'normal' : 'batch'),
  })
  const soon = rateLimit({
    policy: daily,
    reserve,
    priority: async (req) => (req.ip ? 'batch' : 'critical'),
  })
  type Classes = 'normal' | 'batch'
  const byText = rateLimit<SignedIn, Classes>({ policy: daily, reserve, priority: 'batch' })
  const inOrder = rateLimit({ priority: () => 'normal', reserve, limit: 1, window: '1m' })
  const classed: RateLimitHandler[] = [byClass, soon, byText, inOrder]
  expect(classed).toHaveLength(4)
  const shared: RateLimitSettings = { headers: 'legacy', store: undefined }
  const partial: Partial<RateLimitSettings> = { name: 'shared' }
  const spread = rateLimit({ ...shared, ...partial, limit: 1, window: '1m' })
  const alsoSpread = rateLimit({ ...shared, policy: daily, limit: undefined, window: undefined })
  const spreads: RateLimitHandler[] = [withResponse, spread, alsoSpread]
  expect(spreads).toHaveLength(3)
  const handlers: RateLimitHandler[] = [plain, own, annotated, inOutages, byNumber, byBigint]
  const app = express()
    .use(plain, own)
    .get('/:id', annotated, (req, res) => {
      const id: string = req.params.id
      const decision: RequestDecision | undefined = req.rateLimit
      const all: readonly Decision[] = decision?.all ?? []
      // @ts-expect-error: only a denied decision has a wait
      const wait = decision.retryAfterMs
      res.json([id, all.length, wait])
    })
  expect([app, ...handlers]).toHaveLength(7)

  const wrong = [
    // @ts-expect-error: no window
    () => rateLimit({ limit: 1 }),
    // @ts-expect-error: both
    () => rateLimit({ limit: 1, window: '1m', policy: daily }),
    // @ts-expect-error: neither
    () => rateLimit({ name: 'x' }),
    // @ts-expect-error: the option of another library
    () => rateLimit({ limit: 1, windowMs: 60_000 }),
    // @ts-expect-error: no such unit
    () => rateLimit({ limit: 1, window: '1w' }),
    // @ts-expect-error: no such format
    () => rateLimit({ policy: daily, headers: 'draft-9' }),
    // @ts-expect-error: a string is not a cost
    () => rateLimit({ policy: daily, cost: () => '1' }),
    // @ts-expect-error: true is not a key
    () => rateLimit({ policy: daily, key: () => true }),
    // @ts-expect-error: requests have no such property
    () => rateLimit({ policy: daily, key: (req) => req.user.id }),
    // @ts-expect-error: not one of the choices
    () => rateLimit({ policy: daily, onMissingKey: 'allow' }),
    // @ts-expect-error: not a policy
    () => rateLimit({ policy: { limit: 1, window: '1m' } }),
    // @ts-expect-error: a bucket has no window
    () => rateLimit({ policy: tokenBucket({ capacity: 1, window: '1m' }) }),
    // @ts-expect-error: no such class
    () => rateLimit({ policy: daily, reserve, priority: 'bacth' }),
    // @ts-expect-error: no such class
    () => rateLimit({ policy: daily, reserve, priority: (req) => (req.ip ? 'batch' : 'idle') }),
    // @ts-expect-error: no such class, where the type of the request is given
    () => rateLimit<SignedIn>({ policy: daily, reserve, priority: 'bacth' }),
    // @ts-expect-error: the classes are not named beside the type of the request
    () => rateLimit<SignedIn>({ policy: daily, reserve, priority: () => 'batch' }),
    // @ts-expect-error: no such class
    () => rateLimit<SignedIn, Classes>({ policy: daily, reserve, priority: () => 'bacth' }),
    // @ts-expect-error: no such class
    () => rateLimit({ policy: daily, priority: () => 'batch' }),
    // @ts-expect-error: a string is not a fraction
    () => rateLimit({ policy: daily, reserve: { batch: '50%' } }),
    // @ts-expect-error: options are needed
    () => rateLimit(),
  ]
  expect(wrong).toHaveLength(20)
})

test('classes of overload protection are inferred, and unknown names do not compile', () => {
  const reserve = { normal: 0.2, free: 0.5 }
  const guards = [
    overload(),
    overload({ reserve, priority: (req) => (req.get('x-plan') ? 'normal' : 'free') }),
    overload({
      reserve,
      priority: (req: SignedIn) => (req.user.plan === 'free' ? 'free' : 'critical'),
    }),
  ]
  expect(guards.map(({ priorities }) => priorities.length)).toEqual([0, 3, 3])
  const wrong = [
    // @ts-expect-error: no such class
    () => overload({ reserve, priority: () => 'fere' }),
    // @ts-expect-error: the class must be known synchronously
    () => overload({ reserve, priority: async () => 'free' }),
    // @ts-expect-error: priority is a function, not a class for all requests
    () => overload({ reserve, priority: 'free' }),
    // @ts-expect-error: requests have no such property
    () => overload({ reserve, priority: (req) => req.user.plan }),
    // @ts-expect-error: a string is not a fraction
    () => overload({ reserve: { free: '50%' }, priority: () => 'free' }),
  ]
  expect(wrong).toHaveLength(5)
})
