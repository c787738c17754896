// What a request carries of the decisions made on it, and how they are told in its response's headers.

import {
  type Allowed,
  bindsMore,
  copyOf,
  type Decision,
  type Denied,
  isViolated,
  type PolicyResult,
} from '../../limiter/decision.js'
import { type HeaderItem, itemBindsMore } from './header-item.js'
import { type Field, fieldsOf, type HeaderFormat } from './headers.js'

/**
 * The binding decision of a request (`req.rateLimit`, `ctx.state.rateLimit`): the denied one with the longest wait, else
 * the one with the smallest share left. `all` has every limiter's decision, in the order in which they were made.
 */
export type RequestDecision = (Allowed | Denied) & { readonly all: readonly Decision[] }

/** How one limiter's decisions are told. */
export interface ResponseSettings {
  /** The limiter's name, which tells its policies from those of the same name in another one. */
  readonly name: string
  readonly formats: readonly HeaderFormat[]
  /** The formats as one text: most often all limiters have the same. */
  readonly form: string
  /** None: this limiter tells nothing. */
  readonly fields: readonly Field[]
  /** Names of policies that are not told. */
  readonly hidden: ReadonlySet<string>
  /** True if its denials refuse nothing. */
  readonly shadow: boolean
}

export function responseSettings(
  name: string,
  formats: readonly HeaderFormat[],
  hidden: readonly string[],
  shadow = false,
): ResponseSettings {
  return {
    name,
    formats,
    form: formats.join(),
    fields: fieldsOf(formats),
    hidden: new Set(hidden),
    shadow,
  }
}

/**
 * Who tells each of `all`. Under a symbol, as it is nobody else's business, but one that the ESM and the CommonJS copy of
 * this module share. Its number changes with what is under it: another version's decision counts as somebody else's.
 */
const SETTINGS: unique symbol = Symbol.for('@weir/core:response-settings-1')

type OurDecision = RequestDecision & { [SETTINGS]: readonly ResponseSettings[] }

type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] }

/** False of what other libraries call their own by the same name. */
function isOurs(found: unknown): found is OurDecision {
  return typeof found === 'object' && found !== null && SETTINGS in found
}

/**
 * The request's decision, with one more made on it. A limiter that is asked again about one request, as for each of many
 * fields of a GraphQL query, has the one of its decisions in `all` that binds: what a request holds must not grow with it.
 */
export function withDecision(
  found: unknown,
  decision: Decision,
  own: ResponseSettings,
): RequestDecision {
  if (!isOurs(found)) return place(decision, [decision], [own])
  const { all, [SETTINGS]: settings } = found
  const binding = decisionBindsMore(decision, found) ? decision : found
  const at = settings.indexOf(own)
  if (at < 0) return place(binding, [...all, decision], [...settings, own])
  const earlier = all[at] as Decision
  return place(
    binding,
    all.with(at, decisionBindsMore(earlier, decision) ? earlier : decision),
    settings,
  )
}

function place(
  decision: Decision,
  all: readonly Decision[],
  settings: readonly ResponseSettings[],
): OurDecision {
  const placed = copyOf(decision) as Writable<OurDecision>
  placed.all = all
  placed[SETTINGS] = settings
  return placed
}

function decisionBindsMore(one: Decision, other: Decision): boolean {
  return bindsMore(one, !one.allowed, other, !other.allowed)
}

/**
 * Writes all fields, each whole, in the formats of all limiters so far: a field that an earlier limiter wrote is replaced
 * by one that says what it said and more, so there is never a second line, nor one that is out of date.
 */
export function writeHeaders<Res>(
  placed: RequestDecision,
  own: ResponseSettings,
  response: Res,
  setHeader: (response: Res, name: string, value: string) => void,
): void {
  if (own.fields.length === 0) return
  const items = itemsOf(placed as OurDecision)
  if (items.length === 0) return
  for (const field of fieldsOfAll((placed as OurDecision)[SETTINGS], own)) {
    const value = field.write(items)
    if (value !== undefined) setHeader(response, field.name, value)
  }
}

function fieldsOfAll(
  settings: readonly ResponseSettings[],
  last: ResponseSettings,
): readonly Field[] {
  for (const { form } of settings) {
    if (form !== last.form && form !== '')
      return fieldsOf(settings.flatMap(({ formats }) => formats))
  }
  return last.fields
}

/** What a denied decision's policies that refused are called in the response, but for the hidden ones. */
export function violatedNames(
  placed: RequestDecision,
  { policies }: Decision,
  own: ResponseSettings,
): string[] {
  const items = itemsOf(placed as OurDecision)
  return policies
    .filter((figures) => isViolated(figures) && !own.hidden.has(figures.policy.name))
    .map(({ policy: { name } }) => {
      const item = items.find(
        ({ limiter, figures }) => limiter === own.name && figures.policy.name === name,
      )
      return item?.name ?? name
    })
}

/** The longest wait that may be told, in ms, of all limiters that refused the request and not in a trial. */
export function longestWaitMs(placed: RequestDecision): number {
  const { all, [SETTINGS]: settings } = placed as OurDecision
  return all.reduce((longest, decision, i) => {
    const { shadow, hidden } = settings[i] as ResponseSettings
    return decision.allowed || shadow ? longest : Math.max(longest, shownWaitMs(decision, hidden))
  }, 0)
}

/**
 * A hidden policy's wait would tell a stranger when others have used it up; in whole windows it tells nothing but how long
 * they are, and is still long enough.
 */
function shownWaitMs(
  { reason, retryAfterMs, policies }: Denied,
  hidden: ReadonlySet<string>,
): number {
  if (reason !== 'limit' || hidden.size === 0) return retryAfterMs
  const waits = policies
    .filter(isViolated)
    .map(({ policy: { name, windowMs }, retryAfterMs: wait }) => {
      return hidden.has(name) ? Math.ceil(wait / windowMs) * windowMs : wait
    })
  return Math.max(...waits)
}

function itemsOf({ all, [SETTINGS]: settings }: OurDecision): readonly HeaderItem[] {
  let items: readonly HeaderItem[] = NONE
  for (let i = 0; i < all.length; i += 1) {
    const { fields, hidden, name } = settings[i] as ResponseSettings
    if (fields.length === 0) continue
    const { allowed, policies } = all[i] as Decision
    for (let j = 0; j < policies.length; j += 1) {
      const figures = policies[j] as PolicyResult
      const { policy } = figures
      if (policy.kernel === undefined || (hidden.size > 0 && hidden.has(policy.name))) continue
      const item = {
        limiter: name,
        name: policy.name,
        figures,
        violated: !allowed && isViolated(figures),
      }
      items = items.length === 0 ? [item] : withItem(items, item)
    }
  }
  return items
}

const NONE: readonly HeaderItem[] = []

function withItem(items: readonly HeaderItem[], own: HeaderItem): readonly HeaderItem[] {
  const { limiter } = own
  const taken = items.some((other) => other.name === own.name && other.limiter !== limiter)
  const item = taken ? { ...own, name: `${limiter}.${own.name}` } : own
  // Still the same name, as when two limiters have both names in common: a field has room for one, and it is the scarcer.
  const twin = items.findIndex(({ name }) => name === item.name)
  if (twin < 0) return [...items, item]
  return itemBindsMore(item, items[twin] as HeaderItem) ? items.with(twin, item) : items
}
