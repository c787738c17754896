// Runs the limiters of a handler: as one of its guards, or after them.

import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common'
import { isPromise, type Refusal } from '@weir/core/http'
import { RateLimitException } from './exception.js'
import type { Limit } from './limit.js'
import type { RateLimits } from './limits.js'
import { beginMessage, isMessage } from './message.js'
import { type Looked, lookUp } from './request.js'
import { GUARD, LIMITS } from './tokens.js'

/**
 * Works for HTTP, GraphQL, gateways and microservices. The protected methods are there to be
 * overridden.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  @Inject(LIMITS) protected readonly limits!: RateLimits
  /** True for the module's own global guard where there is an interceptor: the guard leaves to it
   *  the limiters that run after all guards. */
  leaves = false

  /** Answers at once where the limiters do: Nest then goes on without waiting. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const asked = this.ask(context, this.leaves && hasInterceptors(context))
    return isPromise(asked) ? asked.then(() => true) : true
  }

  /** Runs the limiters that have not run yet for this call; with `leaveSome`, not those that run
   *  after all guards. */
  ask(context: ExecutionContext, leaveSome: boolean): void | Promise<void> {
    const looked = this.lookUp(context)
    const call = identityOf(context)
    if (isMessage(context)) beginMessage(context)
    const limits = this.limits.of(context.getClass(), context.getHandler())

    const askFrom = (first: number): void | Promise<void> => {
      for (let i = first; i < limits.length; i += 1) {
        const limit = limits[i] as Limit
        if (limit.seen.has(call) || (leaveSome && limit.options.afterGuards)) continue
        limit.seen.add(call)
        const refusal = limit.check(looked.request, looked.response, context)
        if (isPromise(refusal)) {
          return refusal
            .then((settled) => settled && this.refuse(settled, limit, looked, context))
            .then(() => askFrom(i + 1))
        }
        if (refusal !== undefined) return this.refuse(refusal, limit, looked, context)
      }
    }
    return askFrom(0)
  }

  /** Where the request is, and the response if there is one. */
  protected lookUp(context: ExecutionContext): Looked {
    return lookUp(context)
  }

  /** What is thrown when a request is refused. */
  protected exception(refusal: Refusal, _context: ExecutionContext): unknown {
    return new RateLimitException(refusal)
  }

  private async refuse(
    refusal: Refusal,
    { options }: Limit,
    { request }: Looked,
    context: ExecutionContext,
  ): Promise<never> {
    const { decision } = refusal
    if (decision?.allowed === false) await options.onDenied?.(decision, request, context)
    throw this.exception(refusal, context)
  }
}

/** Runs, when all guards have passed, the limiters that the guard has left to it. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  protected readonly guard: RateLimitGuard

  constructor(@Inject(GUARD) guard: RateLimitGuard) {
    this.guard = guard
  }

  async intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Promise<ReturnType<CallHandler['handle']>> {
    await this.guard.ask(context, false)
    return next.handle()
  }
}

/**
 * What is the same for all guards and interceptors of a call: over HTTP the request, elsewhere the
 * array of arguments.
 */
function identityOf(context: ExecutionContext): object {
  const args = context.getArgs()
  return context.getType() === 'http' && typeof args[0] === 'object' ? args[0] : args
}

/**
 * Where a global guard runs, so does a global interceptor, but for fields below the root that only
 * guards are set up for.
 */
function hasInterceptors(context: ExecutionContext): boolean {
  return (
    context.getType<string>() !== 'graphql' || context.getArgByIndex(3)?.path?.prev === undefined
  )
}
