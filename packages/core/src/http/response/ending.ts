// When a request is over, and how: its response has ended, or its connection has closed.

import { quote } from '../../base/errors.js'
import { warnOnce } from '../../base/warnings.js'

/** How a response ended. */
export interface ResponseOutcome {
  /** The status that was sent, or would have been. */
  readonly status: number
  /** False: the connection closed before the whole response was handed over. */
  readonly finished: boolean
}

/** The connection of a request, or what stands in for it: on platforms without connections it may
 *  have none of these. */
interface NodeSocket {
  readonly destroyed?: boolean
  readonly connecting?: boolean
  /** True of one that was never connected. */
  readonly pending?: boolean
  once?(event: 'close', listener: () => void): unknown
}

/** The part of a Node response that shows when it is over, and how. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly destroyed?: boolean
  readonly closed?: boolean
  /** HTTP/1 only: where a client pipelines requests, Node reports a closed connection only to the
   *  first of them. */
  readonly req?: { readonly socket?: NodeSocket | null } | null
  /** HTTP/2 only, where the response itself does not show that it was cut off. */
  readonly stream?: {
    readonly destroyed?: boolean
    readonly rstCode?: number | undefined
    close?(code: number): void
  } | null
  destroy?(): unknown
  once(event: 'close' | 'finish', listener: () => void): unknown
  listenerCount?(event: 'close'): number
}

type Done = (outcome: ResponseOutcome) => void

/** What is known of a response. */
interface Ending {
  /** Undefined: it is not over. */
  outcome: ResponseOutcome | undefined
  /** With a listener for each of these, Node would warn of a leak. */
  readonly calls: Done[]
}

const endings: WeakMap<NodeResponse, Ending> = new WeakMap()

/** What ends the responses of each connection that are not over: here as well, a listener for each
 *  would be too many. */
const open: WeakMap<NodeSocket, Set<() => void>> = new WeakMap()

/**
 * Calls back once when a request is over, however it ended: its response was sent whole, was cut
 * off or never began, or its connection closed while it waited behind others. For HTTP/1 and
 * HTTP/2, and for what stands in for HTTP/1 where functions are called and in tests, which emit
 * `finish`, `close` or both. Adapters use it as their `afterResponse`.
 * @throws if the response takes no listeners
 */
export function afterNodeResponse(response: NodeResponse, done: Done): void {
  const known = endings.get(response)
  if (known !== undefined) {
    if (known.outcome === undefined) known.calls.push(done)
    else done(known.outcome)
    return
  }
  const socket = socketOf(response)
  // A client that left while its decision was made has closed the response already: no event will
  // come.
  if (socket?.destroyed || isOver(response)) {
    done(outcomeOf(response, false))
    return
  }
  const ending: Ending = { outcome: undefined, calls: [done] }
  const others = socket && openOn(socket)
  function end(hasFinished: boolean): void {
    others?.delete(close)
    ending.outcome ??= outcomeOf(response, hasFinished)
    for (const call of ending.calls.splice(0)) call(ending.outcome)
  }
  const close = () => end(false)
  response.once('finish', () => end(true))
  response.once('close', close)
  if (!hasNodeConnection(response) && !response.listenerCount?.('close'))
    throw new TypeError('it takes no listeners')
  others?.add(close)
  endings.set(response, ending)
}

function openOn(socket: NodeSocket): Set<() => void> {
  const known = open.get(socket)
  if (known !== undefined) return known
  const all: Set<() => void> = new Set()
  open.set(socket, all)
  socket.once?.('close', () => {
    for (const close of all) close()
  })
  return all
}

/** Undefined over HTTP/2. */
function socketOf({ stream, req }: NodeResponse): NodeSocket | undefined {
  return stream ? undefined : (req?.socket ?? undefined)
}

/**
 * Whether the response is sent over a connection, which closes in the end whatever becomes of the
 * response. False where something stands in for it, as in functions: it may then never be told that
 * the response has ended.
 */
export function hasNodeConnection(response: NodeResponse): boolean {
  try {
    if (response.stream) return true
    const { connecting, pending } = socketOf(response) ?? {}
    return typeof connecting === 'boolean' && pending !== true
  } catch {
    // What stands in for a socket may throw for what it lacks.
    return false
  }
}

function isOver(response: NodeResponse): boolean {
  const { stream, closed, writableEnded, writableFinished } = response
  if (closed ?? stream?.destroyed) return true
  // What stands in for a response may have emitted its only event, and is never finished.
  return !stream && (writableFinished || (writableEnded && !hasNodeConnection(response)))
}

/** @param hasFinished whether `finish` has come, which over HTTP/2 also comes after a reset */
function outcomeOf(response: NodeResponse, hasFinished: boolean): ResponseOutcome {
  const { statusCode: status, writableEnded, writableFinished, stream } = response
  if (stream)
    return { status, finished: Boolean(writableEnded && writableFinished && !stream.rstCode) }
  // Node emits `finish` also where the connection closes before all was handed over.
  if (socketOf(response)?.destroyed) return { status, finished: false }
  // What stands in for a response may emit `finish` before it has ended, or never be finished.
  const isWhole = hasFinished || writableFinished || (writableEnded && !response.destroyed)
  return { status, finished: isWhole }
}

/**
 * Calls back when a response is over. False if it does not show when that is: then Weir warns once
 * for `who`, and does without.
 * @param instead what `who` does then
 */
export function canSeeEnd<Res>(
  afterResponse: (response: Res, done: Done) => void,
  response: Res,
  done: Done,
  who: string,
  instead: string,
): boolean {
  try {
    afterResponse(response, done)
    return true
  } catch (error) {
    const why = `cannot see when a response ends: ${quote(error)}`
    warnOnce('WEIR_NO_END', `${who} ${instead}`, `${who} ${instead}, since it ${why}`)
    return false
  }
}

/** HTTP/2's INTERNAL_ERROR: it tells a client that what it has read is incomplete. */
const BROKEN_OFF = 2

/**
 * Breaks a response off so that its client can tell: over HTTP/1 its connection closes, and over
 * HTTP/2 its stream is reset. Destroying the stream would end it as if all had been sent.
 */
export function cutOffNodeResponse(response: NodeResponse): void {
  const { stream } = response
  if (stream?.close !== undefined) stream.close(BROKEN_OFF)
  else response.destroy?.()
}

/**
 * Breaks a response off if it has begun and not ended: its client would read a refusal as a part of
 * it. Returns whether it had begun. For adapters, before they refuse.
 */
export function cutOffBegun(response: NodeResponse & { readonly headersSent: boolean }): boolean {
  if (response.headersSent && !response.writableEnded) cutOffNodeResponse(response)
  return response.headersSent
}
