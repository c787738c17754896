// What a request carries of the decisions made on it, and how they are told in its response's headers.

import type { Allowed, Decision, Denied } from '../decision.js'
import { type Field, fieldsOf, type HeaderFormat } from './headers.js'
import { type Row, rowBindsMore, share } from './row.js'

/**
 * The binding decision of a request (`req.rateLimit`, `ctx.state.rateLimit`): the denied one with the longest wait, else
 * the one with the smallest share left. `all` has every limiter's decision, in the order in which they were made.
 */
export type RequestDecision = (Allowed | Denied) & { readonly all: readonly Decision[] }

/** How one limiter's decisions are told. */
export interface Teller {
  /** The limiter's name, which tells its policies from those of the same name in another one. */
  readonly name: string
  /** None: this limiter tells nothing. */
  readonly fields: readonly Field[]
  /** Names of policies that are not told. */
  readonly hidden: ReadonlySet<string>
}

export function tellerOf(name: string, formats: readonly HeaderFormat[], hidden: readonly string[]): Teller {
  return { name, fields: fieldsOf(formats), hidden: new Set(hidden) }
}

const TELLERS: unique symbol = Symbol('tellers')

/** Who tells each of `all`. Under a symbol, as it is nobody else's business. */
type Told = RequestDecision & { readonly [TELLERS]: readonly Teller[] }

/** The request's decision, with one more made on it. */
export function withDecision(
  before: RequestDecision | undefined,
  decision: Decision,
  teller: Teller,
): RequestDecision {
  if (before === undefined) return place(decision, [decision], [teller])
  const binding = bindsMore(decision, before) ? decision : before
  return place(binding, [...before.all, decision], [...(before as Told)[TELLERS], teller])
}

/** Field by field: a copy by `...` costs more than the decision itself, over two microseconds. */
function place(decision: Decision, all: readonly Decision[], tellers: readonly Teller[]): Told {
  const { policy, key, limit, remaining, resetAfterMs, policies, source, degraded } = decision
  if (decision.allowed) {
    return {
      allowed: true,
      policy,
      key,
      limit,
      remaining,
      resetAfterMs,
      policies,
      source,
      degraded,
      receipt: decision.receipt,
      all,
      [TELLERS]: tellers,
    }
  }
  return {
    allowed: false,
    reason: decision.reason,
    policy,
    key,
    limit,
    remaining,
    retryAfterMs: decision.retryAfterMs,
    resetAfterMs,
    policies,
    source,
    degraded,
    all,
    [TELLERS]: tellers,
  }
}

function bindsMore(decision: Decision, than: Decision): boolean {
  if (decision.allowed !== than.allowed) return !decision.allowed
  if (decision.allowed || than.allowed) return share(decision) < share(than)
  return decision.retryAfterMs > than.retryAfterMs
}

/**
 * Writes the last limiter's fields, each whole, for all decisions that may be told: a field that an earlier limiter
 * wrote is replaced by one that says what it said and more, so there is never a second line.
 */
export function tell<Res>(
  placed: RequestDecision,
  teller: Teller,
  response: Res,
  setHeader: (response: Res, name: string, value: string) => void,
): void {
  if (teller.fields.length === 0) return
  const rows = rowsOf(placed as Told)
  if (rows.length === 0) return
  for (const field of teller.fields) {
    const value = field.write(rows)
    if (value !== undefined) setHeader(response, field.name, value)
  }
}

function rowsOf(placed: Told): readonly Row[] {
  const rows: Row[] = []
  for (let i = 0; i < placed.all.length; i += 1) {
    const { name, fields, hidden } = placed[TELLERS][i] as Teller
    if (fields.length > 0) addRows(rows, placed.all[i] as Decision, name, hidden)
  }
  return rows
}

function addRows(rows: Row[], decision: Decision, limiter: string, hidden: ReadonlySet<string>): void {
  for (const figures of decision.policies) {
    const { policy, remaining, cost } = figures
    if (policy.kernel === undefined || (hidden.size > 0 && hidden.has(policy.name))) continue
    const taken = rows.some((row) => row.name === policy.name && row.limiter !== limiter)
    const name = taken ? `${limiter}.${policy.name}` : policy.name
    const row = { limiter, name, figures, violated: !decision.allowed && remaining < cost }
    // Still the same name, as when one limiter was asked twice: a field has room for one, and it is the scarcer.
    const twin = rows.findIndex((other) => other.name === name)
    if (twin < 0) rows.push(row)
    else if (rowBindsMore(row, rows[twin] as Row)) rows[twin] = row
  }
}
