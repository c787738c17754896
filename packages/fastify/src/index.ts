// Rate limiting for Fastify 4 and 5.

export * from '@weir/core'
export {
  type HeaderFormat,
  type OverloadOptions,
  type OverloadPriority,
  type ProxyOptions,
  RATE_LIMIT_HEADERS,
  type RequestDecision,
  type RequestHold,
  type ResponseOutcome,
} from '@weir/core/http'
export { type OverloadHook, overload, recordResponses } from './hooks.js'
export * from './plugin.js'
export { rateLimitPlugin as default } from './plugin.js'
export * from './rate-limit.js'
