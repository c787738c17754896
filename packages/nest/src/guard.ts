// Runs a handler's limiters, as one of its guards or after them.

import 'reflect-metadata'
import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common'
import { abandonHandler, beginHandler, heldBy, type Refusal } from '@weir/core/http'
import { isPromise } from '@weir/core/internal'
import { defer, finalize } from 'rxjs'
import { RateLimitException, withoutStatusCode } from './exception.js'
import type { Limit } from './limit.js'
import type { RateLimits } from './limits.js'
import { checkReal } from './made-up.js'
import { beginMessage, isForeign, isMessage } from './message.js'
import { callOf, type Looked, lookUp } from './request.js'
import { GUARD, LIMITS } from './tokens.js'

/** What runs the limiters: a guard; an interceptor placed by hand; or the module's interceptor,
 *  which runs what a global guard has left to it. */
type Place = 'guard' | 'interceptor' | 'left'

/**
 * Runs the limits of HTTP, GraphQL, gateways and microservices. The protected methods are meant to
 * be overridden.
 */
@Injectable()
@Reflect.metadata(GUARD, true)
export class RateLimitGuard implements CanActivate {
  @Inject(LIMITS) protected readonly limits!: RateLimits

  /** Answers synchronously where the limiters do: Nest then goes on without waiting. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const asked = this.ask(context, 'guard')
    return isPromise(asked) ? asked.then(() => true) : true
  }

  /** Runs the limiters that are due and have not run yet for this call. */
  ask(context: ExecutionContext, place: Place): void | Promise<void> {
    const looked = this.lookUp(context)
    if (isMessage(context)) beginMessage(context)
    const call = callOf(context)
    const isOther = isForeign(context)
    if (isOther) checkReal(context)
    const limits = this.limits.of(context.getClass(), context.getHandler(), isOther)

    const askFrom = (first: number): void | Promise<void> => {
      for (let i = first; i < limits.length; i += 1) {
        const limit = limits[i] as Limit
        if (!this.isDue(limit, call, place) || limit.seen.has(call)) continue
        limit.seen.add(call)
        if (limit.base?.enabled === false) continue
        const refusal = limit.check(looked.request, looked.response, context)
        if (isPromise(refusal)) {
          return refusal
            .then((settled) => settled && this.refuse(settled, limit, looked, context))
            .then(() => askFrom(i + 1))
        }
        if (refusal !== undefined) return this.refuse(refusal, limit, looked, context)
      }
    }
    // Refused, or failed: the slots that earlier limiters have taken for the handler are given
    // back.
    const failed = (error: unknown): never => {
      abandonHandler(call)
      throw error
    }
    try {
      const asked = askFrom(0)
      return isPromise(asked) ? asked.catch(failed) : asked
    } catch (error) {
      return failed(error)
    }
  }

  /** Finds the request, and the response if there is one. */
  protected lookUp(context: ExecutionContext): Looked {
    return lookUp(context)
  }

  /** Makes what is thrown when a request is refused. */
  protected exception(refusal: Refusal, context: ExecutionContext): unknown {
    const isGraphql = context.getType<string>() === 'graphql'
    return new RateLimitException(isGraphql ? withoutStatusCode(refusal) : refusal)
  }

  /**
   * Whether a limiter runs now. Where Nest runs a global guard, it also runs a global interceptor
   * after all guards, so the guard leaves late limiters to that. A guard placed by hand runs all
   * limiters where it stands.
   */
  private isDue({ isLate, left }: Limit, call: object, place: Place): boolean {
    if (place === 'left') return left.has(call)
    if (!isLate || place === 'interceptor') return true
    if (this.limits.isGlobal(this)) left.add(call)
    return !left.has(call)
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

/** Runs, where it is placed, all limiters that have not run yet. */
@Injectable()
@Reflect.metadata(GUARD, true)
export class RateLimitInterceptor implements NestInterceptor {
  @Inject(GUARD) protected readonly guard!: RateLimitGuard

  intercept(context: ExecutionContext, next: CallHandler): Handled | Promise<Handled> {
    return handleAfter(this.guard.ask(context, 'interceptor'), context, next)
  }
}

/** Runs what a global guard has left. A test's replacement for the guard runs nothing. */
export function leftTo(guard: Partial<RateLimitGuard>): NestInterceptor {
  return { intercept: (context, next) => handleAfter(guard.ask?.(context, 'left'), context, next) }
}

type Handled = ReturnType<CallHandler['handle']>

function handleAfter(
  asked: void | Promise<void>,
  context: ExecutionContext,
  next: CallHandler,
): Handled | Promise<Handled> {
  return isPromise(asked) ? asked.then(() => handle(context, next)) : handle(context, next)
}

/** Holds the request's slots until its handler has ended, whenever the client leaves. The handler
 *  begins when something subscribes, which an interceptor around this one may never do. */
function handle(context: ExecutionContext, next: CallHandler): Handled {
  const call = callOf(context)
  if (heldBy(call) === undefined) return next.handle()
  return defer(() => {
    let end: () => void = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const refusal = beginHandler(call, ended)
    if (refusal !== undefined) throw new RateLimitException(refusal)
    return defer(() => next.handle()).pipe(finalize(end))
  })
}
