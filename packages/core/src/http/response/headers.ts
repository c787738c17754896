// The header fields that show limits. RateLimit and RateLimit-Policy are an IETF draft that has
// changed its syntax three times, so each format is pinned to a revision, and nothing outside this
// file knows their syntax.

import type { Policy } from '../../algorithms/policy.js'
import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { bindsMore } from '../../limiter/binding.js'
import type { PolicyResult } from '../../store.js'

/** How headers show limits: see docs/headers.md. */
export type HeaderFormat = 'draft-8' | 'draft-7' | 'draft-6' | 'legacy' | 'legacy-delta' | 'openai'

/**
 * Every header that a limiter may send. Browsers hide them from pages of other origins unless they
 * are exposed.
 * @example
 * const corsOptions = { exposedHeaders: [...RATE_LIMIT_HEADERS] }
 */
export const RATE_LIMIT_HEADERS: readonly string[] = Object.freeze([
  'RateLimit',
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
  'X-RateLimit-Limit-Tokens',
  'X-RateLimit-Remaining-Tokens',
  'X-RateLimit-Reset-Tokens',
  'Retry-After',
])

/** One policy of one limiter, as a response shows it. */
export interface HeaderItem {
  /** Name of the limiter. */
  readonly limiter: string
  /** The policy's name in the response: its own; or its limiter's, if it is the only policy and has
   *  no name; or both, if another limiter has a policy of that name. */
  readonly name: string
  readonly result: PolicyResult
  /** True if this policy denied the request. */
  readonly isViolated: boolean
}

/** A header field, and its value for some items; `undefined`: it is not sent. */
export interface Field {
  readonly name: string
  readonly write: (items: readonly HeaderItem[], clock: Clock) => string | undefined
}

/**
 * The fields of these formats. A field that several formats share is written as the first of them
 * writes it, except that RateLimit-Policy goes with RateLimit, which draft-6 does not have.
 */
export function fieldsOf(formats: readonly HeaderFormat[]): readonly Field[] {
  const fields = new Map<string, Field>()
  const sixLast = formats.toSorted((a, b) => Number(a === 'draft-6') - Number(b === 'draft-6'))
  for (const format of sixLast) {
    for (const field of FORMATS[format]) if (!fields.has(field.name)) fields.set(field.name, field)
  }
  return [...fields.values()]
}

/** The parts of a policy that are the same in every response: made once. */
interface Constants {
  readonly name: string
  /** Its window in whole seconds, as shown; undefined: it is not shown. */
  readonly window: number | undefined
  readonly policy8: string
  readonly policy6: string
  readonly live8: string
  /** The last items of draft 8, by what is left: Node sends a text that it has sent before in less
   *  time than a new one. */
  readonly lives: (Live | undefined)[]
  /** The same under the last other name that a response had for it. */
  renamed: Constants | undefined
}

interface Live {
  readonly left: number
  /** In seconds; undefined: it is not shown. */
  readonly wait: number | undefined
  readonly text: string
}

/** How many are kept for each policy: most clients have nearly all left, or limits are small. */
const LIVES = 64

const constantsByOwnName = memoized((policy: Policy) => makeConstants(policy.name, policy))

function constantsOf({ name, result: { policy } }: HeaderItem): Constants {
  const known = constantsByOwnName(policy)
  if (known.name === name) return known
  if (known.renamed?.name !== name) known.renamed = makeConstants(name, policy)
  return known.renamed
}

function makeConstants(name: string, policy: Policy): Constants {
  const window = wholeSeconds(policy)
  const limit = String(integer(policy.limit))
  const span = window === undefined ? '' : `;w=${window}`
  // Requests are the default unit, which revisions name in two ways.
  const unit = policy.unit === undefined || policy.unit === 'requests' ? '' : `;qu="${policy.unit}"`
  const quoted = `"${name.replace(/["\\]/g, '\\$&')}"`
  return {
    name,
    window,
    policy8: `${quoted};q=${limit}${unit}${span}`,
    policy6: limit + span,
    live8: `${quoted};r=`,
    lives: [],
    renamed: undefined,
  }
}

/** A policy's window in whole seconds. Undefined: it would be wrong in whole seconds, or the policy
 *  counts slots, which have no window. A bucket's window may be rounded by up to a thousandth. */
function wholeSeconds({ windowMs, kernel }: Policy): number | undefined {
  if (!kernel?.traits.hasWindow) return undefined
  const whole = Math.round(windowMs / 1_000)
  const most = kernel?.traits.drains ? windowMs / 1_000 : 0
  return whole > 0 && Math.abs(windowMs - whole * 1_000) <= most ? whole : undefined
}

function list(write: (item: HeaderItem) => string): Field['write'] {
  return (items) => {
    let value = write(items[0] as HeaderItem)
    for (let i = 1; i < items.length; i += 1) value += `, ${write(items[i] as HeaderItem)}`
    return value
  }
}

function liveItem8(item: HeaderItem): string {
  const ms = effectiveMs(item)
  const wait = ms === undefined ? undefined : seconds(ms)
  const left = integer(item.result.remaining)
  const { live8, lives } = constantsOf(item)
  const place = left % LIVES
  const known = lives[place]
  if (known !== undefined && known.left === left && known.wait === wait) return known.text
  const text = wait === undefined ? live8 + left : `${live8}${left};t=${wait}`
  lives[place] = { left, wait, text }
  return text
}

const limitOf = (items: readonly HeaderItem[]): string =>
  String(integer(bindingOf(items).result.limit))
const remainingOf = (items: readonly HeaderItem[]): string =>
  String(integer(bindingOf(items).result.remaining))

function resetOf(items: readonly HeaderItem[]): string | undefined {
  const ms = effectiveMs(bindingOf(items))
  return ms === undefined ? undefined : String(seconds(ms))
}

/** The largest integer that a structured field can hold. */
const MAX_INTEGER = 999_999_999_999_999

function resetEpochOf(items: readonly HeaderItem[], clock: Clock): string | undefined {
  const ms = effectiveMs(bindingOf(items))
  return ms === undefined ? undefined : String(seconds(clock.nowUs() / 1_000 + ms))
}

function dictionary7(items: readonly HeaderItem[]): string {
  const reset = resetOf(items)
  const start = `limit=${limitOf(items)}, remaining=${remainingOf(items)}`
  return reset === undefined ? start : `${start}, reset=${reset}`
}

// Names are in lower case, which HTTP/2 requires and HTTP/1.1 accepts: Node would convert others
// for each response.

const POLICY_6: Field = {
  name: 'ratelimit-policy',
  write: list((item) => constantsOf(item).policy6),
}
const LEGACY: readonly Field[] = [
  { name: 'x-ratelimit-limit', write: limitOf },
  { name: 'x-ratelimit-remaining', write: remainingOf },
]

const FORMATS: Readonly<Record<HeaderFormat, readonly Field[]>> = {
  'draft-8': [
    { name: 'ratelimit-policy', write: list((item) => constantsOf(item).policy8) },
    { name: 'ratelimit', write: list(liveItem8) },
  ],
  'draft-7': [POLICY_6, { name: 'ratelimit', write: dictionary7 }],
  'draft-6': [
    POLICY_6,
    { name: 'ratelimit-limit', write: limitOf },
    { name: 'ratelimit-remaining', write: remainingOf },
    { name: 'ratelimit-reset', write: resetOf },
  ],
  legacy: [...LEGACY, { name: 'x-ratelimit-reset', write: resetEpochOf }],
  'legacy-delta': [...LEGACY, { name: 'x-ratelimit-reset', write: resetOf }],
  openai: [...fieldsNamed('requests'), ...fieldsNamed('tokens')],
}

export const HEADER_FORMATS: readonly string[] = Object.keys(FORMATS)

/** The fields of policies with one name. If several limiters have such a policy, the binding one is
 *  shown. */
function fieldsNamed(name: string): readonly Field[] {
  const field = (what: string, write: (result: PolicyResult) => string | undefined): Field => ({
    name: `x-ratelimit-${what}-${name}`,
    write(all) {
      const items = all.filter(({ result }) => result.policy.name === name)
      return items.length === 0 ? undefined : write(bindingOf(items).result)
    },
  })
  return [
    field('limit', ({ limit }) => String(integer(limit))),
    field('remaining', ({ remaining }) => String(integer(remaining))),
    field('reset', ({ resetAfterMs: ms }) => (Number.isFinite(ms) ? spanText(ms) : undefined)),
  ]
}

/** The item that binds; among equals, the first. */
function bindingOf(items: readonly HeaderItem[]): HeaderItem {
  return items.reduce((binding, item) => (itemBindsMore(item, binding) ? item : binding))
}

export function itemBindsMore(one: HeaderItem, other: HeaderItem): boolean {
  return bindsMore(one.result, one.isViolated, other.result, other.isViolated)
}

/**
 * The effective window: the ms within which the units left may be used, or, where a request does
 * not fit, the ms until it does. Never so short that it suggests a higher rate than the policy's.
 * `undefined`: there is no such time.
 */
function effectiveMs({ result, isViolated }: HeaderItem): number | undefined {
  const { policy, remaining, retryAfterMs, resetAfterMs } = result
  if (isViolated || remaining < 1) {
    if (Number.isFinite(retryAfterMs)) return retryAfterMs
    if (remaining < 1) return resetAfterMs > 0 ? resetAfterMs : undefined
  }
  // Free slots may be used at once, and come back when their work has ended.
  if (!policy.kernel?.traits.hasWindow) return undefined
  if (policy.kernel?.traits.drains) return drainMs(result)
  if (policy.kernel?.traits.hasOneEnd && resetAfterMs > 0) return resetAfterMs
  return policy.windowMs
}

/**
 * How long the units left in a bucket last at its rate. Computed from the window that is shown, so
 * that two roundings do not turn 60 seconds into 61.
 */
function drainMs({ policy, remaining }: PolicyResult): number {
  const { window } = constantsByOwnName(policy)
  return window === undefined
    ? remaining * policy.unitMs
    : (remaining * window * 1_000) / policy.limit
}

/**
 * Seconds for Retry-After: whole, rounded up, at least 1. `undefined` where waiting cannot help.
 */
export function retryAfterSeconds(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.max(1, seconds(ms)) : undefined
}

/**
 * HTTP's unit: whole seconds, rounded up so that nobody comes too early. Not capped at the 24.8
 * days of a timer: a month is shown as a month.
 */
function seconds(ms: number): number {
  return integer(Math.ceil(ms / 1_000))
}

function integer(units: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.floor(units)))
}

const MINUTE_S = 60
const HOUR_S = 3_600

/**
 * A span as Go writes it: 120ms, 8s, 6m0s, 1h0m0s. Rounded up, to whole ms below a second and to
 * whole seconds from there, so that a client that waits as long does not come too early.
 */
function spanText(ms: number): string {
  if (ms <= 999) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1_000)
  const text = `${seconds % MINUTE_S}s`
  if (seconds < MINUTE_S) return text
  const minutes = `${Math.floor((seconds % HOUR_S) / MINUTE_S)}m${text}`
  return seconds < HOUR_S ? minutes : `${Math.floor(seconds / HOUR_S)}h${minutes}`
}
