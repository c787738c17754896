// What the tests need of each framework's server. Tests use exchanges, which each server
// translates.

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import type { Denied } from '@weir/core'
import type { LimitOptions, RequestDecision } from '@weir/core/http'

/** A request, whatever the framework calls it. */
export interface Exchange {
  readonly method: string
  /** Includes the query. */
  readonly url: string
  header(name: string): string | undefined
  /** The decision, in the place where the framework's users find it. */
  readonly placed: RequestDecision | undefined
  /** The decision under another name. */
  placedAs(property: string): unknown
  /** The framework's request object. */
  readonly raw: object
}

/** The response of a handler. */
export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Readable
}

/** The options of a limiter, in terms of exchanges. */
export type Settings = LimitOptions<Exchange> & {
  readonly onDenied?: (decision: Denied, exchange: Exchange) => Reply | Promise<Reply>
}

/**
 * The framework's own proxy setting: it trusts nobody, everybody, or the last hop. For a framework
 * without such a setting, `hop` is an equivalent one.
 */
export type OwnTrust = 'nobody' | 'everybody' | 'hop'

export interface Setup {
  /** In the order in which requests meet them. */
  readonly limiters: readonly Settings[]
  /** Answers allowed requests. Default: `told`. The framework handles what it throws. */
  readonly handler?: (exchange: Exchange) => Reply | Promise<Reply>
  readonly trust?: OwnTrust
  /** Runs around everything else, as the first middleware. */
  readonly around?: (exchange: Exchange, next: () => unknown) => unknown
  /** Default 127.0.0.1. */
  readonly host?: string
}

export interface Running {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string
  close(): Promise<void>
}

export interface ServerKind {
  readonly name: string
  /** False: the adapter cannot know when a handler has ended, so handlers that hold slots give
   *  their work to `held.until`. Default true. */
  readonly knowsHandlers?: boolean
  start(setup: Setup): Promise<Running>
}

/** A framework whose limiters are middlewares. `packages/NAME/test/behaviour.ts` exports one. */
export interface AdapterKind extends ServerKind {
  /** Starts a server that answers 'ok' behind one limiter, which is mounted this many times. */
  mount(options: LimitOptions<object>, times: number): Promise<Running>
  /** Starts a server that makes a limiter for each request, by mistake. */
  mountAnew(options: LimitOptions<object>): Promise<Running>
}

/** The default handler: returns the path, what is left, and how many limiters have decided. */
export function told({ url, placed }: Exchange): Reply {
  const left = placed?.remaining
  return {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, left, decisions: placed?.all.length ?? 0 }),
  }
}

/** Starts a Node server. */
export async function listen(listener: RequestListener, host = '127.0.0.1'): Promise<Running> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * A limiter's options, whose functions get the framework's request. `onDenied` is left to the
 * server.
 */
export function optionsFor<Req>(
  { onDenied: _, ...settings }: Settings,
  exchangeOf: (request: Req) => Exchange,
): LimitOptions<Req> {
  const options: Record<string, unknown> = { ...settings }
  for (const name of [
    'key',
    'cost',
    'priority',
    'policy',
    'limit',
    'window',
    'skip',
    'onMissingKey',
  ] as const) {
    const given = settings[name]
    // A function that takes keys does not get requests.
    if (typeof given === 'function' && !('takesKey' in given))
      options[name] = (request: Req) => given(exchangeOf(request))
  }
  const { refundWhen, settle, body } = settings
  if (refundWhen !== undefined) {
    options.refundWhen = (request: Req, outcome: Parameters<typeof refundWhen>[1]) =>
      refundWhen(exchangeOf(request), outcome)
  }
  if (settle !== undefined) {
    options.settle = (request: Req, outcome: Parameters<typeof settle>[1]) =>
      settle(exchangeOf(request), outcome)
  }
  if (typeof body === 'function')
    options.body = (decision: Denied, request: Req) => body(decision, exchangeOf(request))
  return options as unknown as LimitOptions<Req>
}
