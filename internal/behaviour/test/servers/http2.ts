// Servers of HTTP/2: the Express middleware on plain node:http2, and Koa.
// internal/behaviour/majors/nest12/http2.ts takes their place, with Nest on Fastify.

import { createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Policy, Store } from '@weir/core'
import { rateLimit as express } from '@weir/express'
import { rateLimit as koa } from '@weir/koa'
import Koa from 'koa'
import { onTestFinished } from 'vitest'

/** What a server does with a request. */
export interface Http2Setup {
  readonly options: {
    readonly name: string
    readonly store: Store
    readonly policy: Policy
    readonly key: (request: { readonly url: string }) => string | Promise<string>
    readonly maxHold: number | undefined
  }
  work(path: string): Promise<void>
}

export type Http2Kind = readonly [name: string, start: (setup: Http2Setup) => Promise<string>]

async function listening(server: Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function bareExpress({ options, work }: Http2Setup): Promise<string> {
  const limit = express(options)
  const server = createServer((req, res) => {
    limit(req as never, res as never, () => {
      const { held } = (req as never as { rateLimit: { held?: { until(work: unknown): void } } })
        .rateLimit
      const working = work(req.url)
      held?.until(working)
      void working.then(() => res.end('done'))
    })
  })
  return listening(server)
}

function koaServer({ options, work }: Http2Setup): Promise<string> {
  const app = new Koa()
  // Koa logs streams that are cut off.
  app.silent = true
  app.use(koa(options)).use(async (ctx) => {
    await work(ctx.url)
    ctx.body = 'done'
  })
  return listening(createServer(app.callback()))
}

export const http2Servers: readonly Http2Kind[] = [
  ['the Express middleware on node:http2', bareExpress],
  ['Koa', koaServer],
]
