// For adapters of frameworks, and for those who want a part of it: what a limit means over HTTP.

export type { Check, HttpAdapter, Trust, Verdict } from './adapter.js'
export { type AddressOptions, addressKey } from './address-key.js'
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './headers.js'
export { type HttpLimiter, httpLimiter } from './limit.js'
export type { Allowance, Awaitable, HttpOptions, LimitOptions, MaybeKey } from './options.js'
export type { RequestDecision } from './placed.js'
export type { ProxyOptions } from './proxies.js'
export { afterNodeResponse, type NodeResponse, type RefundWhen, type ResponseOutcome } from './refund.js'
export type { DenialOptions, Refusal } from './refusal.js'
