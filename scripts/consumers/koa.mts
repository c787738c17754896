// A Koa application: what compiles, and what does not.
import { fixedWindow, type RateLimitState, rateLimit, unlimited } from '@weir/koa'
import Koa, { type DefaultContext } from 'koa'

interface State extends RateLimitState {
  user: { readonly id: string; readonly plan: 'free' | 'pro' }
}
interface Extras extends DefaultContext {
  tenant: string
}

const small = fixedWindow({ limit: 5, window: '1h' })

export const app = new Koa()
app.use(
  rateLimit({
    policy: (ctx) => (ctx.get('x-plan') === 'pro' ? unlimited() : small),
    key: (ctx) => ctx.get('x-api-key') || ctx.ip,
    cost: (ctx) => Number(ctx.query.pages ?? 1),
    onDenied: (decision, ctx) => ctx.throw(429, `in ${decision.retryAfterMs} ms`),
  }),
)
app.use((ctx) => {
  const left: number | undefined = ctx.state.rateLimit?.remaining
  ctx.body = left
})

export const typed = new Koa<State, Extras>()
const perUser: Koa.Middleware<State, Extras> = rateLimit({
  limit: (ctx) => (ctx.state.user.plan === 'pro' ? 1_000 : 10),
  window: '1m',
  key: (ctx) => `${ctx.tenant}:${ctx.state.user.id}`,
})
typed.use(perUser)

// @ts-expect-error no window
rateLimit({ limit: 1 })
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1s', policy: small })
// @ts-expect-error an unknown option
rateLimit({ limit: 1, window: '1s', max: 5 })
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
