// For adapters of frameworks, and for those who want a part of it: what a limit means over HTTP.

export { isPromise } from '../promise.js'
export type { Check, HttpAdapter, Trust, Verdict } from './adapter.js'
export { type AddressOptions, addressKey } from './address-key.js'
export { policyNames } from './allowance.js'
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './headers.js'
export { asThrown, type HttpLimiter, httpLimiter } from './limit.js'
export type {
  Allowance,
  Asked,
  Awaitable,
  HttpOptions,
  LimitOptions,
  LimitSettings,
  MaybeKey,
} from './options.js'
export type { RequestDecision } from './placed.js'
export type { ProxyOptions } from './proxies.js'
export {
  afterNodeResponse,
  type NodeResponse,
  type RefundWhen,
  type ResponseOutcome,
} from './refund.js'
export type { DenialOptions, Refusal } from './refusal.js'
