// The response to a refused request: status, body and media type. Problem documents follow RFC
// 9457; their types and titles are from revision 11 of the RateLimit draft. They contain no key,
// address or usage.

import { quote, typeError } from '../../base/errors.js'
import { type Awaitable, whenKnown } from '../../base/maybe-async.js'
import type { Decision, Denied } from '../../limiter/decision.js'
import { retryAfterSeconds } from './headers.js'

/**
 * The response to a request that is not let through. Its headers are set already, except for
 * Content-Type.
 */
export interface Refusal {
  readonly status: number
  /** For Content-Type. */
  readonly mediaType: string
  /** The content of the body: a text, or an object for JSON. */
  readonly content: string | object
  /** The content as text, to be sent as it is. */
  readonly body: string
  /** Absent where no limiter decided: a client on the deny list, or one that could not be
   *  identified. */
  readonly decision: Decision | undefined
  /** When to try again, in ms. Differs from the decision's where that would show a hidden policy's
   *  usage. Absent where waiting cannot help. */
  readonly retryAfterMs?: number
}

export interface DenialOptions<Req, Rest extends unknown[] = []> {
  /** Status of a denial. Default 429. */
  readonly status?: number | undefined
  /** Body of a denial: a text, an object for JSON, or a function that makes either. Default: a
   *  problem document. */
  readonly body?:
    | string
    | object
    | ((decision: Denied, request: Req, ...rest: Rest) => Awaitable<string | object>)
    | undefined
  /** Media type of `body`. Default: `text/plain; charset=utf-8` or `application/json`. */
  readonly mediaType?: string | undefined
}

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'

/**
 * The refusal of a denied request.
 * @param details what its client may know
 */
export function denial<Req, Rest extends unknown[]>(
  decision: Denied,
  details: { readonly waitMs: number; readonly violated: readonly string[] },
  options: DenialOptions<Req, Rest>,
  request: Req,
  rest: Rest,
): Refusal | Promise<Refusal> {
  const { waitMs, violated } = details
  const wait = Number.isFinite(waitMs) ? { retryAfterMs: waitMs } : {}
  if (decision.reason === 'store-unavailable' || decision.reason === 'policy-failed')
    return { ...problem(unavailable, decision), ...wait }
  const { status = 429, body, mediaType } = options
  if (body === undefined) {
    const kind = decision.reason === 'blocked' ? ABUSE : QUOTA
    return { ...problem(exceeded(kind, status, waitMs, violated), decision), ...wait }
  }
  const content = typeof body === 'function' ? body(decision, request, ...rest) : body
  return whenKnown(content, (known) => ({
    ...written(known, mediaType),
    status,
    decision,
    ...wait,
  }))
}

function written(
  content: unknown,
  mediaType?: string,
): Pick<Refusal, 'content' | 'body' | 'mediaType'> {
  if (typeof content === 'string') {
    return { content, body: content, mediaType: mediaType ?? 'text/plain; charset=utf-8' }
  }
  if (typeof content !== 'object' || content === null) {
    throw typeError('WEIR_INVALID_OPTION', `body gave ${quote(content)}; give a text or an object`)
  }
  return { content, body: JSON.stringify(content), mediaType: mediaType ?? 'application/json' }
}

interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly 'violated-policies'?: readonly string[]
}

function problem(content: Problem, decision?: Decision): Refusal {
  const mediaType = 'application/problem+json'
  return { status: content.status, mediaType, content, body: JSON.stringify(content), decision }
}

const QUOTA: Pick<Problem, 'type' | 'title'> = {
  type: `${PROBLEM_TYPES}quota-exceeded`,
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
}

/** For a block, which is meant for clients that guess. */
const ABUSE: Pick<Problem, 'type' | 'title'> = {
  type: `${PROBLEM_TYPES}abnormal-usage-detected`,
  title: 'Request not satisfied due to detection of abnormal request pattern',
}

function exceeded(
  kind: Pick<Problem, 'type' | 'title'>,
  status: number,
  waitMs: number,
  violated: readonly string[],
): Problem {
  const wait = retryAfterSeconds(waitMs)
  return {
    ...kind,
    status,
    detail: wait === undefined ? NEVER : `Try again in ${wait} second${wait === 1 ? '' : 's'}.`,
    ...(violated.length > 0 && { 'violated-policies': violated }),
  }
}

const NEVER = 'This request takes more than will ever be left, so trying again does not help.'

const unavailable: Problem = {
  type: `${PROBLEM_TYPES}temporary-reduced-capacity`,
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
  status: 503,
  detail: 'Requests cannot be counted at present, so this one was refused.',
}

/** More requests are in flight than the process can serve. */
export function overloaded(retryAfterMs: number): Refusal {
  const detail = 'The server is working to capacity. Try again later.'
  return { ...problem({ ...unavailable, detail }), retryAfterMs }
}

/** The function `cost` returned no valid cost for this request. It was charged 1. */
export function invalidCost(decision: Decision): Refusal {
  return plain(400, 'Bad request', 'The cost of this request cannot be determined.', decision)
}

/** A client on the deny list. Not 429: clients would try again. */
export function denyListed(): Refusal {
  return plain(403, 'Forbidden', 'Requests from this address are not accepted.')
}

/** A request without a key, where such requests are denied. */
export function unidentified(): Refusal {
  return plain(403, 'Forbidden', 'The client cannot be identified.')
}

/** The client has chosen a key that is too long to be counted. */
export function longKey(): Refusal {
  return plain(400, 'Bad request', 'The key of this request is too long.')
}

/** A client that has closed its connection while its request waited. Nobody receives this, but code
 *  around the limiter sees the status that nginx logs in such cases. */
export function clientLeft(): Refusal {
  const detail = 'The client left before its request could pass.'
  return plain(499, 'Client closed request', detail)
}

/** A request that waited, or was about to, when its limiter was closed: the process is about to
 *  end. */
export function limiterClosed(): Refusal {
  return { ...problem(unavailable), retryAfterMs: 1_000 }
}

function plain(status: number, title: string, detail: string, decision?: Decision): Refusal {
  return problem({ type: 'about:blank', title, status, detail }, decision)
}
