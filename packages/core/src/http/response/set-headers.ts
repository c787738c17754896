// The headers of decisions, for code that makes its responses without an adapter.

import { processTime } from '../../base/time.js'
import type { Decision } from '../../limiter/decision.js'
import { checkHeaderOptions, headerFormats } from '../option-checks.js'
import type { LimitSettings } from '../options.js'
import {
  type Carried,
  type ResponseSettings,
  responseSettings,
  withDecision,
} from './request-decision.js'
import { longestWaitMs, writeHeaders, writeRefusal } from './shown.js'

interface HeadersLike {
  set(name: string, value: string): unknown
}

/**
 * Sets the header fields that an adapter would set, with `Retry-After` and `Cache-Control` where a
 * decision denies.
 *
 * @param headers Fetch's `Headers`, or any object with a method `set`
 * @param decisions one, or all that were made on the request
 * @param options `headers` and `hide`, as adapters take them
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 * @example
 * const decision = await limiter.consume('u42')
 * const headers = new Headers()
 * setRateLimitHeaders(headers, decision)
 */
export function setRateLimitHeaders(
  headers: HeadersLike,
  decisions: Decision | readonly Decision[],
  options: Pick<LimitSettings<never>, 'headers' | 'hide'> = {},
): void {
  checkHeaderOptions(options)
  const { hide = [] } = options
  const formats = headerFormats(options.headers)
  let carried: Carried | undefined
  let last: ResponseSettings | undefined
  for (const decision of Array.isArray(decisions) ? decisions : [decisions]) {
    last = responseSettings(decision.limiter, formats, hide)
    carried = withDecision(carried, decision, last)
  }
  if (carried === undefined || last === undefined) return
  writeHeaders(processTime, carried, last, headers, set, undefined)
  if (!carried.allowed) writeRefusal(longestWaitMs(carried), headers, set)
}

function set(headers: HeadersLike, name: string, value: string): void {
  headers.set(name, value)
}
