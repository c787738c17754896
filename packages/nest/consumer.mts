// A Nest application: what compiles, and what does not.
import type { ExecutionContext } from '@nestjs/common'
import {
  fixedWindow,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
  SkipRateLimit,
  tokenBucket,
  unlimited,
} from '@weir/nest'

interface SignedIn {
  readonly user: { readonly id: string; readonly pages: number }
}

const once = fixedWindow({ limit: 1, window: '1h' })

export const modules = [
  RateLimitModule.forRoot({ limit: 100, window: '1m' }),
  RateLimitModule.forRoot({
    policies: { login: once, both: [once, tokenBucket({ capacity: 1, refill: 1, every: '1s' })] },
  }),
  RateLimitModule.forRoot({
    policy: (req: SignedIn) => (req.user.pages > 1 ? unlimited() : once),
    key: (req, context) => `${req.user.id} ${context.getHandler().name}`,
    cost: (req) => req.user.pages,
    refundWhen: ({ user }, { status }, context: ExecutionContext) =>
      status >= 500 && user.pages > 1 && context.getClass() === Object,
  }),
  RateLimitModule.forRootAsync({
    useFactory: async (): Promise<RateLimitModuleOptions> => ({ policy: once }),
  }),
]
export const decorators = [
  RateLimit(once),
  RateLimit('login', 'api'),
  RateLimit.also({ policy: once, key: (req) => req.user.id, order: 'afterGuards' }),
  RateLimit({
    limit: 1,
    window: '1m',
    key: (req: SignedIn) => req.user.id,
    cost: (req) => req.user.pages,
  }),
  SkipRateLimit('login'),
]
export const options: RateLimitOptions<SignedIn> = { policy: once, key: (req) => req.user.id }

// @ts-expect-error no such option
RateLimit({ policy: once, kee: 1 })
// @ts-expect-error either a policy or a limit
RateLimit({ policy: once, limit: 1, window: '1m' })
// @ts-expect-error no window
RateLimitModule.forRoot({ limit: 1 })
// @ts-expect-error no such option
RateLimitModule.forRoot({ policy: once, globl: false })
// @ts-expect-error no such format
RateLimitModule.forRoot({ policy: once, headers: 'draft-9' })
// @ts-expect-error no such property
RateLimit({ policy: once, key: (req: SignedIn) => req.user.name })
RateLimit({ policy: once, key: (req: SignedIn) => req.user.pages })
// @ts-expect-error not a key
RateLimit({ policy: once, key: (req: SignedIn) => req.user })
const key = (req: SignedIn) => req.user.id
// @ts-expect-error not a cost
RateLimitModule.forRoot({ policy: once, key, cost: (req: SignedIn) => req.user.id })
// @ts-expect-error a named policy takes its name from its property
RateLimitModule.forRoot({ policies: { login: { policy: once, name: 'other' } } })
// @ts-expect-error a number is neither a policy nor the name of one
RateLimit(7)
