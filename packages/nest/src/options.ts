// core/http's options as Nest's users write them: each function is also given the execution
// context.

import type { ExecutionContext } from '@nestjs/common'
import type { Denied, Policy, PolicyUse } from '@weir/core'
import type { Allowance, LimitSettings } from '@weir/core/http'

/**
 * The request that the options' functions are given: over HTTP and GraphQL the request of Express
 * or Fastify, in a gateway the client's socket, in a microservice the transport's context. For
 * exact types, annotate: `key: (req: Request) => ...`.
 */
export interface NestRequest {
  readonly ip?: string
  // biome-ignore lint/suspicious/noExplicitAny: any platform, and whatever guards and middleware add
  readonly [property: string]: any
}

type Allowed<Req> = Allowance<Req, [ExecutionContext]>

/** All options except the policy, or limit and window. */
export interface Settings<Req = NestRequest> extends LimitSettings<Req, [ExecutionContext]> {
  /**
   * Called before a denied request is refused. What it throws replaces the `RateLimitException`. It
   * must not send the response.
   */
  readonly onDenied?:
    | ((decision: Denied, request: Req, context: ExecutionContext) => unknown)
    | undefined
  /** When it runs: before all guards (`'first'`, the default), or when they have passed
   *  (`'afterGuards'`), so that it sees what an authentication guard put on the request. */
  readonly order?: 'first' | 'afterGuards' | undefined
}

interface Counting {
  /** True: each handler has its own counters. Default false. */
  readonly perHandler?: boolean | undefined
}

/**
 * Options of `@RateLimit`. With a policy, or limit and window, it makes its own limiter, named by
 * default after the class, or `Class.method`; other options come from the module. Without, it
 * changes the limiters that apply otherwise: see docs/nest.md.
 */
export type RateLimitOptions<Req = NestRequest> = Settings<Req> & Counting & Partial<Allowed<Req>>

/** Changes to single limiters, by their names; the others stay. */
export interface RateLimitOverride<Req = NestRequest> {
  readonly override: Readonly<Record<string, RateLimitOptions<Req>>>
}

/** A policy that decorators use by its name. */
export type NamedPolicy<Req = NestRequest> =
  | Policy
  | readonly (Policy | PolicyUse)[]
  | (Settings<Req> & Counting & Allowed<Req> & { readonly name?: never })

/** Options of `RateLimitModule`; all but name and policies also hold for decorators. */
export type RateLimitModuleOptions<Req = NestRequest> = Settings<Req> &
  Counting &
  (Allowed<Req> | { readonly policy?: never; readonly limit?: never; readonly window?: never }) & {
    /** Policies for `@RateLimit('name')`. All decorators that name one count together. */
    readonly policies?: Readonly<Record<string, NamedPolicy<Req>>> | undefined
    /** Those of `policies` that hold where no decorator says otherwise, in this order. */
    readonly defaults?: readonly string[] | undefined
    /**
     * Whether the store is closed when the application shuts down; a function is called afterwards,
     * to end the client: `() => redis.disconnect()`. Failures are logged. Default: only if it is
     * the module's own.
     */
    readonly closeStore?: boolean | (() => unknown) | undefined
  }
