// The limiters that @weir/compat serves, in the order of docs/compat.md.

import { betterAuthLimits } from './better-auth.js'
import { expressRateLimit } from './express.js'
import { fastifyRateLimit } from './fastify.js'
import { rateLimiterFlexible } from './flexible.js'
import { honoRateLimiter } from './hono.js'
import { counting, type Incumbent } from './incumbent.js'
import { koaRatelimit } from './koa.js'
import { nestThrottler } from './nest.js'

export const INCUMBENTS: readonly Incumbent[] = [
  expressRateLimit,
  honoRateLimiter,
  fastifyRateLimit,
  nestThrottler,
  betterAuthLimits,
  koaRatelimit,
  rateLimiterFlexible,
].map((each) => ({ ...each, behaviours: [...counting(each), ...each.behaviours] }))
