// For adapters of frameworks, and for those who want a part of it: what a limit means over HTTP.

export { isPromise } from '../base/promise.js'
export type { Check, HttpAdapter, Trust, Verdict } from './adapter.js'
export { type AddressOptions, addressKey } from './client/address-key.js'
export { policyNames } from './policy-source.js'
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './response/headers.js'
export { asThrown, type HttpLimiter, httpLimiter } from './http-limiter.js'
export type {
  Allowance,
  Asked,
  Awaitable,
  HttpOptions,
  LimitOptions,
  LimitSettings,
  MaybeKey,
} from './options.js'
export type { RequestDecision } from './response/request-decision.js'
export type { ProxyOptions } from './client/proxies.js'
export {
  afterNodeResponse,
  type NodeResponse,
  type RefundWhen,
  type ResponseOutcome,
} from './response/refund.js'
export type { DenialOptions, Refusal } from './response/refusal.js'
