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
  #calls: ((outcome: ResponseOutcome) => void)[] | undefined = undefined
  #outcome: ResponseOutcome | undefined = undefined
  #status = 200
  #last: Response | undefined = undefined
  #breakOff: ((reason: unknown) => void) | undefined = undefined
  #isCutOff = false
  #headers: Record<string, string> | undefined = undefined
  readonly placed: Record<string, unknown> = {}
  client: Client = {}
  /** Whether the limiter itself calls the handler, and so sees its response. */
  isHandled = false

  constructor(request: Request) {
    this.#request = request
  }

  get headersSent(): boolean {
    return this.#last !== undefined || this.client.outgoing?.headersSent === true
  }

  setHeader(name: string, value: string): void {
    const { outgoing } = this.client
    if (outgoing !== undefined) {
      // Much cheaper than headers of Fetch, and on each response, also on that to an error.
      outgoing.setHeader(name, value)
      return
    }
    this.#headers ??= {}
    this.#headers[name] = value
  }

  removeHeader(name: string): void {
    this.client.outgoing?.removeHeader(name)
    delete this.#headers?.[name]
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
    if (this.#calls === undefined) {
      this.#calls = []
      this.#watchClient()
    }
    if (this.#outcome === undefined) this.#calls.push(done)
    else done(this.#outcome)
  }

  #watchClient(): void {
    const { signal } = this.#request
    if (signal.aborted) this.end(this.#status, false)
    else signal.addEventListener('abort', () => this.end(this.#status, false), { once: true })
  }

  end(status: number, finished: boolean): void {
    this.#outcome ??= { status, finished }
    for (const call of this.#calls?.splice(0) ?? []) call(this.#outcome)
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
    // Bun's handlers return nothing after an upgrade.
    if (response === undefined) this.end(101, true)
    if (response === undefined || response === this.#last) return response
    this.#status = response.status
    this.#last = withHeaders(this.#watched(response), this.#headers)
    return this.#last
  }

  /** The response, whose body tells when it is over if somebody waits for that. */
  #watched(response: Response): Response {
    if (this.#calls === undefined || (this.#outcome !== undefined && !this.#isCutOff))
      return response
    const { body } = response
    // Frameworks drop the body of a response to HEAD.
    if (body !== null && this.#request.method !== 'HEAD')
      return new Response(this.#stream(body), response)
    this.end(response.status, true)
    return response
  }

  #stream(body: Body): Body {
    const reader = body.getReader()
    const end = (finished: boolean) => this.end(this.#status, finished)
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#breakOff = (reason) => {
            controller.error(reason)
            void reader.cancel(reason).catch(() => {})
          }
          if (this.#isCutOff) this.cutOff()
        },
        async pull(controller) {
          try {
            const { done, value } = await reader.read()
            if (!done) {
              controller.enqueue(value)
              return
            }
            controller.close()
            end(true)
          } catch (error) {
            end(false)
            controller.error(error)
          }
        },
        cancel(reason) {
          end(false)
          return reader.cancel(reason)
        },
      },
      // Nothing is read ahead of the server, so the end is the server's.
      { highWaterMark: 0 },
    )
  }
}

const EXCHANGE: unique symbol = Symbol('weir.exchange')

/** On the request itself: a WeakMap of young objects makes collecting garbage slow. */
export function exchangeOf(request: Request & { [EXCHANGE]?: Exchange }): Exchange {
  request[EXCHANGE] ??= new Exchange(request)
  return request[EXCHANGE]
}

/** A header that the handler has set itself stays, as in other frameworks. */
function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>> | undefined,
): Response {
  let into = response
  for (const name in headers) {
    const value = headers?.[name] as string
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
