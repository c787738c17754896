// The options that every adapter has, with one meaning in all of them.

import type { Denied } from '../decision.js'
import type { Duration } from '../duration.js'
import { quote, rangeError, typeError } from '../errors.js'
import type { PolicyInput, RateLimiterOptions } from '../limiter.js'
import type { AddressOptions } from './address-key.js'
import { type HeaderFormat, isHeaderFormat } from './headers.js'
import type { ProxyOptions } from './proxies.js'
import type { RefundWhen } from './refund.js'
import type { DenialOptions } from './refusal.js'

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | PromiseLike<Value>

/** What may be missing, as keys of requests may be. */
export type MaybeKey = string | null | undefined

interface CommonOptions<Req> extends Omit<RateLimiterOptions, 'policy'>, DenialOptions<Req>, AddressOptions {
  /** Who is limited. Default: the client's address, IPv6 by its network of `ipv6Prefix` bits. */
  readonly key?: (request: Req) => Awaitable<MaybeKey>
  /** What becomes of a request without a usable key: `'shared'` (all such share one bucket; the default, with a
   *  warning), `'skip'` (it is not limited), `'deny'` (403), or a function that gives a key. */
  readonly onMissingKey?: 'shared' | 'skip' | 'deny' | ((request: Req) => Awaitable<MaybeKey>)
  /** Units that a request takes. Whole, >= 0. Default 1. A function's result that is no cost is charged as 1 and
   *  answered 400. */
  readonly cost?: number | ((request: Req) => Awaitable<number>)
  /** True: this request is not limited. */
  readonly skip?: (request: Req) => Awaitable<boolean>
  /** Addresses and CIDR ranges whose clients are not limited. */
  readonly allow?: readonly string[]
  /** Addresses and CIDR ranges whose clients are refused (403). Goes before `allow`. */
  readonly deny?: readonly string[]
  /** In which forms limits are told. Default `'draft-8'`; `false` or `[]`: in none. `Retry-After` is always sent. */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false
  /** Names of policies that headers and problem documents do not mention, as strangers could learn from them. */
  readonly hide?: readonly string[]
  /** Whether an allowed request gets its cost back, once its response is known. */
  readonly refundWhen?: RefundWhen<Req>
  /** True: count and tell, but never refuse, not even when the store fails. */
  readonly shadow?: boolean
  /** How to find the client behind proxies. Default: as the framework does. */
  readonly proxies?: ProxyOptions
}

interface WithPolicy<Req> {
  /** What is allowed; or a function of the request that tells. */
  readonly policy: PolicyInput | ((request: Req) => Awaitable<PolicyInput>)
  readonly limit?: never
  readonly window?: never
}

interface WithLimit<Req> {
  /** Units in any window: short for `policy: slidingWindow({ limit, window })`, named after the limiter. */
  readonly limit: number | ((request: Req) => Awaitable<number>)
  readonly window: Duration | ((request: Req) => Awaitable<Duration>)
  readonly policy?: never
}

/** What is allowed: a policy, or a limit and a window. */
export type Allowance<Req> = WithPolicy<Req> | WithLimit<Req>

/** All that `httpLimiter` needs to know. */
export type LimitOptions<Req> = CommonOptions<Req> & Allowance<Req>

/** Options of an adapter. `Rest`: what its `onDenied` is given besides, as the framework has it. */
export type HttpOptions<Req, Rest extends readonly unknown[] = []> = LimitOptions<Req> & {
  /** Answers a denied request in place of the refusal; limit headers, `Retry-After` and `Cache-Control` are set. */
  readonly onDenied?: (decision: Denied, request: Req, ...rest: Rest) => unknown
}

const FUNCTIONS = ['key', 'skip', 'onDenied', 'refundWhen'] as const

/** Every option there is. The type makes it complete. */
const KNOWN: Readonly<Record<keyof HttpOptions<never>, true>> = {
  name: true,
  store: true,
  policy: true,
  limit: true,
  window: true,
  whenUnavailable: true,
  onDecision: true,
  shared: true,
  key: true,
  onMissingKey: true,
  cost: true,
  skip: true,
  allow: true,
  deny: true,
  headers: true,
  hide: true,
  status: true,
  body: true,
  mediaType: true,
  onDenied: true,
  refundWhen: true,
  shadow: true,
  proxies: true,
  ipv6Prefix: true,
  nat64: true,
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION; what other parts of the options hold is checked where it is used */
export function checkOptions<Req>(options: LimitOptions<Req> & { readonly onDenied?: unknown }): void {
  if (typeof options !== 'object' || options === null)
    wrong('options', options, "{ limit: 100, window: '1m' }")
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(KNOWN, option))
  if (unknown !== undefined) {
    throw typeError(
      'WEIR_INVALID_OPTION',
      `there is no option ${quote(unknown)}; there are ${Object.keys(KNOWN).join(', ')}`,
    )
  }
  for (const name of FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      wrong(name, options[name], 'a function')
  }
  const { onMissingKey, status, shadow, hide, mediaType } = options
  if (
    onMissingKey !== undefined &&
    !['shared', 'skip', 'deny'].includes(onMissingKey as string) &&
    typeof onMissingKey !== 'function'
  ) {
    wrong('onMissingKey', onMissingKey, "'shared', 'skip', 'deny' or a function")
  }
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
    throw rangeError('WEIR_INVALID_OPTION', `status is ${quote(status)}; give a whole number from 400 to 599`)
  }
  if (shadow !== undefined && typeof shadow !== 'boolean') wrong('shadow', shadow, 'true or false')
  if (mediaType !== undefined && !/^[\w.+-]+\/[\x20-\x7e]+$/.test(mediaType)) {
    wrong('mediaType', mediaType, "a text such as 'text/plain; charset=utf-8'")
  }
  if (hide !== undefined && !Array.isArray(hide)) wrong('hide', hide, 'an array of policy names')
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
      const right =
        "give 'draft-8', 'draft-7', 'draft-6', 'legacy', 'legacy-delta', an array of them, or false"
      throw rangeError('WEIR_INVALID_OPTION', `headers has ${quote(format)}; ${right}`)
    }
  }
  return formats
}
