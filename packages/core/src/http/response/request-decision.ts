// The decision that a request carries: of all that its limiters have made, the one that binds.

import { bindsMore } from '../../limiter/binding.js'
import type { Allowed, Decision, Denied, WaitDecision } from '../../limiter/decision.js'
import type { RateLimiter } from '../../limiter/limiter.js'
import { arrayOf } from '../../request.js'
import { type Field, fieldsOf, type HeaderFormat } from './headers.js'
import type { RequestHold } from './in-progress.js'

/**
 * The binding decision of a request (`req.rateLimit`, `ctx.state.rateLimit`): the denied one with
 * the longest wait, else the one with the smallest share left.
 */
export type RequestDecision = (Allowed | Denied) & {
  /** How long `wait` has delayed it, in whole ms. */
  readonly waitedMs: number
  readonly all: readonly Decision[]
  /** The slots that it holds. */
  readonly held?: RequestHold | undefined
  /** The decision of the limiter of this name. */
  of(limiter: string): Decision | undefined
}

/** What responses show of one limiter. */
export interface ResponseSettings {
  /** The limiter's name in responses, where two limiters have policies of one name. */
  readonly limiter: string
  readonly formats: readonly HeaderFormat[]
  /** The formats as one text, to compare them quickly: mostly all limiters have the same. */
  readonly form: string
  /** None: this limiter is not shown. */
  readonly fields: readonly Field[]
  /** Names of policies that are not shown. */
  readonly hidden: ReadonlySet<string>
  /** True if its denials refuse nothing. */
  readonly shadow: boolean
  /** The limiter whose charge is given back when a later limiter refuses the request; undefined:
   *  none. */
  readonly refunds: RateLimiter | undefined
}

export function responseSettings(
  limiter: string,
  formats: readonly HeaderFormat[],
  hide: readonly string[],
  shadow = false,
  refunds?: RateLimiter,
): ResponseSettings {
  const fields = fieldsOf(formats)
  return { limiter, formats, form: formats.join(), fields, hidden: new Set(hide), shadow, refunds }
}

/**
 * The settings for each of `all`. Under a symbol, so that users do not see them; the ESM and the
 * CommonJS copy of this module share it. Its number changes with the form of these settings, so
 * that another version's decision is ignored.
 */
export const SETTINGS: unique symbol = Symbol.for('@weir/core:response-settings-2')

/** The decision that a request carries, as this module has made it. */
export type Carried = RequestDecision & { readonly [SETTINGS]: readonly ResponseSettings[] }

/** False for what other libraries keep under the same name. */
export function isCarried(found: unknown): found is Carried {
  return typeof found === 'object' && found !== null && SETTINGS in found
}

/** Among the decisions that a request carries, the one by the limiter with these settings. */
export function decisionBy(found: unknown, settings: ResponseSettings): Decision | undefined {
  return isCarried(found) ? found.all[found[SETTINGS].indexOf(settings)] : undefined
}

/**
 * Adds a decision to those that a request carries. A limiter that decides several times on one
 * request, as for each field of a GraphQL query, has only its binding decision in `all`: what a
 * request carries must not grow with their number.
 */
export function withDecision(
  found: unknown,
  decision: Decision,
  settings: ResponseSettings,
): Carried {
  const { waitedMs = 0 } = decision as Partial<WaitDecision>
  // No literals: see the classes of request.ts.
  if (!isCarried(found)) return carry(decision, waitedMs, arrayOf(decision), arrayOf(settings))
  const { all, [SETTINGS]: allSettings } = found
  const binding = binds(decision, found) ? decision : found
  const allMs = found.waitedMs + waitedMs
  const at = allSettings.indexOf(settings)
  if (at < 0) return carry(binding, allMs, [...all, decision], [...allSettings, settings])
  const earlier = all[at] as Decision
  const kept = binds(earlier, decision) ? earlier : decision
  return carry(binding, allMs, all.with(at, kept), allSettings)
}

/** Adds what the request holds. Requests that hold nothing have no such field. */
export function withHold(carried: Carried, held: RequestHold | undefined): Carried {
  return held === undefined ? carried : Object.assign(carried, { held })
}

type Fields = {
  -readonly [Name in
    | Exclude<keyof Allowed | keyof Denied, 'used' | 'resetTime'>
    | 'waitedMs'
    | 'all'
    | typeof SETTINGS]: unknown
}

/** A class, so that no function is logged or cloned with a decision. */
class CarriedDecision {
  constructor(
    decision: Decision,
    waitedMs: number,
    all: readonly Decision[],
    allSettings: readonly ResponseSettings[],
  ) {
    const own = this as unknown as Fields
    // Field by field: `Object.assign` would take longer than the decision itself.
    own.allowed = decision.allowed
    own.limiter = decision.limiter
    own.policy = decision.policy
    own.key = decision.key
    own.limit = decision.limit
    own.remaining = decision.remaining
    own.resetAfterMs = decision.resetAfterMs
    own.policies = decision.policies
    own.source = decision.source
    own.degraded = decision.degraded
    if (decision.allowed) {
      own.receipt = decision.receipt
    } else {
      own.reason = decision.reason
      own.retryAfterMs = decision.retryAfterMs
    }
    if (decision.priority !== undefined) own.priority = decision.priority
    own.waitedMs = waitedMs
    own.all = all
    own[SETTINGS] = allSettings
  }

  of(this: Carried, limiter: string): Decision | undefined {
    return this.all.find((decision) => decision.limiter === limiter)
  }

  get used(): number {
    return bindingOf(this)?.used ?? 0
  }

  get resetTime(): Date | undefined {
    return bindingOf(this)?.resetTime
  }
}

/** The decision in `all` that a carried decision shows. */
function bindingOf(carried: object): Decision | undefined {
  const { all, limiter, policy } = carried as Carried
  return all.find((decision) => decision.limiter === limiter && decision.policy === policy)
}

function carry(
  decision: Decision,
  waitedMs: number,
  all: readonly Decision[],
  allSettings: readonly ResponseSettings[],
): Carried {
  return new CarriedDecision(decision, waitedMs, all, allSettings) as unknown as Carried
}

function binds(one: Decision, other: Decision): boolean {
  return bindsMore(one, !one.allowed, other, !other.allowed)
}
