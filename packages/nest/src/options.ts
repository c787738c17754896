// The options of core/http as Nest's users write them: each function is given the execution context
// besides.

import type { ExecutionContext } from '@nestjs/common'
import type { Denied, Policy, PolicyUse } from '@weir/core'
import type { Allowance, LimitSettings } from '@weir/core/http'

/**
 * The request of the options' functions: over HTTP and GraphQL the request of Express or Fastify,
 * in a gateway the client's socket, in a microservice the context of the transport. For exact
 * types, annotate: `key: (req: Request) => ...`.
 */
export interface NestRequest {
  readonly ip?: string
  // biome-ignore lint/suspicious/noExplicitAny: any platform, and whatever guards and middleware add
  readonly [property: string]: any
}

type Allowed<Req> = Allowance<Req, [ExecutionContext]>

/** All but what is allowed. */
export interface Settings<Req = NestRequest> extends LimitSettings<Req, [ExecutionContext]> {
  /** Called before a denied request is refused. What it throws goes in place of the
   *  `RateLimitException`. It is not to answer the response itself, which is for exception
   *  filters. */
  readonly onDenied?:
    | ((decision: Denied, request: Req, context: ExecutionContext) => unknown)
    | undefined
  /** When it runs: before all guards (`'first'`, the default), or when they have passed, so that
   *  what an authentication guard put on the request is there. */
  readonly order?: 'first' | 'afterGuards' | undefined
}

interface Counting {
  /** True: each handler that it limits has counters of its own. */
  readonly perHandler?: boolean | undefined
}

/**
 * Options of `@RateLimit`.
 *
 * With a policy, or limit and window, it is a limiter of its own. What else is not given is as in
 * the module's options. `name` is by default that of the class, or `Class.method`.
 *
 * Without, it changes the limiters that hold otherwise, those of the class or else of the module.
 * One that changes limit, window or name makes it a limiter of its own.
 */
export type RateLimitOptions<Req = NestRequest> = Settings<Req> & Counting & Partial<Allowed<Req>>

/** What is different of single limiters, by their names; the others stay. */
export interface RateLimitOverride<Req = NestRequest> {
  readonly override: Readonly<Record<string, RateLimitOptions<Req>>>
}

/** A policy that decorators call by its name. */
export type NamedPolicy<Req = NestRequest> =
  | Policy
  | readonly (Policy | PolicyUse)[]
  | (Settings<Req> & Counting & Allowed<Req> & { readonly name?: never })

/** Options of `RateLimitModule`. All but name and policies hold for decorators too. */
export type RateLimitModuleOptions<Req = NestRequest> = Settings<Req> &
  Counting &
  (Allowed<Req> | { readonly policy?: never; readonly limit?: never; readonly window?: never }) & {
    /** Policies for `@RateLimit('name')`. All that name one count together. */
    readonly policies?: Readonly<Record<string, NamedPolicy<Req>>> | undefined
    /** Those of `policies` that hold where no decorator says otherwise, in this order. */
    readonly defaults?: readonly string[] | undefined
    /** Whether the store is closed when the application shuts down. Default: only if it is the
     *  module's own. A function is called when it is closed, to end the client:
     *  `() => redis.disconnect()`. What fails is logged, and the shutdown goes on. */
    readonly closeStore?: boolean | (() => unknown) | undefined
  }
