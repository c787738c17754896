// An application on Node, Bun or Deno, with the framework that is named: the program of
// runtimes.test.ts. It prints its port.

import { createServer } from 'node:http'
import { serve } from '@hono/node-server'
import * as forExpress from '@weir/express'
import {
  clientAddress,
  concurrency,
  fixedWindow,
  honoMiddleware,
  rateLimit,
  recommendedRedisOptions,
  redisStore,
} from '@weir/fetch'
import * as forKoa from '@weir/koa'
import express from 'express'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import Koa from 'koa'

const [, , framework] = process.argv
const { REDIS_PORT } = process.env
const THREE = { name: 'three', limit: 3, window: '1h' }
const hostname = '127.0.0.1'

const clientOf = {
  Node: (c) => clientAddress.node(c.env),
  Bun: (c) => clientAddress.bun(c.req.raw, c.env),
  Deno: (c) => clientAddress.deno(c.env),
}[process.env.RUNTIME]

const servers = {
  Node: (fetch) => serve({ fetch, port: 0, hostname }, tell),
  Bun: (fetch) => tell(globalThis.Bun.serve({ fetch, port: 0, hostname })),
  Deno: (fetch) => globalThis.Deno.serve({ port: 0, hostname, onListen: tell }, fetch),
}

function tell({ port }) {
  console.log(port)
}

function hono() {
  const app = new Hono()
  const client = REDIS_PORT && new Redis(Number(REDIS_PORT), hostname, recommendedRedisOptions)
  // Else, a busy machine would decide some requests without Redis.
  const store = client ? redisStore(client, { deadlineMs: 60_000 }) : undefined
  const key = () => 'all'
  const seen = []
  const slots = concurrency({ limit: 1, holdTimeout: '1h' })
  const hundred = fixedWindow({ limit: 100, window: '1h' })
  const one = fixedWindow({ limit: 1, window: '1h' })
  const limiters = {
    three: rateLimit({ ...THREE, store }),
    shared: rateLimit({ name: 'shared', limit: 6, window: '1h', key, store }),
    slots: rateLimit({ name: 'slots', policy: slots, key }),
    waits: rateLimit({ name: 'waits', policy: one, key, wait: '2h' }),
    settles: rateLimit({
      name: 'settles',
      policy: hundred,
      key,
      cost: 10,
      settle(_request, { status, finished }) {
        seen.push(`${status} ${finished}`)
        return 1
      },
    }),
  }
  for (const [name, limiter] of Object.entries(limiters))
    app.use(`/${name}/*`, honoMiddleware(limiter, clientOf))

  let go = () => {}
  app.get('/:limiter/text', (c) => c.text('done'))
  app.get('/:limiter/nothing', (c) => c.body(null, 204))
  app.get('/:limiter/throws', () => {
    throw new Error('a test wants it')
  })
  app.onError((error, c) => c.text(error.message, 500))
  app.get('/:limiter/stream', () => new Response(endless()))
  app.get('/:limiter/lines', () => new Response(endless(3)))
  app.get('/:limiter/hangs', async (c) => {
    await new Promise((resolve) => {
      go = resolve
    })
    return c.text('late')
  })
  app.get('/go', (c) => c.text(`${go()}`))
  app.get('/seen', async (c) => {
    const { remaining } = await limiters.settles.limiter.peek('all')
    const free = (await limiters.slots.limiter.peek('all')).remaining
    return c.json({ seen, remaining, free, waiting: limiters.waits.limiter.stats().waiting })
  })
  servers[process.env.RUNTIME](app.fetch)
}

/** A text that goes on until nobody reads it, or for a number of lines. */
function endless(lines = Number.POSITIVE_INFINITY) {
  const line = new TextEncoder().encode('line\n')
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (sent === lines) controller.close()
      else controller.enqueue(line)
      sent += 1
    },
  })
}

const starts = {
  Hono: hono,
  Express() {
    const app = express().use(forExpress.rateLimit(THREE))
    listen(app.get('/three/text', (_req, res) => void res.send('done')))
  },
  Koa() {
    const app = new Koa().use(forKoa.rateLimit(THREE)).use((ctx) => {
      ctx.body = 'done'
    })
    listen(app.callback())
  },
}

function listen(handle) {
  const server = createServer(handle).listen(0, hostname, () => tell(server.address()))
}

await starts[framework]()
