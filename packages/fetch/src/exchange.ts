// A request and the response that is made for it afterwards.

import {
  afterNodeResponse,
  cutOffNodeResponse,
  hasNodeConnection,
  type ResponseOutcome,
} from '@weir/core/http'
import type { Client } from './index.js'

type Body = ReadableStream<Uint8Array>

export class Exchange {
  readonly #request: Request
  readonly #calls: ((outcome: ResponseOutcome) => void)[] = []
  #outcome: ResponseOutcome | undefined = undefined
  #status = 200
  #last: Response | undefined = undefined
  #breakOff: ((reason: unknown) => void) | undefined = undefined
  #isCutOff = false
  readonly headers: Map<string, string> = new Map()
  readonly placed: Map<string, unknown> = new Map()
  client: Client = {}
  /** Whether the limiter itself calls the handler, and so sees its response. */
  isHandled = false

  constructor(request: Request) {
    this.#request = request
  }

  get hasResponded(): boolean {
    return this.#last !== undefined
  }

  /** False: perhaps nothing will ever tell that the response is over. */
  get hasConnection(): boolean {
    const { outgoing } = this.client
    return outgoing === undefined ? this.isHandled : hasNodeConnection(outgoing)
  }

  /** Calls back once: when the response's body has been read or cancelled, or the client has
   *  left. */
  after(done: (outcome: ResponseOutcome) => void): void {
    const { outgoing } = this.client
    if (outgoing !== undefined) {
      afterNodeResponse(outgoing, done)
      return
    }
    if (this.#outcome === undefined && this.#calls.length === 0) this.#watchClient()
    if (this.#outcome === undefined) this.#calls.push(done)
    else done(this.#outcome)
  }

  #watchClient(): void {
    const { signal } = this.#request
    if (signal.aborted) this.end(this.#status, false)
    else signal.addEventListener('abort', () => this.end(this.#status, false), { once: true })
  }

  end(status: number, finished: boolean): void {
    if (this.#outcome !== undefined) return
    this.#outcome = { status, finished }
    for (const call of this.#calls.splice(0)) call(this.#outcome)
  }

  /** Breaks the response off, or the one that will be made, so that its client can tell. */
  cutOff(): void {
    const { outgoing } = this.client
    if (outgoing !== undefined) {
      cutOffNodeResponse(outgoing)
      return
    }
    this.#isCutOff = true
    this.end(this.#status, false)
    this.#breakOff?.(new Error('the response took longer than maxHold'))
  }

  respond(response: Response): Response {
    if (response === this.#last) return response
    this.#status = response.status
    this.#last = withHeaders(this.#watched(response), this.headers)
    return this.#last
  }

  /** The response, whose body tells when it is over if somebody waits for that. */
  #watched(response: Response): Response {
    if (this.#isCutOff) return new Response(this.#stream(undefined), response)
    if (this.#outcome !== undefined || this.#calls.length === 0) return response
    const { body } = response
    // Frameworks drop the body of a response to HEAD.
    if (body === null || this.#request.method === 'HEAD') {
      this.end(response.status, true)
      return response
    }
    return new Response(this.#stream(body), response)
  }

  #stream(body: Body | undefined): Body {
    const reader = body?.getReader()
    const end = (finished: boolean) => this.end(this.#status, finished)
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#breakOff = (reason) => {
            controller.error(reason)
            void reader?.cancel(reason).catch(() => {})
          }
          if (this.#isCutOff) this.cutOff()
        },
        async pull(controller) {
          try {
            const { done, value } = (await reader?.read()) ?? { done: true }
            if (value !== undefined) controller.enqueue(value)
            if (!done) return
            controller.close()
            end(true)
          } catch (error) {
            end(false)
            controller.error(error)
          }
        },
        cancel(reason) {
          end(false)
          return reader?.cancel(reason)
        },
      },
      // Nothing is read ahead of the server, so the end is the server's.
      { highWaterMark: 0 },
    )
  }
}

const exchanges: WeakMap<Request, Exchange> = new WeakMap()

export function exchangeOf(request: Request): Exchange {
  let exchange = exchanges.get(request)
  if (exchange === undefined) {
    exchange = new Exchange(request)
    exchanges.set(request, exchange)
  }
  return exchange
}

/** A header that the handler has set itself stays, as in other frameworks. */
function withHeaders(response: Response, headers: ReadonlyMap<string, string>): Response {
  let into = response
  for (const [name, value] of headers) {
    if (into.headers.has(name)) continue
    try {
      into.headers.set(name, value)
    } catch {
      // Of a redirect, or as `fetch` has returned it. A response to an upgrade cannot be copied.
      if (into.status < 200) return into
      into = new Response(into.body, into)
      into.headers.set(name, value)
    }
  }
  return into
}
