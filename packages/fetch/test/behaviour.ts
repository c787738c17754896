// The server for the behaviour of all adapters (internal/behaviour): a function of Fetch, as
// @hono/node-server serves it.

import { Readable } from 'node:stream'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import {
  type Client,
  clientAddress,
  decisionOf,
  type RateLimitOptions,
  rateLimit,
} from '@weir/fetch'
import {
  type AdapterKind,
  type Exchange,
  listen,
  optionsFor,
  type Reply,
  type Running,
  type Settings,
  type Setup,
  told,
} from '../../../internal/behaviour/test/servers/kind.js'

/** Fetch has no setting for proxies: an application finds the address itself. */
const TRUST: Record<NonNullable<Setup['trust']>, Setup['limiters'][number]['proxies']> = {
  nobody: undefined,
  everybody: { trusted: () => true },
  hop: { trusted: ['loopback'] },
}

export const adapter: AdapterKind = {
  name: 'Fetch',
  start: ({ limiters, handler = told, trust = 'nobody', around, host }) => {
    const proxies = TRUST[trust]
    const all = limiters.map((settings) =>
      rateLimit(optionsOf({ proxies, ...settings } as Settings)),
    )
    return serveWith(async (request, client) => {
      const exchange = exchangeOf(request)
      // As frameworks do for what is thrown.
      const caught = async (next: () => unknown) => {
        try {
          return (await next()) as Response
        } catch {
          return new Response('Internal Server Error', { status: 500 })
        }
      }
      const last = () => caught(async () => responseOf(await handler(exchange)))
      const first = () => {
        const ip = Reflect.get(request, 'ip') as string | undefined
        const from = ip === undefined ? client : { ...client, address: ip }
        return all.reduceRight<() => Promise<Response>>(
          (next, limiter) => () => caught(() => limiter.handle(request, from, next)),
          last,
        )()
      }
      return caught(() => (around ? around(exchange, first) : first()))
    }, host)
  },
  mount: (options, times) => {
    const limiter = rateLimit(options)
    return serveWith((request, client) => {
      let next = async () => new Response('ok')
      for (let n = 0; n < times; n += 1) {
        const inner = next
        next = () => limiter.handle(request, client, inner)
      }
      return next()
    })
  },
  mountAnew: (options) =>
    serveWith((request, client) =>
      rateLimit(options).handle(request, client, () => new Response('ok')),
    ),
}

function serveWith(
  fetch: (request: Request, client: Client) => Promise<Response>,
  host?: string,
): Promise<Running> {
  const listener = getRequestListener((request, env) => {
    const bindings = env as HttpBindings
    Object.defineProperty(request, 'socket', { value: bindings.incoming.socket })
    return fetch(request, clientAddress.node(bindings))
  })
  return listen((req, res) => void listener(req, res), host)
}

function optionsOf(settings: Settings): RateLimitOptions {
  const { onDenied } = settings
  const options = optionsFor<Request>(settings, exchangeOf)
  if (onDenied === undefined) return options
  return {
    ...options,
    onDenied: async (decision, request) =>
      responseOf(await onDenied(decision, exchangeOf(request))),
  }
}

function exchangeOf(request: Request): Exchange {
  const { pathname, search } = new URL(request.url)
  return {
    method: request.method,
    url: pathname + search,
    header: (name) => request.headers.get(name) ?? undefined,
    get placed() {
      return decisionOf(request)
    },
    placedAs: (property) => decisionOf(request, property),
    raw: request,
  }
}

function responseOf({ status = 200, headers = {}, body }: Reply): Response {
  const content = body instanceof Readable ? (Readable.toWeb(body) as ReadableStream) : body
  return new Response(content, { status, headers })
}
