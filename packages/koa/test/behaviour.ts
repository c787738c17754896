// The server for the behaviour of all adapters (internal/behaviour).

import { Readable } from 'node:stream'
import { type RateLimitOptions, rateLimit } from '@weir/koa'
import Koa, { type ParameterizedContext } from 'koa'
import {
  type AdapterKind,
  type Exchange,
  listen,
  optionsFor,
  type Reply,
  type Running,
  type Settings,
  told,
} from '../../../internal/behaviour/test/servers/kind.js'

const TRUST = {
  nobody: {},
  everybody: { proxy: true },
  hop: { proxy: true, maxIpsCount: 1 },
} as const

export const adapter: AdapterKind = {
  name: 'Koa',
  start: ({ limiters, handler = told, trust = 'nobody', around, host }) => {
    const app = new Koa(TRUST[trust])
    // Otherwise Koa writes errors to the console.
    app.silent = true
    if (around) app.use((ctx, next) => around(exchangeOf(ctx), next))
    for (const settings of limiters) app.use(rateLimit(optionsOf(settings)))
    app.use(async (ctx) => send(await handler(exchangeOf(ctx)), ctx))
    const listener = app.callback()
    return listen((req, res) => void listener(req, res), host)
  },
  mount: (options, times) => {
    const limiter = rateLimit(options)
    const app = new Koa()
    for (let n = 0; n < times; n += 1) app.use(limiter)
    return serveOk(app)
  },
  mountAnew: (options) => serveOk(new Koa().use((ctx, next) => rateLimit(options)(ctx, next))),
}

function serveOk(app: Koa): Promise<Running> {
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const listener = app.callback()
  return listen((req, res) => void listener(req, res))
}

function optionsOf(settings: Settings): RateLimitOptions {
  const { onDenied } = settings
  const options = optionsFor<ParameterizedContext>(settings, exchangeOf)
  if (onDenied === undefined) return options
  return {
    ...options,
    onDenied: async (decision, ctx) => send(await onDenied(decision, exchangeOf(ctx)), ctx),
  }
}

function exchangeOf(ctx: ParameterizedContext): Exchange {
  return {
    method: ctx.method,
    url: ctx.originalUrl,
    header: (name) => ctx.get(name) || undefined,
    get placed() {
      return ctx.state.rateLimit
    },
    placedAs: (property) => ctx.state[property],
    raw: ctx,
  }
}

function send({ status = 200, headers = {}, body }: Reply, ctx: ParameterizedContext): void {
  ctx.status = status
  ctx.set({ ...headers })
  // Koa 2 leaves a response open when its stream breaks off.
  if (body instanceof Readable) body.on('error', () => ctx.res.destroy())
  ctx.body = body
}
