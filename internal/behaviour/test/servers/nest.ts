// Nest, on any platform.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import {
  All,
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type INestApplication,
  Module,
  Req,
  Res,
} from '@nestjs/common'
import { APP_FILTER, NestFactory } from '@nestjs/core'
import { type NestRequest, RateLimit, RateLimitModule, type RateLimitOptions } from '@weir/nest'
import {
  type Exchange,
  optionsFor,
  type Reply,
  type ServerKind,
  type Settings,
  type Setup,
  told,
} from './kind.js'
import type { Platform } from './platform.js'

/** Fastify cannot trust a hop by its number. */
const TRUST = {
  Express: { nobody: false, everybody: true, hop: 1 },
  Fastify: { nobody: false, everybody: true, hop: 'loopback' },
} as const

export function nestOn({ name, adapter }: Platform): ServerKind {
  return {
    name: `Nest on ${name}`,
    async start(setup) {
      const { trust = 'nobody', host = '127.0.0.1' } = setup
      const app = await NestFactory.create(moduleOf(setup), adapter(TRUST[name][trust]), {
        logger: false,
        // Otherwise a setup that fails ends the process.
        abortOnError: false,
        forceCloseConnections: true,
      })
      if (name === 'Express') app.getHttpAdapter().getInstance().disable('x-powered-by')
      runAround(app, name, setup)
      await app.listen(0, host)
      const { port } = app.getHttpServer().address() as AddressInfo
      return { url: `http://127.0.0.1:${port}`, close: () => app.close() }
    },
  }
}

/** A controller for every path, with all the limiters. */
function moduleOf({ limiters, handler = told }: Setup): new () => object {
  class Everything {
    async answer(request: NestRequest, response: NestRequest): Promise<void> {
      send(await handler(exchangeOf(request)), response)
    }
  }
  const { prototype } = Everything
  Req()(prototype, 'answer', 0)
  Res()(prototype, 'answer', 1)
  All('*')(
    prototype,
    'answer',
    Object.getOwnPropertyDescriptor(prototype, 'answer') as PropertyDescriptor,
  )
  Controller()(Everything)
  const names = limiters.map(({ name = 'default' }) => name)
  const policies = limiters.map(({ name: _, ...settings }, i) => [
    names[i],
    optionsOf(settings as Settings),
  ])
  const [first, ...others] = names
  if (first !== undefined) RateLimit(first, ...others)(Everything)

  class AppModule {}
  const imports = [RateLimitModule.forRoot({ policies: Object.fromEntries(policies) })]
  const providers = [{ provide: APP_FILTER, useClass: Answering }]
  Module({ imports, controllers: [Everything], providers })(AppModule)
  return AppModule
}

/** Carries the response of `onDenied`. */
class Answered {
  readonly reply: Reply
  constructor(reply: Reply) {
    this.reply = reply
  }
}

class Answering implements ExceptionFilter<Answered> {
  catch({ reply }: Answered, host: ArgumentsHost) {
    send(reply, host.switchToHttp().getResponse())
  }
}
Catch(Answered)(Answering)

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

function runAround(app: INestApplication, platform: Platform['name'], { around }: Setup): void {
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
