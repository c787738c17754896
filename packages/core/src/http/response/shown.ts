// What a response shows of the decisions that its request carries.

import { isUnnamed, type Policy } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import { isViolated } from '../../limiter/binding.js'
import type { Decision, Denied } from '../../limiter/decision.js'
import type { PolicyResult } from '../../store.js'
import {
  type Field,
  fieldsOf,
  type HeaderItem,
  itemBindsMore,
  retryAfterSeconds,
} from './headers.js'
import { type Carried, type ResponseSettings, SETTINGS } from './request-decision.js'

/**
 * Writes every field whole, in the formats of all limiters so far. It replaces an earlier limiter's
 * field by one that says the same and more, so no field is sent twice or is out of date.
 */
export function writeHeaders<Res>(
  clock: Clock,
  carried: Carried,
  settings: ResponseSettings,
  response: Res,
  setHeader: (response: Res, name: string, value: string) => void,
  removeHeader: ((response: Res, name: string) => void) | undefined,
): void {
  if (settings.fields.length === 0) return
  const items = itemsOf(carried)
  if (items.length === 0) return
  for (const field of fieldsOfAll(carried[SETTINGS], settings)) {
    const value = field.write(items, clock)
    if (value !== undefined) setHeader(response, field.name, value)
    else if (carried.all.length > 1) removeHeader?.(response, field.name)
  }
}

/** Sets the headers of a refusal: when to come again, and that no cache may keep it. */
export function writeRefusal<Res>(
  waitMs: number,
  response: Res,
  setHeader: (response: Res, name: string, value: string) => void,
): void {
  const wait = retryAfterSeconds(waitMs)
  if (wait !== undefined) setHeader(response, 'Retry-After', String(wait))
  setHeader(response, 'Cache-Control', 'no-store')
}

function fieldsOfAll(
  allSettings: readonly ResponseSettings[],
  last: ResponseSettings,
): readonly Field[] {
  for (const { form } of allSettings) {
    if (form !== last.form && form !== '')
      return fieldsOf(allSettings.flatMap(({ formats }) => formats))
  }
  return last.fields
}

/** The names, in the response, of the policies that denied a request, without the hidden ones. */
export function violatedNames(
  carried: Carried,
  denied: Denied,
  { limiter, hidden }: ResponseSettings,
): string[] {
  const items = itemsOf(carried)
  return denied.policies
    .filter((result) => isViolated(result) && !hidden.has(result.policy.name))
    .map(({ policy }) => {
      const item = items.find(
        (each) => each.limiter === limiter && each.result.policy.name === policy.name,
      )
      return item?.name ?? nameShown(policy, denied, limiter)
    })
}

/** The longest wait that may be shown, in ms, of all limiters that refused the request. */
export function longestWaitMs({ all, [SETTINGS]: allSettings }: Carried): number {
  return all.reduce((longest, decision, i) => {
    const { shadow, hidden } = allSettings[i] as ResponseSettings
    return decision.allowed || shadow ? longest : Math.max(longest, shownWaitMs(decision, hidden))
  }, 0)
}

/**
 * A hidden policy's wait would show a stranger when others have used it up. Rounded up to whole
 * windows, it shows only how long they are, and is still long enough.
 */
function shownWaitMs(
  { reason, retryAfterMs, policies }: Denied,
  hidden: ReadonlySet<string>,
): number {
  const isOfStore = reason === 'store-unavailable' || reason === 'policy-failed'
  if (isOfStore || hidden.size === 0) return retryAfterMs
  const waits = policies
    .filter(isViolated)
    .map(({ policy: { name, windowMs }, retryAfterMs: wait }) =>
      hidden.has(name) ? Math.ceil(wait / windowMs) * windowMs : wait,
    )
  return Math.max(...waits)
}

function itemsOf({ all, [SETTINGS]: allSettings }: Carried): readonly HeaderItem[] {
  let items: readonly HeaderItem[] = NONE
  for (let i = 0; i < all.length; i += 1) {
    const { fields, hidden, limiter } = allSettings[i] as ResponseSettings
    if (fields.length === 0) continue
    const decision = all[i] as Decision
    const { allowed, policies } = decision
    for (let j = 0; j < policies.length; j += 1) {
      const result = shownResult(policies[j] as PolicyResult, decision)
      const { kernel, name } = result.policy
      if (kernel === undefined || (hidden.size > 0 && hidden.has(name))) continue
      const shown = nameShown(result.policy, decision, limiter)
      const item = { limiter, name: shown, result, isViolated: !allowed && isViolated(result) }
      items = items.length === 0 ? [item] : withItem(items, item)
    }
  }
  return items
}

const NONE: readonly HeaderItem[] = []

/** A limiter's only policy has the limiter's name, unless the user has named it: clients know that
 *  name, and not the algorithm's. */
function nameShown(policy: Policy, { policies }: Decision, limiter: string): string {
  return policies.length === 1 && isUnnamed(policy) ? limiter : policy.name
}

/** Where the store could not be asked, only the time to try again is known. */
function shownResult(result: PolicyResult, decision: Decision): PolicyResult {
  if (decision.allowed || decision.reason !== 'store-unavailable') return result
  return { ...result, retryAfterMs: decision.retryAfterMs }
}

function withItem(items: readonly HeaderItem[], own: HeaderItem): readonly HeaderItem[] {
  const { limiter } = own
  const isTaken = items.some((other) => other.name === own.name && other.limiter !== limiter)
  const item = isTaken ? { ...own, name: `${limiter}.${own.name}` } : own
  // Still the same name, as when two limiters share theirs as well: a field has room for one of the
  // policies, and shows the binding one.
  const twin = items.findIndex(({ name }) => name === item.name)
  if (twin < 0) return [...items, item]
  return itemBindsMore(item, items[twin] as HeaderItem) ? items.with(twin, item) : items
}
