// How limits are told in header fields. RateLimit and RateLimit-Policy are an IETF draft that has changed its syntax
// three times, so each form goes by the revision that it is pinned to, and nothing outside this file knows any of them.

import type { Policy } from '../../algorithms/policy.js'
import {
  bindingOf,
  effectiveMs,
  type HeaderItem,
  integer,
  MAX_SECONDS,
  seconds,
} from './header-item.js'

/**
 * - `draft-8`: `RateLimit-Policy: "api";q=120;w=60` and `RateLimit: "api";r=87;t=42`, revisions 08 to 11
 * - `draft-7`: `RateLimit-Policy: 120;w=60` and `RateLimit: limit=120, remaining=87, reset=42`
 * - `draft-6`: `RateLimit-Policy: 120;w=60` and `RateLimit-Limit`, `-Remaining`, `-Reset`
 * - `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset` as seconds since 1970, as GitHub's clients read it
 * - `legacy-delta`: the same with `-Reset` as seconds from now
 *
 * Where a form has room for one policy only, it tells the binding one.
 */
export type HeaderFormat = 'draft-8' | 'draft-7' | 'draft-6' | 'legacy' | 'legacy-delta'

/**
 * Every header that a limiter may send. Browsers hide them from pages of other origins unless they are exposed.
 * @example app.use(cors({ exposedHeaders: [...RATE_LIMIT_HEADERS] })) // before the limiter, so that a 429 is readable
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
  'Retry-After',
])

/** A header field, and its value for these items; `undefined`: it is not sent. */
export interface Field {
  readonly name: string
  readonly write: (items: readonly HeaderItem[]) => string | undefined
}

/**
 * The fields of these formats; one that several formats have is written as the first of them does. But RateLimit-Policy
 * goes with RateLimit, which draft-6 does not have.
 */
export function fieldsOf(formats: readonly HeaderFormat[]): readonly Field[] {
  const fields = new Map<string, Field>()
  const sixLast = formats.toSorted((a, b) => Number(a === 'draft-6') - Number(b === 'draft-6'))
  for (const format of sixLast) {
    for (const field of FORMATS[format]) if (!fields.has(field.name)) fields.set(field.name, field)
  }
  return [...fields.values()]
}

export function isHeaderFormat(format: unknown): format is HeaderFormat {
  return typeof format === 'string' && Object.hasOwn(FORMATS, format)
}

/** What a field says of a policy on every response, written once for each policy. */
interface Title {
  readonly name: string
  readonly policy8: string
  readonly policy6: string
  readonly live8: string
}

const titles: WeakMap<Policy, Title> = new WeakMap()

function titleOf({ name, figures: { policy } }: HeaderItem): Title {
  let title = titles.get(policy)
  if (title === undefined || title.name !== name) {
    const quota = integer(policy.limit)
    const window = windowParameter(policy.windowMs)
    const quoted = `"${name.replace(/["\\]/g, '\\$&')}"`
    title = {
      name,
      policy8: `${quoted};q=${quota}${window}`,
      policy6: `${quota}${window}`,
      live8: `${quoted};r=`,
    }
    if (name === policy.name) titles.set(policy, title)
  }
  return title
}

/** A window in whole seconds. Others are not told rather than told wrongly; a bucket's is rounded within a thousandth. */
function windowParameter(windowMs: number): string {
  const whole = Math.round(windowMs / 1_000)
  return whole > 0 && Math.abs(windowMs - whole * 1_000) * 1_000 <= windowMs ? `;w=${whole}` : ''
}

function list(write: (item: HeaderItem) => string): Field['write'] {
  return (items) => {
    let value = write(items[0] as HeaderItem)
    for (let i = 1; i < items.length; i += 1) value += `, ${write(items[i] as HeaderItem)}`
    return value
  }
}

function policyItem8(item: HeaderItem): string {
  return titleOf(item).policy8
}

function policyItem6(item: HeaderItem): string {
  return titleOf(item).policy6
}

function liveItem8(item: HeaderItem): string {
  const ms = effectiveMs(item)
  const start = titleOf(item).live8 + integer(item.figures.remaining)
  return ms === undefined ? start : `${start};t=${seconds(ms)}`
}

const limitOf = (items: readonly HeaderItem[]): string =>
  String(integer(bindingOf(items).figures.limit))
const remainingOf = (items: readonly HeaderItem[]): string =>
  String(integer(bindingOf(items).figures.remaining))

function resetOf(items: readonly HeaderItem[]): string | undefined {
  const ms = effectiveMs(bindingOf(items))
  return ms === undefined ? undefined : String(seconds(ms))
}

/**
 * A minute less than a timer can wait for: clients that read an epoch add a second or two to it (Octokit), and a timer that
 * overflows fires at once.
 */
const MAX_EPOCH_MS = (MAX_SECONDS - 60) * 1_000

function resetEpochOf(items: readonly HeaderItem[]): string | undefined {
  const ms = effectiveMs(bindingOf(items))
  return ms === undefined
    ? undefined
    : String(Math.ceil((Date.now() + Math.min(ms, MAX_EPOCH_MS)) / 1_000))
}

function dictionary7(items: readonly HeaderItem[]): string {
  const reset = resetOf(items)
  const start = `limit=${limitOf(items)}, remaining=${remainingOf(items)}`
  return reset === undefined ? start : `${start}, reset=${reset}`
}

// Names in lower case, in which HTTP/2 sends all and HTTP/1.1 reads any: Node would put them so for each response anew.

const POLICY_6: Field = { name: 'ratelimit-policy', write: list(policyItem6) }
const LEGACY: readonly Field[] = [
  { name: 'x-ratelimit-limit', write: limitOf },
  { name: 'x-ratelimit-remaining', write: remainingOf },
]

const FORMATS: Readonly<Record<HeaderFormat, readonly Field[]>> = {
  'draft-8': [
    { name: 'ratelimit-policy', write: list(policyItem8) },
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
}
