// The server for the behaviour of all adapters (internal/behaviour).

import { Readable } from 'node:stream'
import { type RateLimitOptions, rateLimit } from '@weir/fastify'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import {
  type AdapterKind,
  type Exchange,
  optionsFor,
  type Reply,
  type Running,
  type Settings,
  told,
} from '../../../internal/behaviour/test/servers/kind.js'

/** Fastify cannot trust a hop by its number. */
const TRUST = { nobody: false, everybody: true, hop: 'loopback' } as const

export const adapter: AdapterKind = {
  name: 'Fastify',
  knowsHandlers: false,
  start: ({ limiters, handler = told, trust = 'nobody', around, host }) => {
    const app = Fastify({ trustProxy: TRUST[trust], forceCloseConnections: true })
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    if (around)
      app.addHook('onRequest', (request, _, done) => void around(exchangeOf(request), done))
    for (const settings of limiters) app.addHook('onRequest', rateLimit(optionsOf(settings)))
    app.all('/*', async (request, reply) => send(await handler(exchangeOf(request)), reply))
    return listen(app, host)
  },
  mount: (options, times) => {
    const limiter = rateLimit(options)
    const app = Fastify({ forceCloseConnections: true })
    for (let n = 0; n < times; n += 1) app.addHook('onRequest', limiter)
    app.get('/*', async () => 'ok')
    return listen(app)
  },
  mountAnew: (options) => {
    const app = Fastify({ forceCloseConnections: true })
    app.addHook('onRequest', (request, reply, done) => rateLimit(options)(request, reply, done))
    app.get('/*', async () => 'ok')
    return listen(app)
  },
}

async function listen(app: FastifyInstance, host = '127.0.0.1'): Promise<Running> {
  const url = await app.listen({ port: 0, host })
  return { url: url.replace('[::]', '127.0.0.1'), close: () => app.close() }
}

function optionsOf(settings: Settings): RateLimitOptions {
  const { onDenied } = settings
  const options = optionsFor<FastifyRequest>(settings, exchangeOf)
  if (onDenied === undefined) return options
  return {
    ...options,
    onDenied: async (decision, request, reply) =>
      void send(await onDenied(decision, exchangeOf(request)), reply),
  }
}

function exchangeOf(request: FastifyRequest): Exchange {
  return {
    method: request.method,
    url: request.originalUrl,
    header: (name) => request.headers[name]?.toString(),
    get placed() {
      return request.rateLimit
    },
    placedAs: (property) => Reflect.get(request, property),
    raw: request,
  }
}

function send({ status = 200, headers = {}, body }: Reply, reply: FastifyReply): FastifyReply {
  // As bytes, since Fastify would add a charset to a string.
  return reply
    .code(status)
    .headers(headers)
    .send(body instanceof Readable ? body : Buffer.from(body))
}
