// What stands in for Node's request and response: applications, each with a limiter, and how they
// are asked without a server.

import 'reflect-metadata'
import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import serverlessExpress from '@codegenie/serverless-express'
import { Controller, Get, Module, type NestApplicationOptions, Query, Res } from '@nestjs/common'
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import * as weirExpress from '@weir/express'
import * as weirKoa from '@weir/koa'
import * as weirNest from '@weir/nest'
import express, { type RequestHandler } from 'express'
import Koa from 'koa'
import { createRequest, createResponse } from 'node-mocks-http'
import serverlessHttp from 'serverless-http'
import { onTestFinished } from 'vitest'

/** The part of the options that is the same for all frameworks. */
export interface Limit {
  readonly name: string
  readonly policy: weirExpress.PolicyInput
  readonly cost?: number
  readonly wait?: `${bigint}s`
  readonly refundWhen?: (request: unknown, outcome: weirExpress.ResponseOutcome) => boolean
  readonly settle?: (request: unknown, outcome: weirExpress.ResponseOutcome) => number
}

export interface App {
  /** Answers with the status that the handler was told to answer with, or with that of a refusal.
   *  Whatever follows from the response has then happened. */
  ask(status: number): Promise<number>
  /** Requests in flight, as overload protection counts them. */
  readonly inFlight: number
  /** How `recordResponses` saw the responses end. */
  readonly recorded: readonly string[]
}

export interface Platform {
  readonly name: string
  start(limit: Limit): Promise<App>
}

type Ask = (path: string) => Promise<number>

/** What is mounted ahead of the limiter, by a package's `overload` and `recordResponses`. */
function watch<Guard extends { readonly inFlight: number }, Recorder>(weir: {
  overload(): Guard
  recordResponses(signal: weirExpress.ResponseSignal): Recorder
}): { guard: Guard; recorder: Recorder; appOf(ask: Ask): App } {
  const recorded: string[] = []
  const signal: weirExpress.ResponseSignal = Object.assign(() => 0, {
    record: (_tookMs: number, hasFailed = false) => {
      recorded.push(hasFailed ? 'failed' : 'answered')
    },
    left: () => void recorded.push('left'),
  })
  const guard = weir.overload()
  return {
    guard,
    recorder: weir.recordResponses(signal),
    appOf: (ask) => ({
      async ask(status) {
        const answered = await ask(`/?status=${status}`)
        await new Promise((resolve) => setImmediate(resolve))
        return answered
      },
      get inFlight() {
        return guard.inFlight
      },
      recorded,
    }),
  }
}

/** An event of API Gateway, and the call of a function. */
type Call = (event: object, context: object) => Promise<{ statusCode?: number }>

function asking(call: Call): Ask {
  return async (path) => {
    const { searchParams } = new URL(path, 'http://a')
    const status = searchParams.get('status')
    const requestContext = { identity: { sourceIp: '192.0.2.1' }, httpMethod: 'GET', path: '/' }
    const event = {
      httpMethod: 'GET',
      path: '/',
      resource: '/',
      requestContext,
      headers: { host: 'a' },
      queryStringParameters: { status },
      multiValueQueryStringParameters: { status: [status] },
    }
    const { statusCode = 0 } = await call({ ...event, body: null, isBase64Encoded: false }, {})
    return statusCode
  }
}

/** What calls an application of a framework that handles Node's requests. */
type Host = (app: unknown) => Ask

/** Its types are those of an ES module, and it is none. */
const onLambda = serverlessExpress as unknown as (options: { app: unknown }) => Call

const hosts: Record<string, Host> = {
  'serverless-http': (app) => asking(serverlessHttp(app as never) as Call),
  'serverless-express': (app) => asking(onLambda({ app })),
}

const frameworks: Record<string, (limit: Limit) => Promise<[unknown, (ask: Ask) => App]>> = {
  async Express(limit) {
    const { guard, recorder, appOf } = watch(weirExpress)
    const app = express()
      .use(guard, recorder, weirExpress.rateLimit(limit))
      .get('/', (req, res) => void res.status(Number(req.query.status)).send('done'))
    return [app, appOf]
  },
  async Koa(limit) {
    const { guard, recorder, appOf } = watch(weirKoa)
    const app = new Koa()
      .use(guard)
      .use(recorder)
      .use(weirKoa.rateLimit(limit))
      .use((ctx) => {
        ctx.status = Number(ctx.query.status)
        ctx.body = 'done'
      })
    return [app, appOf]
  },
  async 'Nest on Express'(limit) {
    const { app, appOf } = await nest(limit, new ExpressAdapter())
    return [app.getHttpAdapter().getInstance(), appOf]
  },
}

async function nest(limit: Limit, adapter: AbstractHttpAdapter) {
  const { guard, recorder, appOf } = watch(weirNest)
  @Controller()
  class Home {
    @Get()
    get(@Query('status') status: string, @Res({ passthrough: true }) reply: Reply): string {
      reply.status(Number(status))
      return 'done'
    }
  }
  @Module({ imports: [weirNest.RateLimitModule.forRoot(limit)], controllers: [Home] })
  class AppModule {}
  const quiet: NestApplicationOptions = { logger: false, abortOnError: false }
  const app = await NestFactory.create(AppModule, adapter, quiet)
  onTestFinished(() => app.close())
  app.use(guard).use(recorder)
  await app.init()
  return { app, appOf }
}

interface Reply {
  status(code: number): unknown
}

type EmitterClass = NonNullable<NonNullable<Parameters<typeof createResponse>[0]>['eventEmitter']>

/** The default of node-mocks-http, unless another was given before: it ignores listeners. */
export const deaf: EmitterClass = createRequire(import.meta.url)(
  'node-mocks-http/lib/mockEventEmitter',
)

/** Middlewares of Express as tests call them, one by one. */
export async function startMocked(limit: Limit, eventEmitter: EmitterClass): Promise<App> {
  const { guard, recorder, appOf } = watch(weirExpress)
  const handlers = [guard, recorder, weirExpress.rateLimit(limit)] as RequestHandler[]
  return appOf(async (path) => {
    const req = createRequest({ url: path, ip: '192.0.2.1' })
    const res = createResponse({ req, eventEmitter })
    for (const handle of handlers) {
      const passes = await new Promise<boolean>((resolve, reject) => {
        res.end = new Proxy(res.end, {
          apply(end, _, args) {
            resolve(false)
            return Reflect.apply(end, res, args)
          },
        })
        handle(req, res, (error?: unknown) => (error ? reject(error) : resolve(true)))
      })
      if (!passes) return res.statusCode
    }
    res.status(Number(req.query.status)).send('done')
    return res.statusCode
  })
}

export const platforms: readonly Platform[] = [
  ...Object.entries(frameworks).flatMap(([framework, make]) =>
    Object.entries(hosts).map(([host, askingOf]) => ({
      name: `${framework} on ${host}`,
      async start(limit: Limit) {
        const [app, appOf] = await make(limit)
        return appOf(askingOf(app))
      },
    })),
  ),
  {
    name: "Nest on Fastify, by Fastify's inject",
    async start(limit) {
      const { app, appOf } = await nest(limit, new FastifyAdapter() as never)
      const fastify = app as unknown as NestFastifyApplication
      await fastify.getHttpAdapter().getInstance().ready()
      return appOf(async (url) => (await fastify.inject({ method: 'GET', url })).statusCode)
    },
  },
  {
    name: 'node-mocks-http with events',
    start: (limit) => startMocked(limit, EventEmitter),
  },
]
