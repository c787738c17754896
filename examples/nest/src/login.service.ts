import { Injectable } from '@nestjs/common'
import { InjectRateLimiter, type RateLimiter } from '@weir/nest'

/** Uses a limiter without a request: an account may have five wrong passwords in 15 minutes. */
@Injectable()
export class LoginService {
  constructor(@InjectRateLimiter('login') private readonly attempts: RateLimiter) {}

  async login(account: string, password: string): Promise<string> {
    const decision = await this.attempts.consume(account)
    if (!decision.allowed) return `try again in ${Math.ceil(decision.retryAfterMs / 1_000)} s`
    if (password !== 'open sesame') return 'wrong'
    await this.attempts.refund(decision)
    return 'welcome'
  }
}
