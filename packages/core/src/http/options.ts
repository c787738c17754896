// The options that every adapter has, with one meaning in all of them.

import { type Duration, durationMs } from '../base/duration.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import type { Awaitable } from '../base/maybe-async.js'
import { checkedOptions } from '../base/options.js'
import type { Cost } from '../limiter/costs.js'
import type { Denied } from '../limiter/decision.js'
import type { RateLimiterOptions } from '../limiter/options.js'
import type { Key, PolicyInput } from '../policy-input.js'
import type { AddressOptions } from './client/address-key.js'
import type { ProxyOptions } from './client/proxies.js'
import { type HeaderFormat, isHeaderFormat } from './response/headers.js'
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
type ClassName<Class extends string> = NoInfer<Class> | 'critical'

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
   *  `Cache-Control` are set, and stay if it lets the request go on. */
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

const FUNCTIONS = ['key', 'skip', 'onDenied', 'refundWhen', 'settle'] as const

/** Every option there is. The type makes it complete. */
const KNOWN: Readonly<Record<keyof HttpOptions<never>, true>> = {
  name: true,
  store: true,
  policy: true,
  limit: true,
  window: true,
  whenPolicyFails: true,
  whenUnavailable: true,
  onDecision: true,
  shared: true,
  maxWaiting: true,
  reserve: true,
  priority: true,
  key: true,
  onMissingKey: true,
  cost: true,
  wait: true,
  skip: true,
  allow: true,
  deny: true,
  preflight: true,
  requestProperty: true,
  headers: true,
  hide: true,
  status: true,
  body: true,
  mediaType: true,
  onDenied: true,
  refundWhen: true,
  settle: true,
  refundWhenRefused: true,
  shadow: true,
  proxies: true,
  ipv6Prefix: true,
  nat64: true,
}

/**
 * Checks what is used here; other parts of the options are checked where they are used.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function checkOptions(options: object): void {
  checkCalled(options, 'rateLimit', "rateLimit({ limit: 100, window: '1m' })")
  checkedOptions(options, 'a rate limit', Object.keys(KNOWN))
  const given = options as Partial<LimitOptions<never>>
  for (const name of FUNCTIONS) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && typeof value !== 'function') wrong(name, value, 'a function')
  }
  const {
    key,
    ipv6Prefix,
    onMissingKey,
    preflight,
    requestProperty,
    refundWhenRefused,
    shadow,
    hide,
  } = given
  if (key !== undefined && ipv6Prefix !== undefined) {
    const what = `ipv6Prefix is ${quote(ipv6Prefix)} beside key, which does not use it`
    const right = 'leave one out; in a key of your own, addressKey({ ipv6Prefix })'
    throw typeError('WEIR_INVALID_OPTION', `${what}; ${right}`)
  }
  if (
    onMissingKey !== undefined &&
    !['shared', 'skip', 'deny'].includes(onMissingKey as string) &&
    typeof onMissingKey !== 'function'
  ) {
    wrong('onMissingKey', onMissingKey, "'shared', 'skip', 'deny' or a function")
  }
  if (preflight !== undefined && preflight !== 'skip' && preflight !== 'count')
    wrong('preflight', preflight, "'skip' or 'count'")
  if (requestProperty !== undefined && !isProperty(requestProperty))
    wrong('requestProperty', requestProperty, "a name that requests do not have, such as 'quota'")
  for (const [name, value] of Object.entries({ shadow, refundWhenRefused }))
    if (value !== undefined && typeof value !== 'boolean') wrong(name, value, 'true or false')
  if (
    hide !== undefined &&
    !(Array.isArray(hide) && hide.every((name) => typeof name === 'string'))
  )
    wrong('hide', hide, 'an array of policy names')
  waitMsOf(given)
  checkRefusal(given)
}

/** Options that do nothing without, or beside, another. */
const IDLE: readonly (readonly [name: string, isIdle: (all: Given) => boolean, right: string])[] = [
  ['reserve', ({ priority }) => priority === undefined, 'without priority: give both, or neither'],
  ['maxWaiting', ({ wait }) => wait === undefined, 'without wait: give both, or neither'],
  ['body', ({ onDenied }) => onDenied !== undefined, 'beside onDenied, which answers: give one'],
  ['status', ({ onDenied }) => onDenied !== undefined, 'beside onDenied, which answers: give one'],
]

type Given = Partial<HttpOptions<never>>

/**
 * Refuses what would be idle. For middlewares: elsewhere options are inherited, so what is idle in
 * one place is used in another.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function checkIdle(options: object): void {
  const given = options as Given
  for (const [name, isIdle, right] of IDLE) {
    if (given[name as keyof Given] === undefined || !isIdle(given)) continue
    throw typeError('WEIR_INVALID_OPTION', `${name} does nothing ${right}`)
  }
}

/**
 * Throws if a function that makes a middleware was mounted itself, so that it is given a request.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function checkCalled(options: object, what: string, right: string): void {
  const { headers, method } = (options ?? {}) as { headers?: unknown; method?: unknown }
  if (typeof headers !== 'object' || typeof method !== 'string') return
  throw typeError(
    'WEIR_INVALID_OPTION',
    `${what} was given a request; it makes a middleware, so call it: app.use(${right})`,
  )
}

/**
 * How long requests may wait, in ms.
 * @throws {TypeError | RangeError} WEIR_INVALID_DURATION
 */
export function waitMsOf({ wait = 0 }: Pick<LimitSettings<never>, 'wait'>): number {
  return wait === 0 ? 0 : durationMs(wait, 'wait')
}

/** What Node and the frameworks have on requests themselves, and need. */
const TAKEN = `aborted accept accepts app baseUrl body closed complete connection cookies destroy
destroyed emit get header headers headersDistinct host hostname httpVersion id ip ips log method
next off on once originalUrl params path pipe protocol query raw rawHeaders read res resume route
routeOptions secure server signedCookies socket stream subdomains trailers url`.split(/\s/)

/** Not what all objects or all requests have. */
function isProperty(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && !(name in {}) && !TAKEN.includes(name)
}

function checkRefusal({ status, body, mediaType }: DenialOptions<never>): void {
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `status is ${quote(status)}; give a whole number from 400 to 599`,
    )
  }
  if (body === null || !['undefined', 'string', 'object', 'function'].includes(typeof body)) {
    wrong('body', body, 'a text, an object or a function')
  }
  if (mediaType === undefined) return
  if (typeof mediaType !== 'string' || !/^[\w.+-]+\/[\x20-\x7e]+$/.test(mediaType)) {
    wrong('mediaType', mediaType, "a text such as 'text/plain; charset=utf-8'")
  }
  if (body === undefined) {
    throw typeError(
      'WEIR_INVALID_OPTION',
      `mediaType is ${quote(mediaType)} without a body; a problem document has its own, so give body, too`,
    )
  }
}

function wrong(what: string, value: unknown, right: string): never {
  throw typeError('WEIR_INVALID_OPTION', `${what} is ${quote(value)}; give ${right}`)
}

/** @throws {RangeError} WEIR_INVALID_OPTION */
export function headerFormats(
  headers: HeaderFormat | readonly HeaderFormat[] | false = 'draft-8',
): readonly HeaderFormat[] {
  const formats = headers === false ? [] : Array.isArray(headers) ? headers : [headers]
  for (const format of formats) {
    if (!isHeaderFormat(format)) {
      const all = "'draft-8', 'draft-7', 'draft-6', 'legacy', 'legacy-delta', 'openai'"
      const right = `give ${all}, an array of them, or false`
      throw rangeError('WEIR_INVALID_OPTION', `headers has ${quote(format)}; ${right}`)
    }
  }
  return formats
}
