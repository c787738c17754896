// The options that every adapter has, with the same meaning in all of them.

import type { AddressOptions } from '../base/address-key.js'
import type { Duration } from '../base/duration.js'
import type { Awaitable } from '../base/maybe-async.js'
import type { Cost } from '../limiter/costs.js'
import type { Denied } from '../limiter/decision.js'
import type { RateLimiterOptions } from '../limiter/options.js'
import type { Key, PolicyInput } from '../policy-input.js'
import type { ProxyOptions } from './client/proxies.js'
import type { HeaderFormat } from './response/headers.js'
import type { RefundWhen, Settle } from './response/refund.js'
import type { DenialOptions } from './response/refusal.js'

/** A key, which a request may lack. */
export type MaybeKey = Key | null | undefined

/** A function of the request. `Rest`: its other arguments, which depend on the framework. */
export type Asked<Req, Rest extends unknown[], Value> = (
  request: Req,
  ...rest: Rest
) => Awaitable<Value>

/** One of the names in `reserve`, or the class that always exists. */
export type ClassName<Class extends string> = NoInfer<Class> | 'critical'

/** All options except the policy, or limit and window. */
export interface LimitSettings<Req, Rest extends unknown[] = [], Class extends string = string>
  extends Omit<RateLimiterOptions, 'policy' | 'reserve'>,
    DenialOptions<Req, Rest>,
    AddressOptions {
  /**
   * Returns who is limited. A string of more than 8,192 characters is answered with 400. Default:
   * the client's address, of an IPv6 client its network.
   */
  readonly key?: Asked<Req, Rest, MaybeKey> | undefined
  /**
   * What becomes of a request without a usable key: `'shared'`, the default, all of them share one
   * bucket, with a warning; `'skip'`, it is not limited; `'deny'`, 403; or a function that returns
   * a key.
   */
  readonly onMissingKey?: 'shared' | 'skip' | 'deny' | Asked<Req, Rest, MaybeKey> | undefined
  /** Units of each policy, or by the names of policies: whole numbers from 0. Default 1. Where a
   *  function returns no valid cost, 1 is charged and the request is answered with 400. */
  readonly cost?: Cost | Asked<Req, Rest, Cost> | undefined
  /**
   * Classes of requests, by name, each with the fraction of every limit that it leaves to others,
   * from 0 to 1: see docs/priority.md.
   */
  readonly reserve?: Readonly<Record<Class, number>> | undefined
  /**
   * The class of requests, one of `reserve` or `'critical'`, or a function that returns it.
   * Anything else counts as the class that leaves most, with a warning. Default: no class, which
   * leaves nothing.
   */
  readonly priority?: ClassName<Class> | Asked<Req, Rest, ClassName<Class>> | undefined
  /**
   * How long a request may wait for its turn instead of being refused: see docs/waiting.md. 0, the
   * default: nobody waits.
   */
  readonly wait?: Duration | undefined
  /** True: this request is not limited. */
  readonly skip?: Asked<Req, Rest, boolean> | undefined
  /** Addresses and CIDR ranges whose clients are not limited. */
  readonly allow?: readonly string[] | undefined
  /** Addresses and CIDR ranges whose clients are refused (403), before `allow`. */
  readonly deny?: readonly string[] | undefined
  /**
   * Whether CORS preflights are limited: `'skip'`, the default, or `'count'`. Anybody can make what
   * looks like one, so count them where a handler does work for `OPTIONS`.
   */
  readonly preflight?: 'skip' | 'count' | undefined
  /** Where the decision is on the request (on `ctx.state` of Koa). Default `'rateLimit'`. */
  readonly requestProperty?: string | undefined
  /** The formats in which headers show limits: see docs/headers.md. Default `'draft-8'`; `false` or
   *  `[]`: none, but `Retry-After` is always sent. */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false | undefined
  /**
   * Names of policies that headers and problem documents do not mention. Where one of them refuses,
   * the wait shown is its whole window.
   */
  readonly hide?: readonly string[] | undefined
  /** Whether an allowed request gets its cost back, once its response is known. */
  readonly refundWhen?: RefundWhen<Req, Rest> | undefined
  /**
   * What an allowed request turned out to cost, once its response or its connection has ended: a
   * cost, costs by policy name, or undefined for no change. See docs/settling.md.
   */
  readonly settle?: Settle<Req, Rest> | undefined
  /**
   * True: what this limiter charged is given back when a later limiter refuses the request, except
   * in GraphQL. Default false.
   */
  readonly refundWhenRefused?: boolean | undefined
  /**
   * How long a request may hold its slots of `concurrency`. Then its connection or stream is
   * closed, and `held.signal` of its decision aborts. Default: as long as it takes.
   */
  readonly maxHold?: Duration | undefined
  /** What happens if a slot could not be renewed in time: `'renew'`, the default, lets the request
   *  go on; `'abort'` ends it as `maxHold` does. */
  readonly onExpiry?: 'renew' | 'abort' | undefined
  /** True: count and send headers, but never refuse, not even when the store fails. */
  readonly shadow?: boolean | undefined
  /** How to find the client behind proxies. Default: as the framework finds it. */
  readonly proxies?: ProxyOptions | undefined
}

interface WithPolicy<Req, Rest extends unknown[]> {
  /** What is allowed, or a function of the request that returns it. */
  readonly policy: PolicyInput | Asked<Req, Rest, PolicyInput>
  readonly limit?: undefined
  readonly window?: undefined
}

interface WithLimit<Req, Rest extends unknown[]> {
  /** Units allowed in any window: short for `policy: slidingWindow({ limit, window })`. */
  readonly limit: number | Asked<Req, Rest, number>
  /** From 1 ms to 3,650 days: `60_000` or `'1m'`. */
  readonly window: Duration | Asked<Req, Rest, Duration>
  readonly policy?: undefined
}

/** What is allowed: a policy, or a limit and a window. */
export type Allowance<Req, Rest extends unknown[] = []> =
  | WithPolicy<Req, Rest>
  | WithLimit<Req, Rest>

/** All options of `httpLimiter`. */
export type LimitOptions<
  Req,
  Rest extends unknown[] = [],
  Class extends string = string,
> = LimitSettings<Req, Rest, Class> & Allowance<Req, Rest>

/** All options of an adapter except the policy, or limit and window. `Answering`: the arguments
 *  with which its `onDenied` can answer. */
export interface HttpSettings<
  Req,
  Answering extends unknown[] = [],
  Rest extends unknown[] = [],
  Class extends string = string,
> extends LimitSettings<Req, Rest, Class> {
  /**
   * Answers a denied request in place of the refusal, whose headers are set already. Nothing limits
   * how many requests it lets go on.
   */
  readonly onDenied?:
    | ((decision: Denied, request: Req, ...answering: Answering) => unknown)
    | undefined
}

/** Options of an adapter. */
export type HttpOptions<
  Req,
  Answering extends unknown[] = [],
  Rest extends unknown[] = [],
  Class extends string = string,
> = HttpSettings<Req, Answering, Rest, Class> & Allowance<Req, Rest>
