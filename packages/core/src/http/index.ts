// For adapters of frameworks, and for those who want a part of it: what a limit means over HTTP.

export type { HttpAdapter, Trust } from './adapter.js'
export { type AddressOptions, addressKey } from './address.js'
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './headers.js'
export { type HttpLimiter, httpLimiter, type Verdict } from './limit.js'
export type { Allowance, Awaitable, HttpOptions, MaybeKey } from './options.js'
export type { RequestDecision } from './placed.js'
export { bodyOf, type DenialOptions, type Refusal } from './problem.js'
export type { ProxyOptions } from './proxies.js'
export { afterNodeResponse, type NodeResponse, type RefundWhen, type ResponseOutcome } from './refund.js'
