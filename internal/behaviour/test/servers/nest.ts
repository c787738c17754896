// Nest 10, 11 and 12, each on Express and on Fastify.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { ArgumentsHost, ExceptionFilter, INestApplication } from '@nestjs/common'
import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import * as express from '@nestjs/platform-express'
import * as fastify from '@nestjs/platform-fastify'
import type { NestRequest, RateLimitOptions } from '@weir/nest'
import * as weir from '@weir/nest'
import * as nest10 from '@weir/nest-versions-10'
import * as nest11 from '@weir/nest-versions-11'
import {
  type Exchange,
  optionsFor,
  type Reply,
  type ServerKind,
  type Settings,
  type Setup,
  told,
} from './kind.js'

const nest12 = { common, core, express, fastify, weir }
type Nest = typeof nest12
type Platform = 'Express' | 'Fastify'

const versions = Object.entries({ 10: nest10, 11: nest11, 12: nest12 }) as unknown as [
  string,
  Nest,
][]

export const nestKinds: readonly ServerKind[] = versions.flatMap(([version, nest]) =>
  (['Express', 'Fastify'] as const).map(
    (platform): ServerKind => ({
      name: `Nest ${version}-${platform}`,
      start: (setup) => started(nest, platform, setup),
    }),
  ),
)

async function started(
  nest: Nest,
  platform: Platform,
  setup: Setup,
): ReturnType<ServerKind['start']> {
  const app = await nest.core.NestFactory.create(
    moduleOf(nest, setup),
    adapterOf(nest, platform, setup),
    {
      logger: false,
      // Otherwise a setup that fails ends the process.
      abortOnError: false,
      forceCloseConnections: true,
    },
  )
  runAround(app, platform, setup)
  await app.listen(0, setup.host ?? '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() }
}

/** A controller for every path, with all the limiters. */
function moduleOf(
  { common, core: { APP_FILTER }, weir }: Nest,
  { limiters, handler = told }: Setup,
): new () => object {
  class Everything {
    async answer(request: NestRequest, response: NestRequest): Promise<void> {
      send(await handler(exchangeOf(request)), response)
    }
  }
  const { prototype } = Everything
  common.Req()(prototype, 'answer', 0)
  common.Res()(prototype, 'answer', 1)
  common.All('*')(
    prototype,
    'answer',
    Object.getOwnPropertyDescriptor(prototype, 'answer') as PropertyDescriptor,
  )
  common.Controller()(Everything)
  const names = limiters.map(({ name = 'default' }) => name)
  const policies = limiters.map(({ name: _, ...settings }, i) => [
    names[i],
    optionsOf(settings as Settings),
  ])
  const [first, ...others] = names
  if (first !== undefined) weir.RateLimit(first, ...others)(Everything)

  class AppModule {}
  const imports = [weir.RateLimitModule.forRoot({ policies: Object.fromEntries(policies) })]
  const providers = [{ provide: APP_FILTER, useClass: answering(common) }]
  common.Module({ imports, controllers: [Everything], providers })(AppModule)
  return AppModule
}

/** Carries the response of `onDenied`. */
class Answered {
  readonly reply: Reply
  constructor(reply: Reply) {
    this.reply = reply
  }
}

function answering({ Catch }: Nest['common']): new () => ExceptionFilter {
  class Answering implements ExceptionFilter<Answered> {
    catch({ reply }: Answered, host: ArgumentsHost) {
      send(reply, host.switchToHttp().getResponse())
    }
  }
  Catch(Answered)(Answering)
  return Answering
}

function optionsOf(settings: Settings): RateLimitOptions {
  const { onDenied } = settings
  const options = optionsFor<NestRequest>(settings, exchangeOf)
  if (onDenied === undefined) return options
  return {
    ...options,
    onDenied: async (decision, request) => {
      throw new Answered(await onDenied(decision, exchangeOf(request)))
    },
  }
}

/** Fastify cannot trust a hop by its number. */
const TRUST = {
  Express: { nobody: false, everybody: true, hop: 1 },
  Fastify: { nobody: false, everybody: true, hop: 'loopback' },
} as const

function adapterOf(
  nest: Nest,
  platform: Platform,
  { trust = 'nobody' }: Setup,
): express.ExpressAdapter {
  if (platform === 'Fastify') {
    const adapter = new nest.fastify.FastifyAdapter({ trustProxy: TRUST.Fastify[trust] })
    return adapter as unknown as express.ExpressAdapter
  }
  const adapter = new nest.express.ExpressAdapter()
  adapter.getInstance().disable('x-powered-by').set('trust proxy', TRUST.Express[trust])
  return adapter
}

function runAround(app: INestApplication, platform: Platform, { around }: Setup): void {
  if (around === undefined) return
  const run = (request: NestRequest, _: unknown, next: () => void) =>
    void around(exchangeOf(request), next)
  if (platform === 'Fastify') app.getHttpAdapter().getInstance().addHook('onRequest', run)
  else app.use(run)
}

function exchangeOf(request: NestRequest): Exchange {
  return {
    method: request.method,
    url: request.originalUrl,
    header: (name) => request.headers[name],
    get placed() {
      return request.rateLimit
    },
    placedAs: (property) => request[property],
    raw: request,
  }
}

function send({ status = 200, headers = {}, body }: Reply, response: NestRequest): void {
  const stream = body instanceof Readable
  if (response.raw) {
    // As bytes, since Fastify would add a charset to a string.
    response
      .code(status)
      .headers(headers)
      .send(stream ? body : Buffer.from(body))
    return
  }
  Object.assign(response, { statusCode: status })
  // Not Express's `set`, which adds a charset.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (stream)
    body.on('error', () => response.destroy()).pipe(response as unknown as NodeJS.WritableStream)
  else response.end(body)
}
