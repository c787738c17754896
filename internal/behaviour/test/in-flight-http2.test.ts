// The same over HTTP/2, where a client can reset a stream and begin another at no cost: the Express
// middleware on plain node:http2, Koa, and Nest on Fastify.

import 'reflect-metadata'
import { type ClientHttp2Session, connect, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { All, Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { concurrency, memoryStore, RateLimiter } from '@weir/core'
import { rateLimit as express } from '@weir/express'
import { rateLimit as koa } from '@weir/koa'
import { RateLimit, RateLimitModule } from '@weir/nest'
import Koa from 'koa'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

const LIMIT = 20
const NAME = 'http2'
const PATIENT = { timeout: 20_000, interval: 20 }

/** Counts the handlers of a server, and has the options of its limiter. */
function world(maxHold?: number) {
  const store = memoryStore()
  const policy = concurrency({ name: 'in-flight', limit: LIMIT, holdTimeout: '30s' })
  const state = { running: 0, most: 0, ended: 0 }
  const work = async (): Promise<void> => {
    state.running += 1
    state.most = Math.max(state.most, state.running)
    await sleep(1_000)
    state.running -= 1
    state.ended += 1
  }
  const limiter = new RateLimiter({ name: NAME, store, policy, shared: true })
  const left = async () => (await limiter.peek('all')).remaining
  return { state, work, left, options: { name: NAME, store, policy, key: () => 'all', maxHold } }
}
type World = ReturnType<typeof world>

async function listening(server: Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function bareExpress({ options, work }: World): Promise<string> {
  const limit = express(options)
  const server = createServer((req, res) => {
    limit(req as never, res as never, () => {
      const { held } = (req as never as { rateLimit: { held?: { until(work: unknown): void } } })
        .rateLimit
      const working = work()
      held?.until(working)
      void working.then(() => res.end('done'))
    })
  })
  return listening(server)
}

function koaServer({ options, work }: World): Promise<string> {
  const app = new Koa()
  // Koa logs streams that are cut off.
  app.silent = true
  app.use(koa(options)).use(async (ctx) => {
    await work()
    ctx.body = 'done'
  })
  return listening(createServer(app.callback()))
}

async function nestOnFastify({ options, work }: World): Promise<string> {
  class Everything {
    async answer(): Promise<string> {
      await work()
      return 'done'
    }
  }
  const answer = Object.getOwnPropertyDescriptor(Everything.prototype, 'answer')
  All('*')(Everything.prototype, 'answer', answer as PropertyDescriptor)
  RateLimit(options)(Everything)
  Controller()(Everything)
  class AppModule {}
  const imports = [RateLimitModule.forRoot({ store: options.store })]
  Module({ imports, controllers: [Everything] })(AppModule)
  const adapter = new FastifyAdapter({ http2: true } as never)
  const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false })
  await app.listen(0, '127.0.0.1')
  onTestFinished(() => app.close())
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`
}

/** Opens a stream, and resets it after this many ms. */
function resetStream(session: ClientHttp2Session, afterMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {}).on('close', () => resolve())
    stream.resume().end()
    setTimeout(() => stream.close(8), afterMs)
  })
}

/** How a stream ended: the code of its reset, and whether it failed. */
function endOf(
  session: ClientHttp2Session,
): Promise<{ code: number | undefined; failed: boolean }> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': '/' })
    let failed = false
    stream.on('error', () => {
      failed = true
    })
    stream.on('close', () => resolve({ code: stream.rstCode, failed }))
    stream.resume().end()
  })
}

function statusOf(session: ClientHttp2Session): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' })
    let status = 0
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.on('error', reject).on('end', () => resolve(status))
    stream.resume().end()
  })
}

describe.each([
  ['the Express middleware on node:http2', bareExpress],
  ['Koa', koaServer],
  ['Nest on Fastify', nestOnFastify],
])('%s over HTTP/2', (_, start) => {
  test('1,000 streams that are reset never run more handlers than the limit, and release all slots', async () => {
    const its = world()
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    const sent: Promise<void>[] = []
    for (let i = 0; i < 1_000; i += 1) {
      sent.push(resetStream(session, [0, 1, 5, 20, 80, 400][i % 6] as number))
      if (i % 10 === 9) await sleep(20)
    }
    await Promise.all(sent)
    await vi.waitFor(async () => expect(await its.left()).toBe(LIMIT), PATIENT)
    expect(its.state.running).toBe(0)
    expect(its.state.most).toBeLessThanOrEqual(LIMIT)
    expect(its.state.ended).toBeGreaterThan(LIMIT)
    expect(await statusOf(session)).toBe(200)
  }, 60_000)

  test('streams of one session beyond the limit are refused', async () => {
    const its = world()
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    const all = await Promise.all(Array.from({ length: 30 }, () => statusOf(session)))
    expect(all.filter((status) => status === 200)).toHaveLength(LIMIT)
    expect(all.filter((status) => status === 429)).toHaveLength(10)
    await vi.waitFor(async () => expect(await its.left()).toBe(LIMIT), PATIENT)
  })

  test('maxHold resets the stream, so the client sees that the response is not complete', async () => {
    const its = world(150)
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    expect(await endOf(session)).toEqual({ code: 2, failed: true })
    await vi.waitFor(async () => expect(await its.left()).toBe(LIMIT), PATIENT)
    expect(session.closed).toBe(false)
  })
})
