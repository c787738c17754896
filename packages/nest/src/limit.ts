// One limiter of a Nest application: the options as core/http wants them.

import type { ExecutionContext } from '@nestjs/common'
import type { Policy, RateLimiter } from '@weir/core'
import { type HttpLimiter, httpLimiter, type LimitOptions, type Verdict } from '@weir/core/http'
import { Call, type Looked, nest } from './call.js'
import type { NamedPolicy, RateLimitOptions } from './options.js'

export interface Limit {
  readonly name: string
  readonly options: RateLimitOptions
  readonly limiter: RateLimiter
  /** The calls that it has been asked about, so that it is not asked twice where several guards and interceptors ask. */
  readonly seen: WeakSet<object>
  /** `key`: of a guard that has its own way to find it. */
  check(context: ExecutionContext, looked: Looked, key: Call['key']): Verdict | Promise<Verdict>
}

export function limitOf(options: RateLimitOptions, name: string): Limit {
  const asked = { ...bound(options), name }
  const { limiter, check } = httpLimiter(asked, nest)
  let keyed: HttpLimiter<Call, object> | undefined

  return {
    name,
    options,
    limiter,
    seen: new WeakSet(),
    check: (context, looked, key) => {
      const call = new Call(context, looked, key)
      if (key === undefined || options.key !== undefined) return check(call, call.response)
      keyed ??= httpLimiter({ ...asked, ...keyedBy(limiter, asked) } as LimitOptions<Call>, nest)
      return keyed.check(call, call.response)
    },
  }
}

/** The same counters, found by the guard's key. It follows the switch of the limiter that services have. */
function keyedBy(limiter: RateLimiter, { skip }: LimitOptions<Call>): Partial<LimitOptions<Call>> {
  return {
    shared: true,
    key: (call) => call.key?.(call.request, call.context) as string,
    skip: (call) => !limiter.enabled || (skip?.(call) ?? false),
  }
}

const FUNCTIONS = [
  'key',
  'onMissingKey',
  'cost',
  'skip',
  'policy',
  'limit',
  'window',
  'body',
  'refundWhen',
] as const

/** The users' functions are given the request instead of the call, and the context after all else. */
function bound({ onDenied, afterGuards, ...options }: RateLimitOptions): LimitOptions<Call> {
  const own = options as Record<string, unknown>
  const functions = FUNCTIONS.flatMap((name) => {
    const given = own[name]
    return typeof given === 'function' ? [[name, translated(given as Parameters<typeof translated>[0])]] : []
  })
  return { ...own, ...Object.fromEntries(functions) }
}

function translated(given: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
  return (...args) => {
    const call = args.find((arg) => arg instanceof Call) as Call
    return given(...args.map((arg) => (arg === call ? call.request : arg)), call.context)
  }
}

/** Options from one of the forms that the module's `policies` may have. */
export function namedOptions(named: NamedPolicy): RateLimitOptions {
  const isPolicy = Array.isArray(named) || (named as Policy).signature !== undefined
  return isPolicy ? { policy: named as Policy } : (named as RateLimitOptions)
}
