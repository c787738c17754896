// The server for the behaviour of all adapters (internal/behaviour).

import { Readable } from 'node:stream'
import { type RateLimitOptions, rateLimit } from '@weir/express'
import express, { type NextFunction, type Request, type Response } from 'express'
import {
  type AdapterKind,
  type Exchange,
  listen,
  optionsFor,
  type Reply,
  type Settings,
  told,
} from '../../../internal/behaviour/test/servers/kind.js'

const TRUST = { nobody: false, everybody: true, hop: 1 } as const

export const adapter: AdapterKind = {
  name: 'Express',
  knowsHandlers: false,
  start: ({ limiters, handler = told, trust = 'nobody', around, host }) => {
    const app = express().disable('x-powered-by')
    // In other environments, Express writes errors to the console.
    app.set('env', 'test')
    app.set('trust proxy', TRUST[trust])
    if (around) app.use((req, _res, next) => void around(exchangeOf(req), next))
    for (const settings of limiters) app.use(rateLimit(optionsOf(settings)))
    app.use((req, res, next) => {
      Promise.resolve(req)
        .then((request) => handler(exchangeOf(request)))
        .then((reply) => send(reply, res), next)
    })
    return listen(app, host)
  },
  mount: (options, times) => {
    const limiter = rateLimit(options)
    const app = express()
    for (let n = 0; n < times; n += 1) app.use(limiter)
    return listen(app.use((_req, res) => void res.end('ok')))
  },
  mountAnew: (options) => {
    const app = express().use((req, res, next) => rateLimit(options)(req, res, next))
    return listen(app.use((_req, res) => void res.end('ok')))
  },
}

function optionsOf(settings: Settings): RateLimitOptions {
  const { onDenied } = settings
  const options = optionsFor<Request>(settings, exchangeOf)
  if (onDenied === undefined) return options
  return {
    ...options,
    onDenied: async (decision, req: Request, res: Response, _next: NextFunction) =>
      send(await onDenied(decision, exchangeOf(req)), res),
  }
}

function exchangeOf(req: Request): Exchange {
  return {
    method: req.method,
    url: req.originalUrl,
    header: (name) => req.get(name),
    get placed() {
      return req.rateLimit
    },
    placedAs: (property) => Reflect.get(req, property),
    raw: req,
  }
}

function send({ status = 200, headers = {}, body }: Reply, res: Response): void {
  res.statusCode = status
  // Not `set`, which would add a charset.
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (body instanceof Readable) body.on('error', () => res.destroy()).pipe(res)
  else res.end(body)
}
