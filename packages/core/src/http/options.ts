// The options that every adapter has, with one meaning in all of them.

import type { Duration } from '../base/duration.js'
import type { Awaitable } from '../base/maybe-async.js'
import type { Cost } from '../limiter/costs.js'
import type { Denied } from '../limiter/decision.js'
import type { RateLimiterOptions } from '../limiter/options.js'
import type { Key, PolicyInput } from '../policy-input.js'
import type { AddressOptions } from './client/address-key.js'
import type { ProxyOptions } from './client/proxies.js'
import type { HeaderFormat } from './response/headers.js'
import type { RefundWhen, Settle } from './response/refund.js'
import type { DenialOptions } from './response/refusal.js'

/** What may be missing, as keys of requests may be. */
export type MaybeKey = Key | null | undefined

/** A function of the request. `Rest`: its other arguments, which depend on the framework. */
export type Asked<Req, Rest extends unknown[], Value> = (
  request: Req,
  ...rest: Rest
) => Awaitable<Value>

/** One of the names in `reserve`, or the class that there always is. */
export type ClassName<Class extends string> = NoInfer<Class> | 'critical'

/** All options but what is allowed. */
export interface LimitSettings<Req, Rest extends unknown[] = [], Class extends string = string>
  extends Omit<RateLimiterOptions, 'policy' | 'reserve'>,
    DenialOptions<Req, Rest>,
    AddressOptions {
  /** Who is limited: a text that is not empty, a whole number or a bigint; 42 and '42' are the same
   *  key. Anything else is no usable key; a text of more than 8,192 characters is answered 400.
   *  Default: the client's address, IPv6 by its network of `ipv6Prefix` bits. */
  readonly key?: Asked<Req, Rest, MaybeKey> | undefined
  /**
   * What becomes of a request without a usable key:
   *
   * - `'shared'`, the default: all of them share one bucket, with a warning
   * - `'skip'`: it is not limited
   * - `'deny'`: 403
   * - a function: it gives a key
   */
  readonly onMissingKey?: 'shared' | 'skip' | 'deny' | Asked<Req, Rest, MaybeKey> | undefined
  /** Units that a request takes, of each policy, or by the names of policies. Whole, >= 0.
   *  Default 1. A function's result that is no cost is charged as 1 and answered 400. */
  readonly cost?: Cost | Asked<Req, Rest, Cost> | undefined
  /** Classes of requests, by name, each with the fraction of every limit that it leaves to others:
   *  from 0 to 1, in units rounded up. The class `'critical'` always exists, and leaves nothing
   *  unless it is named here. */
  readonly reserve?: Readonly<Record<Class, number>> | undefined
  /** The class of requests, one of `reserve` or `'critical'`; or a function that gives that of
   *  each. Where it gives anything else, the request is of the class that leaves most, with a
   *  warning. Take it from what the server knows: a client's header must not choose. Default: none,
   *  which leaves nothing. */
  readonly priority?: ClassName<Class> | Asked<Req, Rest, ClassName<Class>> | undefined
  /** How long a request may be delayed, until it may pass, instead of being refused; one that would
   *  have to wait longer is refused at once. Of a fixed bucket that decides alone and does not say
   *  `maxWait`, it is the `maxWait`, if it is longer than the time in which all comes back. 0, the
   *  default: nobody waits. */
  readonly wait?: Duration | undefined
  /** True: this request is not limited. */
  readonly skip?: Asked<Req, Rest, boolean> | undefined
  /** Addresses and CIDR ranges whose clients are not limited. */
  readonly allow?: readonly string[] | undefined
  /** Addresses and CIDR ranges whose clients are refused (403). Goes before `allow`. */
  readonly deny?: readonly string[] | undefined
  /** What becomes of CORS preflights, which browsers send by themselves: `'skip'` (they are not
   *  limited; the default), or `'count'`, as any other request. Anybody can make a request that
   *  looks like one, so count them where a handler answers `OPTIONS` with work. */
  readonly preflight?: 'skip' | 'count' | undefined
  /** The name under which the decision is placed on the request (on `ctx.state` of Koa). Default
   *  `'rateLimit'`. Give another where something else has that name. */
  readonly requestProperty?: string | undefined
  /** In which formats the headers show limits. Default `'draft-8'`; `false` or `[]`: in none.
   *  `Retry-After` is always sent. */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false | undefined
  /** Names of policies that headers and problem documents do not mention, as strangers could learn
   *  from them. Where one of them refuses, the wait that is shown is its whole window. */
  readonly hide?: readonly string[] | undefined
  /** Whether the cost of an allowed request is refunded, once its response is known. */
  readonly refundWhen?: RefundWhen<Req, Rest> | undefined
  /** What an allowed request turned out to cost, once its response has ended or its connection has
   *  closed: a cost, costs by the names of policies, or undefined, and then it stays charged as it
   *  was. Called if `refundWhen` gives nothing back. */
  readonly settle?: Settle<Req, Rest> | undefined
  /** True: what this limiter charged is given back, at once, when a later limiter refuses the
   *  request. Headers show it as taken all the same. Default false: it stays charged, as it always
   *  does in GraphQL, where the fields of a query share its request. */
  readonly refundWhenRefused?: boolean | undefined
  /** How long a request may hold its slots of `concurrency`: then its connection is closed, or its
   *  stream, and `held.signal` of its decision aborts. It bounds clients that read slowly. Default:
   *  as long as it takes. */
  readonly maxHold?: Duration | undefined
  /** What happens where a slot expires, as it could not be renewed in time: `'renew'`, the default,
   *  lets the request go on; `'abort'` ends it as `maxHold` does. */
  readonly onExpiry?: 'renew' | 'abort' | undefined
  /** True: count and send headers, but never refuse, not even when the store fails. */
  readonly shadow?: boolean | undefined
  /** How to find the client behind proxies. Default: as the framework does. */
  readonly proxies?: ProxyOptions | undefined
}

interface WithPolicy<Req, Rest extends unknown[]> {
  /** What is allowed, or a function of the request that returns it. */
  readonly policy: PolicyInput | Asked<Req, Rest, PolicyInput>
  readonly limit?: undefined
  readonly window?: undefined
}

interface WithLimit<Req, Rest extends unknown[]> {
  /** Units in any window: short for `policy: slidingWindow({ limit, window })`, named after the
   *  limiter. */
  readonly limit: number | Asked<Req, Rest, number>
  /** The window of `limit`, from 1 ms to 3,650 days: `60_000` or `'1m'`. */
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

/** All options of an adapter but what is allowed. `Answering`: the arguments with which its
 *  `onDenied` can answer. */
export interface HttpSettings<
  Req,
  Answering extends unknown[] = [],
  Rest extends unknown[] = [],
  Class extends string = string,
> extends LimitSettings<Req, Rest, Class> {
  /** Answers a denied request in place of the refusal; limit headers, `Retry-After` and
   *  `Cache-Control` are set, and stay if it lets the request go on. A denied request was charged
   *  nothing, so any number of those that go on pass. */
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
