// A Koa application, compiled with the types of Koa 3 and of Koa 2: what is inferred, and what does
// not compile.
import {
  duration,
  fixedWindow,
  memoryStore,
  type RateLimitSettings,
  type RateLimitState,
  rateLimit,
  unlimited,
} from '@weir/koa'
import Koa, { type Context, type DefaultContext } from 'koa'

const small = fixedWindow({ limit: 5, window: '1h' })

export const app = new Koa()
app.use(
  rateLimit({
    policy: (ctx) => (ctx.get('x-plan') === 'pro' ? unlimited() : small),
    key: (ctx) => ctx.get('x-api-key') || ctx.ip,
    cost: (ctx) => Number(ctx.query.pages ?? 1),
    skip: (ctx) => ctx.path === '/health',
    refundWhen: (ctx, { status, finished }) => finished && status >= 500 && ctx.method === 'GET',
    onDenied: async (decision, ctx, next) => {
      if (ctx.path === '/free') await next()
      else ctx.throw(429, `in ${decision.retryAfterMs} ms`)
    },
  }),
)
app.use((ctx) => {
  const left: number | undefined = ctx.state.rateLimit?.remaining
  const all: number | undefined = ctx.state.rateLimit?.all.length
  ctx.body = { left, all }
})
app.use(rateLimit({ limit: 50, window: '1h', whenUnavailable: small }))

/** An application with a state and a context of its own. */
interface State extends RateLimitState {
  user: { readonly id: string; readonly plan: 'free' | 'pro' }
}
interface Extras extends DefaultContext {
  tenant: string
}
export const typed = new Koa<State, Extras>()
const perUser: Koa.Middleware<State, Extras> = rateLimit({
  limit: (ctx) => (ctx.state.user.plan === 'pro' ? 1_000 : 10),
  window: '1m',
  key: (ctx) => {
    // @ts-expect-error an id is a string
    const wrong: number = ctx.state.user.id
    return `${ctx.tenant}:${ctx.state.user.id}:${wrong}`
  },
})
typed.use(perUser)

// `use` is generic itself, so nothing can be inferred inside its brackets: name the types.
const limit = rateLimit<State, Extras>({
  limit: 1,
  window: '1s',
  key: ({ state }) => state.user.id,
})
typed.use(limit)
void limit.limiter.reset('u1')

// A limiter for any application, also called in another middleware.
const apart = rateLimit({ limit: 1, window: '1s', store: memoryStore() })
app.use(apart)
typed.use(apart)
app.use(async (ctx: Context, next) => {
  await apart(ctx, next)
})

// Settings that several limiters share.
const shared: RateLimitSettings = { headers: 'legacy' }
app.use(rateLimit({ ...shared, limit: 1, window: duration(String(process.env.WINDOW)) }))

// The names of classes are inferred from `reserve`.
const reserve = { normal: 0.2, batch: 0.5 }
app.use(
  rateLimit({
    policy: small,
    reserve,
    priority: (ctx) => (ctx.state.user?.paid ? 'critical' : ctx.path === '/' ? 'normal' : 'batch'),
  }),
)
typed.use(
  rateLimit<State, Extras, 'normal' | 'batch'>({ policy: small, reserve, priority: 'batch' }),
)
// @ts-expect-error an unknown class, where the types of the context are given
typed.use(rateLimit<State, Extras>({ policy: small, reserve, priority: () => 'bacth' }))
// @ts-expect-error an unknown class
rateLimit({ policy: small, reserve, priority: (ctx) => (ctx.path === '/' ? 'bacth' : 'normal') })

// @ts-expect-error neither a policy nor a limit
rateLimit({})
// @ts-expect-error no window
rateLimit({ limit: 1 })
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1s', policy: small })
// @ts-expect-error an unknown option
rateLimit({ limit: 1, window: '1s', max: 5 })
// @ts-expect-error not a duration
rateLimit({ limit: 1, window: '1 fortnight' })
// @ts-expect-error an unknown header format
rateLimit({ limit: 1, window: '1s', headers: 'draft-99' })
rateLimit({ limit: 1, window: '1s', key: () => 42 })
// @ts-expect-error an object is not a key
rateLimit({ limit: 1, window: '1s', key: () => ({}) })
// @ts-expect-error a string is not a cost
rateLimit({ limit: 1, window: '1s', cost: (ctx) => ctx.path })
// @ts-expect-error a context has no such property
rateLimit<State, object>({ limit: 1, window: '1s', key: (ctx) => ctx.tennant })
// @ts-expect-error neither has the state
rateLimit<State, Extras>({ policy: (ctx) => (ctx.state.user.paln === 'pro' ? unlimited() : small) })
