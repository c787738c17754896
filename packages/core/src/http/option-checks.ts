// Checks of the options, where users hand them in. Each error says what was given and what is
// right.

import { durationMs } from '../base/duration.js'
import { invalid, quote, rangeError, typeError } from '../base/errors.js'
import { type Check, type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import type { HttpOptions, LimitOptions, LimitSettings } from './options.js'
import { HEADER_FORMATS, type HeaderFormat } from './response/headers.js'

function onlyIf(isRight: (value: unknown) => boolean, right: string): Check {
  return (value, name) => {
    if (!isRight(value)) throw invalid('WEIR_INVALID_OPTION', name, value, right)
  }
}

const aFunction = ofType('function')
const trueOrFalse = onlyIf((value) => typeof value === 'boolean', 'true or false')

/** Every option. Other parts check the unchecked ones where they use them. */
const CHECKS: Checks<HttpOptions<never>> = {
  name: unchecked,
  store: unchecked,
  policy: unchecked,
  limit: unchecked,
  window: unchecked,
  whenPolicyFails: unchecked,
  whenUnavailable: unchecked,
  onDecision: unchecked,
  onCrossing: unchecked,
  shared: unchecked,
  maxWaiting: unchecked,
  reserve: unchecked,
  priority: unchecked,
  key: aFunction,
  onMissingKey: onlyIf(
    (value) => ['shared', 'skip', 'deny'].includes(value as string) || typeof value === 'function',
    "'shared', 'skip', 'deny' or a function",
  ),
  cost: unchecked,
  wait: (wait) => void waitMsOf({ wait } as Pick<LimitSettings<never>, 'wait'>),
  skip: aFunction,
  allow: unchecked,
  deny: unchecked,
  preflight: onlyIf((value) => value === 'skip' || value === 'count', "'skip' or 'count'"),
  requestProperty: onlyIf(isProperty, "a name that requests do not have, such as 'quota'"),
  headers: unchecked,
  hide: onlyIf(
    (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    'an array of policy names',
  ),
  status(value) {
    if (Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599) return
    const right = 'give a whole number from 400 to 599'
    throw rangeError('WEIR_INVALID_OPTION', `status is ${quote(value)}; ${right}`)
  },
  body: onlyIf(
    (value) => value !== null && ['string', 'object', 'function'].includes(typeof value),
    'a text, an object or a function',
  ),
  mediaType: onlyIf(
    (value) => typeof value === 'string' && /^[\w.+-]+\/[\x20-\x7e]+$/.test(value),
    "a text such as 'text/plain; charset=utf-8'",
  ),
  onDenied: aFunction,
  refundWhen: aFunction,
  settle: aFunction,
  refundWhenRefused: trueOrFalse,
  maxHold: unchecked,
  onExpiry: unchecked,
  shadow: trueOrFalse,
  proxies: unchecked,
  ipv6Prefix: unchecked,
  nat64: unchecked,
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION */
export function checkOptions(options: object): void {
  checkCalled(options, 'rateLimit', "rateLimit({ limit: 100, window: '1m' })")
  checkAll(options, 'a rate limit', CHECKS)
  const { key, ipv6Prefix, mediaType, body } = options as Partial<LimitOptions<never>>
  if (key !== undefined && ipv6Prefix !== undefined) {
    const what = `ipv6Prefix is ${quote(ipv6Prefix)} beside key, which does not use it`
    const right = 'leave one out; in a key of your own, addressKey({ ipv6Prefix })'
    throw typeError('WEIR_INVALID_OPTION', `${what}; ${right}`)
  }
  if (mediaType !== undefined && body === undefined) {
    const what = `mediaType is ${quote(mediaType)} without a body`
    const right = 'a problem document has its own, so give a body as well'
    throw typeError('WEIR_INVALID_OPTION', `${what}; ${right}`)
  }
}

/** @throws {TypeError} WEIR_INVALID_OPTION */
export function checkHeaderOptions(options: Pick<LimitSettings<never>, 'headers' | 'hide'>): void {
  const { headers, hide } = CHECKS
  checkAll(options, 'setRateLimitHeaders', { headers, hide })
}

/** Options that do nothing without another one, or beside another one. */
const IDLE: readonly (readonly [name: string, isIdle: (all: Given) => boolean, right: string])[] = [
  ['reserve', ({ priority }) => priority === undefined, 'without priority: give both, or neither'],
  ['maxWaiting', ({ wait }) => wait === undefined, 'without wait: give both, or neither'],
  ['body', ({ onDenied }) => onDenied !== undefined, 'beside onDenied, which answers: give one'],
  ['status', ({ onDenied }) => onDenied !== undefined, 'beside onDenied, which answers: give one'],
]

type Given = Partial<HttpOptions<never>>

/**
 * Refuses options that would do nothing. For middlewares only: elsewhere options are inherited, so
 * one that does nothing in one place is used in another.
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
 * Throws if a function that makes a middleware was mounted itself, and so was called with a request
 * or, by Fastify's `register`, with the app.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function checkCalled(options: object, what: string, right: string): void {
  const { headers, method, addHook } = (options ?? {}) as Record<string, unknown>
  const isApp = typeof addHook === 'function'
  if (!isApp && (typeof headers !== 'object' || typeof method !== 'string')) return
  const why = `${what} was given ${isApp ? 'an app' : 'a request'}; it makes a middleware`
  throw typeError('WEIR_INVALID_OPTION', `${why}, so call it, and mount what it returns: ${right}`)
}

/**
 * How long requests may wait, in ms.
 * @throws {TypeError | RangeError} WEIR_INVALID_DURATION
 */
export function waitMsOf({ wait = 0 }: Pick<LimitSettings<never>, 'wait'>): number {
  return wait === 0 ? 0 : durationMs(wait, 'wait')
}

/** Properties of requests that Node and the frameworks need themselves. */
const TAKEN = `aborted accept accepts app baseUrl body closed complete connection cookies destroy
destroyed emit get header headers headersDistinct host hostname httpVersion id ip ips log method
next off on once originalUrl params path pipe protocol query raw rawHeaders read res resume route
routeOptions secure server signedCookies socket stream subdomains trailers url`.split(/\s/)

/** False for properties that all objects or all requests have. */
function isProperty(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && !(name in {}) && !TAKEN.includes(name)
}

/** @throws {RangeError} WEIR_INVALID_OPTION */
export function headerFormats(
  headers: HeaderFormat | readonly HeaderFormat[] | false = 'draft-8',
): readonly HeaderFormat[] {
  const formats = headers === false ? [] : Array.isArray(headers) ? headers : [headers]
  for (const format of formats) {
    if (HEADER_FORMATS.includes(format)) continue
    const right = `give '${HEADER_FORMATS.join("', '")}', an array of them, or false`
    throw rangeError('WEIR_INVALID_OPTION', `headers has ${quote(format)}; ${right}`)
  }
  return formats
}
