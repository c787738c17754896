// The servers that mount the dashboard at /weir, with a handler for everything else.

import 'reflect-metadata'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { INestApplication } from '@nestjs/common'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import Koa2 from 'koa2'
import { dashboardIn } from '../src/dashboard.js'
import type { Dashboard, DashboardOptions } from '../src/index.js'
import { processTime, type Time } from '../src/time.js'

export interface Running {
  readonly dashboard: Dashboard
  /** The URL of the mount, without a trailing slash. */
  readonly url: string
  close(): Promise<void>
}

export interface ServerKind {
  readonly name: string
  /** @param time the clock and timers of the dashboard; those of the process if there are none */
  start(options: DashboardOptions, time?: Time): Promise<Running>
}

/** The options of most dashboards in tests. */
export const quiet: Pick<DashboardOptions, 'log'> = { log() {} }

export async function listening(
  listener: RequestListener,
  made: Dashboard,
  path = '/weir',
): Promise<Running> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    dashboard: made,
    url: `${addressOf(server)}${path}`,
    async close() {
      made.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function expressKind(name: string, make: typeof express): ServerKind {
  return {
    name,
    start(options, time = processTime) {
      const made = dashboardIn(time, { ...quiet, ...options })
      const app = make()
      app.use('/weir', made.handler)
      app.use((_request, response) => void response.status(404).send('elsewhere'))
      return listening(app, made)
    },
  }
}

function koaKind(name: string, Make: typeof Koa): ServerKind {
  return {
    name,
    start(options, time = processTime) {
      const made = dashboardIn(time, { ...quiet, ...options, path: '/weir' })
      const app = new Make()
      app.use((ctx, next) => {
        if (!/^\/weir(\/|$)/.test(ctx.path)) return next()
        ctx.respond = false
        made.handler(ctx.req, ctx.res)
        return undefined
      })
      app.use((ctx) => {
        ctx.status = 404
        ctx.body = 'elsewhere'
      })
      return listening(app.callback(), made)
    },
  }
}

class EmptyModule {}
Module({})(EmptyModule)

function nestKind(platform: 'Express' | 'Fastify'): ServerKind {
  return {
    name: `Nest on ${platform}`,
    async start(options, time = processTime) {
      const made = dashboardIn(time, { ...quiet, ...options })
      const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter()
      const app: INestApplication = await NestFactory.create(
        EmptyModule,
        adapter as ExpressAdapter,
        { logger: false, abortOnError: false, forceCloseConnections: true },
      )
      app.use('/weir', made.handler)
      await app.listen(0, '127.0.0.1')
      return {
        dashboard: made,
        url: `${addressOf(app.getHttpServer())}/weir`,
        async close() {
          made.close()
          await app.close()
        },
      }
    },
  }
}

const plain: ServerKind = {
  name: 'node:http',
  start(options, time = processTime) {
    const made = dashboardIn(time, { ...quiet, ...options, path: '/weir' })
    return listening((request, response) => {
      made.handler(request, response, () => {
        response.statusCode = 404
        response.end('elsewhere')
      })
    }, made)
  },
}

const ofFetch: ServerKind = {
  name: 'Fetch',
  start(options, time = processTime) {
    const made = dashboardIn(time, { ...quiet, ...options, path: '/weir' })
    return listening((request, response) => {
      const over = new AbortController()
      response.on('close', () => over.abort())
      const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
      const asked = new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        signal: over.signal,
        ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
      } as RequestInit)
      void made.fetch(asked).then(async (answer) => {
        response.writeHead(answer.status, [...answer.headers].flat())
        if (answer.body === null) response.end()
        else
          Readable.fromWeb(answer.body as never)
            .on('error', () => {})
            .pipe(response)
      })
    }, made)
  },
}

export const servers: readonly ServerKind[] = [
  expressKind('Express 4', express4),
  expressKind('Express 5', express),
  koaKind('Koa 2', Koa2 as unknown as typeof Koa),
  koaKind('Koa 3', Koa),
  nestKind('Express'),
  nestKind('Fastify'),
  plain,
  ofFetch,
]

export { plain }
