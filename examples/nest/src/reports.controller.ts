import { Controller, Get, Post, UseGuards } from '@nestjs/common'
import {
  fixedWindow,
  RateLimit,
  RateLimitDecision,
  type RequestDecision,
  SkipRateLimit,
  tokenBucket,
} from '@weir/nest'
import { AuthGuard } from './auth.guard.js'

// All handlers of the class share one bucket for each client, which replaces the module's default
// policy.
@Controller('reports')
@RateLimit(tokenBucket({ name: 'reports', capacity: 3, refill: 1, every: '1s' }))
export class ReportsController {
  @Get()
  list(@RateLimitDecision() { remaining }: RequestDecision) {
    return { reports: [], left: remaining }
  }

  // Two a minute for each user, besides the default policy. The default counts addresses before any
  // guard runs; the user is known only after the guard.
  @Post()
  @UseGuards(AuthGuard)
  @RateLimit.also({
    policy: fixedWindow({ name: 'create', limit: 2, window: '1m' }),
    key: (req) => req.user.id,
    order: 'afterGuards',
  })
  create() {
    return { created: true }
  }

  @Get('health')
  @SkipRateLimit()
  health() {
    return 'ok'
  }
}
