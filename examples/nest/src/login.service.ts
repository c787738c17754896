import { Injectable } from '@nestjs/common'
import { InjectRateLimiter, type RateLimiter } from '@weir/nest'

/** A limiter without a request: five wrong passwords for an account in a quarter of an hour. */
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
