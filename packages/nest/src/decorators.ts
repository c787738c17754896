// Decorators of classes and methods. They only store metadata, which `RateLimits` reads.

import 'reflect-metadata'
import { Inject, type Type } from '@nestjs/common'
import type { Policy } from '@weir/core'
import { quote } from '@weir/core/internal'
import { invalid } from './exception.js'
import type { NestRequest, RateLimitOptions, RateLimitOverride } from './options.js'
import { DECLARED, getRateLimiterToken, SKIPPED } from './tokens.js'

/** One use of `@RateLimit`. */
export interface Declared {
  readonly also: boolean
  readonly names: readonly string[]
  readonly options: RateLimitOptions | undefined
  readonly override: RateLimitOverride['override'] | undefined
}

type Mark = ClassDecorator & MethodDecorator

export interface RateLimitDecorator {
  /** Policies that the module names; each decides by itself, in this order. */
  (...names: [string, ...string[]]): Mark
  /** Policies that make one decision: all allow and all are charged, or none is. */
  (...policies: [Policy, ...Policy[]]): Mark
  <Req = NestRequest>(options: RateLimitOptions<Req> | RateLimitOverride<Req>): Mark
}

/**
 * Limits a handler, or all handlers of a class together, in place of the module's default policy. A
 * method's decorator replaces its class's.
 *
 * @example @RateLimit(fixedWindow({ limit: 5, window: '1h' }))
 */
export const RateLimit: RateLimitDecorator & { readonly also: RateLimitDecorator } = Object.assign(
  declaring(false),
  { also: declaring(true) },
)

/**
 * Frees a handler or a class from all limits, or from the limiters with these names. A method's
 * decorator replaces its class's.
 */
export function SkipRateLimit(...names: string[]): Mark {
  return mark(SKIPPED, names)
}

/** Injects the limiter of a policy that the module names, or of its default policy. */
export function InjectRateLimiter(name = 'default'): PropertyDecorator & ParameterDecorator {
  return Inject(getRateLimiterToken(name))
}

/** The `@RateLimit` of a class, or that of one of its methods. */
export function declaredOn(owner: Type, method?: string): Declared | undefined {
  return marked(DECLARED, owner, method) as Declared | undefined
}

/** The names of a `@SkipRateLimit`. */
export function skippedOn(owner: Type, method?: string): readonly string[] | undefined {
  return marked(SKIPPED, owner, method) as readonly string[] | undefined
}

function declaring(also: boolean): RateLimitDecorator {
  return (...what: readonly unknown[]) => mark(DECLARED, { also, ...declared(what) })
}

function declared(what: readonly unknown[]): Omit<Declared, 'also'> {
  const [first] = what
  const none = { names: [], options: undefined, override: undefined }
  if (what.length > 0 && what.every((one) => typeof one === 'string')) {
    return { ...none, names: what }
  }
  if (what.length > 0 && what.every(isPolicy)) return { ...none, options: { policy: what } }
  if (what.length === 1 && typeof first === 'object' && first !== null) {
    if (!('override' in first))
      return { ...none, options: withoutUndefined(first as RateLimitOptions) }
    if (isOverride(first)) return { ...none, override: mapped(first.override) }
  }
  const right =
    'give names, or policies, or one object of options, or { override: { name: options } }'
  throw invalid(`@RateLimit was given ${quote(what)}; ${right} (undefined: a circular import?)`)
}

function mapped(override: RateLimitOverride['override']): RateLimitOverride['override'] {
  return Object.fromEntries(
    Object.entries(override).map(([name, options]) => [name, withoutUndefined(options)]),
  )
}

/** The options without the undefined ones, which are inherited. */
export function withoutUndefined<Options extends object>(options: Options): Options {
  const entries = Object.entries(options)
  const some = entries.filter(([, value]) => value !== undefined)
  // A limiter with a name is known by its options object, so that object is kept.
  return some.length === entries.length ? options : (Object.fromEntries(some) as Options)
}

function isOverride(value: object): value is RateLimitOverride {
  const { override } = value as Partial<RateLimitOverride>
  if (Object.keys(value).length > 1 || typeof override !== 'object' || override === null)
    return false
  return Object.values(override).every((one) => typeof one === 'object' && one !== null)
}

function isPolicy(value: unknown): value is Policy {
  return (value as Policy | null | undefined)?.signature !== undefined
}

function mark(key: symbol, value: unknown): Mark {
  return (target: object, method?: string | symbol) => {
    // Undefined for a class. A method is marked by its name, not on its function: a decorator above
    // may replace the function.
    const name = method as string
    if (Reflect.hasOwnMetadata(key, target, name)) {
      throw invalid(
        `${String(method ?? (target as Type).name)} has @RateLimit or @SkipRateLimit twice; combine them into one`,
      )
    }
    Reflect.defineMetadata(key, value, target, name)
  }
}

/** A method that a derived class overrides has only the decorators written there. */
function marked(key: symbol, owner: Type, method: string | undefined): unknown {
  if (method === undefined) return Reflect.getMetadata(key, owner)
  let has = owner.prototype
  while (has !== null && !Object.hasOwn(has, method)) has = Object.getPrototypeOf(has)
  return has === null ? undefined : Reflect.getOwnMetadata(key, has, method)
}
