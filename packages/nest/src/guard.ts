// Asks the limiters of a handler: before it, among its guards, or after them.

import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common'
import type { Refusal } from '@weir/core/http'
import { RateLimitException } from './exception.js'
import type { RateLimits } from './limits.js'
import { beginMessage, isMessage } from './message.js'
import { type Looked, lookUp } from './request.js'
import { GUARD, LIMITS } from './tokens.js'

/** Works for HTTP, GraphQL, gateways and microservices. The protected methods are there to be overridden. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  @Inject(LIMITS) protected readonly limits!: RateLimits
  /** True for the module's own global guard: what is to be asked after all guards it leaves to the interceptor. */
  leaves = false

  async canActivate(context: ExecutionContext): Promise<boolean> {
    await this.ask(context, this.leaves && hasInterceptors(context))
    return true
  }

  /** Asks the limiters that have not been asked yet, but for those that are to be asked after all guards. */
  async ask(context: ExecutionContext, leaveSome: boolean): Promise<void> {
    const { request, response } = this.lookUp(context)
    const call = identityOf(context)
    if (isMessage(context)) beginMessage(context)
    for (const { check, options, seen } of this.limits.of(context.getClass(), context.getHandler())) {
      if (seen.has(call) || (leaveSome && options.afterGuards)) continue
      seen.add(call)
      const refusal = await check(request, response, context)
      if (refusal === undefined) continue
      const { decision } = refusal
      if (decision?.allowed === false) await options.onDenied?.(decision, request, context)
      throw this.exception(refusal, context)
    }
  }

  /** Where the request is, and the response if there is one. */
  protected lookUp(context: ExecutionContext): Looked {
    return lookUp(context)
  }

  /** What is thrown when a request is refused. */
  protected exception(refusal: Refusal, _context: ExecutionContext): unknown {
    return new RateLimitException(refusal)
  }
}

/** Asks, when all guards have passed, the limiters that the guard has left. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  @Inject(GUARD) protected readonly guard!: RateLimitGuard

  async intercept(context: ExecutionContext, next: CallHandler): Promise<ReturnType<CallHandler['handle']>> {
    await this.guard.ask(context, false)
    return next.handle()
  }
}

/** What is the same for all guards and interceptors of a call: over HTTP the request, elsewhere the array of arguments. */
function identityOf(context: ExecutionContext): object {
  const args = context.getArgs()
  return context.getType() === 'http' && typeof args[0] === 'object' ? args[0] : args
}

/** Where a global guard runs, so does a global interceptor, but for fields below the root that only guards are set up for. */
function hasInterceptors(context: ExecutionContext): boolean {
  return context.getType<string>() !== 'graphql' || context.getArgByIndex(3)?.path?.prev === undefined
}
