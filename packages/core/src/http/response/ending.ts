// When a request is over, and how: its response has ended, or its connection has closed.

/** How a response ended. */
export interface ResponseOutcome {
  /** The status that was sent, or would have been. */
  readonly status: number
  /** False: the connection closed before the whole response was handed over, so the status may not
   *  have been sent. */
  readonly finished: boolean
}

/** The connection of a request. */
interface NodeSocket {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** The part of a Node response that shows when it is over, and how. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly writableFinished: boolean
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
  once(event: 'close', listener: () => void): unknown
}

type Done = (outcome: ResponseOutcome) => void

/** The callbacks for each response: with a listener for each callback, Node would warn of a
 *  leak. */
const calls: WeakMap<NodeResponse, Done[]> = new WeakMap()

/** The responses of each connection that are not over: here as well, a listener for each would be
 *  too many. */
const open: WeakMap<NodeSocket, Set<NodeResponse>> = new WeakMap()

/**
 * Calls back once when a request is over, however it ended: its response was sent whole, was cut
 * off or never began, or its connection closed while it waited behind others. For HTTP/1 and
 * HTTP/2. Adapters use it as their `afterResponse`.
 */
export function afterNodeResponse(response: NodeResponse, done: Done): void {
  const socket = response.stream ? undefined : response.req?.socket
  // A client that left while its decision was made has closed the response already: no event will
  // come.
  if (socket?.destroyed || (response.closed ?? response.stream?.destroyed)) {
    done(outcomeOf(response))
    return
  }
  const others = calls.get(response)
  if (others !== undefined) {
    others.push(done)
    return
  }
  calls.set(response, [done])
  const ofSocket = socket ? openOf(socket) : undefined
  ofSocket?.add(response)
  response.once('close', () => {
    ofSocket?.delete(response)
    end(response)
  })
}

function openOf(socket: NodeSocket): Set<NodeResponse> {
  const known = open.get(socket)
  if (known !== undefined) return known
  const responses: Set<NodeResponse> = new Set()
  open.set(socket, responses)
  socket.once('close', () => responses.forEach(end))
  return responses
}

function end(response: NodeResponse): void {
  const all = calls.get(response) ?? []
  calls.delete(response)
  for (const done of all) done(outcomeOf(response))
}

/** An HTTP/2 stream that was reset looks as if it had been written to its end. */
function outcomeOf(response: NodeResponse): ResponseOutcome {
  const { statusCode: status, writableEnded, writableFinished, stream } = response
  return { status, finished: writableEnded && writableFinished && !stream?.rstCode }
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
