// The options of core/http as Nest's users write them: each function is given the execution context besides.

import type { ExecutionContext } from '@nestjs/common'
import type { Denied, Duration, Policy, PolicyInput, PolicyUse, Store } from '@weir/core'
import type { Awaitable, LimitOptions, MaybeKey, ResponseOutcome } from '@weir/core/http'

/**
 * What limits are told of: over HTTP and GraphQL the request of Express or Fastify, in a gateway the client's socket, in
 * a microservice the context of the transport. For exact types, annotate: `key: (req: Request) => ...`.
 */
export interface NestRequest {
  readonly ip?: string
  // biome-ignore lint/suspicious/noExplicitAny: any platform, and whatever guards and middleware add
  readonly [property: string]: any
}

type Asked<Req, Value> = (request: Req, context: ExecutionContext) => Awaitable<Value>

interface Functions<Req> {
  /** Who is limited. Default: the client's address, IPv6 by its network of `ipv6Prefix` bits. */
  readonly key?: Asked<Req, MaybeKey>
  /** What becomes of a request without a usable key: `'shared'` (all such share one bucket; the default, with a
   *  warning), `'skip'`, `'deny'` (403), or a function that gives a key. */
  readonly onMissingKey?: 'shared' | 'skip' | 'deny' | Asked<Req, MaybeKey>
  /** Units that a request takes. Whole, >= 0. Default 1. */
  readonly cost?: number | Asked<Req, number>
  /** True: this request is not limited. */
  readonly skip?: Asked<Req, boolean>
  readonly body?:
    | string
    | object
    | ((decision: Denied, request: Req, context: ExecutionContext) => string | object)
  /** Whether an allowed request gets its cost back, once its response is known. Only where there is a response. */
  readonly refundWhen?: (
    request: Req,
    outcome: ResponseOutcome,
    context: ExecutionContext,
  ) => Awaitable<boolean>
  /** Called before a denied request is refused: throw an exception of your own, or answer the response. If it does
   *  neither, a `RateLimitException` is thrown. */
  readonly onDenied?: (decision: Denied, request: Req, context: ExecutionContext) => unknown
  /** True: asked when all guards have passed, so that what an authentication guard put on the request is there. */
  readonly afterGuards?: boolean
}

type Allowance<Req> =
  | {
      readonly policy: PolicyInput | Asked<Req, PolicyInput>
      readonly limit?: never
      readonly window?: never
    }
  | {
      readonly limit: number | Asked<Req, number>
      readonly window: Duration | Asked<Req, Duration>
      readonly policy?: never
    }

type Settings<Req> = Functions<Req> &
  Omit<LimitOptions<Req>, keyof Functions<Req> | 'policy' | 'limit' | 'window' | 'name'>

/** Options of `@RateLimit`. What is not given is as in the module's options. */
export type RateLimitOptions<Req = NestRequest> = Settings<Req> &
  Allowance<Req> & {
    /** Identity of the limiter: same name on one store, same counters. Default: the class, or `Class.method`. */
    readonly name?: string
  }

/** A policy that decorators call by its name. */
export type NamedPolicy<Req = NestRequest> =
  | Policy
  | readonly (Policy | PolicyUse)[]
  | (Settings<Req> & Allowance<Req>)

/** Options of `RateLimitModule`. All but the policies hold for decorators too. */
export type RateLimitModuleOptions<Req = NestRequest> = Settings<Req> &
  (Allowance<Req> | { readonly policy?: never; readonly limit?: never; readonly window?: never }) & {
    /** Name of the default policy's limiter. Default `'default'`. */
    readonly name?: string
    /** Where counters live. Default: a `memoryStore()` of the module. */
    readonly store?: Store
    /** Policies for `@RateLimit('name')`. All that name one count together. */
    readonly policies?: Readonly<Record<string, NamedPolicy<Req>>>
    /** Whether the store is closed when the application shuts down. Default: only if it is the module's own. */
    readonly closeStore?: boolean
  }
