// All subjects that use Redis.

import { fastifyRateLimit } from './fastify-rate-limit.js'
import { incr } from './incr.js'
import { koaRatelimit } from './koa-ratelimit.js'
import { nestThrottler } from './nest-throttler.js'
import { rateLimitRedis } from './rate-limit-redis.js'
import { rateLimiterFlexible } from './rate-limiter-flexible.js'
import type { RedisSubjectKind } from './subject.js'
import { weir } from './weir.js'

export const subjects: readonly RedisSubjectKind[] = [
  incr,
  ...weir,
  rateLimitRedis,
  rateLimiterFlexible,
  fastifyRateLimit,
  nestThrottler,
  koaRatelimit,
]
