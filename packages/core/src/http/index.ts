// Rate limits over HTTP, for framework adapters and for users who need a part of one.

export { type AddressOptions, addressKey } from '../base/address-key.js'
export type { Awaitable } from '../base/maybe-async.js'
export {
  type Check,
  type HttpAdapter,
  nodeRequests,
  nodeResponses,
  type Trust,
  type Verdict,
} from './adapter.js'
export { type CallbackLimiter, callbackLimiter } from './callback-limiter.js'
export { fastifyTrust } from './client/fastify-trust.js'
export { type ProxyOptions, proxyResolver } from './client/proxies.js'
export { FORWARDING_HEADERS, trustsEverybody } from './client/warnings.js'
export { policyNames } from './consume.js'
export { asThrown, type HttpLimiter, httpLimiter } from './http-limiter.js'
export { limiterName } from './limiter-name.js'
export type {
  Allowance,
  Asked,
  HttpOptions,
  HttpSettings,
  LimitOptions,
  LimitSettings,
  MaybeKey,
} from './options.js'
export {
  type NodeServerRequest,
  type NodeServerResponse,
  type Overload,
  type OverloadGuard,
  type OverloadOptions,
  type OverloadState,
  overload,
  overloadGuard,
  overloadHeaders,
  recordResponse,
  recordResponses,
  withState,
} from './overload.js'
export type { OverloadPriority } from './overload-classes.js'
export { refundCharged } from './respond.js'
export {
  afterNodeResponse,
  cutOffBegun,
  cutOffNodeResponse,
  hasNodeConnection,
  type NodeResponse,
  type ResponseOutcome,
} from './response/ending.js'
export { type HeaderFormat, RATE_LIMIT_HEADERS } from './response/headers.js'
export { abandonHandler, beginHandler, heldBy, type RequestHold } from './response/in-progress.js'
export { type RefundWhen, type Settle, settleAs } from './response/refund.js'
export type { DenialOptions, Refusal } from './response/refusal.js'
export type { RequestDecision } from './response/request-decision.js'
export { setRateLimitHeaders } from './response/set-headers.js'
