// Mistakes in where a limiter is made and mounted. In a separate file, since a warning is given
// once in a process.

import { fixedWindow, memoryStore } from '@weir/core'
import * as express from '@weir/express'
import * as koa from '@weir/koa'
import Express from 'express'
import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { statuses, times } from './client.js'
import { listen } from './servers/kind.js'

interface Kind {
  readonly name: string
  /** A server on which a limiter is mounted this many times, or made for each request. */
  serve(limit: { times: number; name: string } | 'each'): Promise<string>
}

const once = () => fixedWindow({ limit: 9, window: '1h' })

const kinds: readonly Kind[] = [
  {
    name: 'Express',
    serve: (limit) => {
      const server = Express()
      if (limit === 'each')
        server.use((req, res, next) =>
          express.rateLimit({ limit: 1, window: '1h' })(req, res, next),
        )
      else {
        const limiter = express.rateLimit({ name: limit.name, policy: once() })
        for (let n = 0; n < limit.times; n += 1) server.use(limiter)
      }
      return urlOf(server.use((_req, res) => void res.end('ok')))
    },
  },
  {
    name: 'Koa',
    serve: (limit) => {
      const server = new Koa()
      if (limit === 'each')
        server.use((ctx, next) => koa.rateLimit({ limit: 1, window: '1h' })(ctx, next))
      else {
        const limiter = koa.rateLimit({ name: limit.name, policy: once() })
        for (let n = 0; n < limit.times; n += 1) server.use(limiter)
      }
      server.use((ctx) => {
        ctx.body = 'ok'
      })
      const listener = server.callback()
      return urlOf((req, res) => void listener(req, res))
    },
  },
]

async function urlOf(listener: Parameters<typeof listen>[0]): Promise<string> {
  const { url, close } = await listen(listener)
  onTestFinished(close)
  return url
}

let codes: unknown[] = []
beforeEach(() => {
  codes = []
  vi.spyOn(process, 'emitWarning').mockImplementation(((_: string, { code }: { code: string }) => {
    codes.push(code)
  }) as typeof process.emitWarning)
})
afterEach(() => void vi.restoreAllMocks())

describe.each(kinds)('$name', ({ name, serve }) => {
  test('a limiter that is mounted once causes no warning', async () => {
    await statuses(await serve({ times: 1, name: 'once' }), times(12))
    expect(codes).toEqual([])
  })

  test('a limiter that is mounted twice causes one warning', async () => {
    const limiter = `twice-${name}`
    const url = await serve({ times: 2, name: limiter })
    expect(await statuses(url, times(5))).toEqual([200, 200, 200, 200, 429])
    expect(codes).toEqual(['WEIR_MOUNTED_TWICE'])
  })
})

test.each<[string, number[], express.RateLimitOptions, boolean?]>([
  ['costs nothing', [200, 200], { policy: once(), cost: 0 }],
  ['costs nothing again', [200, 200], { policy: once(), cost: (req) => (req.rateLimit ? 0 : 1) }],
  ['is switched off', [200, 200], { policy: once() }, false],
  [
    'lets its denials go on',
    [200],
    { limit: 0, window: '1h', onDenied: (...[, , , next]) => next() },
  ],
])(
  'a limiter that is mounted twice but %s causes no warning',
  async (name, expected, options, enabled = true) => {
    const limiter = express.rateLimit({ name: name.replaceAll(' ', '-'), ...options })
    limiter.limiter.enabled = enabled
    const url = await urlOf(
      Express()
        .use(limiter, limiter)
        .use((_req, res) => void res.end('ok')),
    )
    expect(await statuses(url, times(expected.length))).toEqual(expected)
    expect(codes).toEqual([])
  },
)

test('any number of limiters that are made at the start, or later but once, cause no warning', async () => {
  const app = Express()
  for (let n = 0; n < 20; n += 1)
    app.use(`/${n}`, express.rateLimit({ name: `l${n}`, limit: 1, window: '1h' }))
  const store = memoryStore()
  app.use((req, res, next) =>
    express.rateLimit({ store, shared: true, limit: 99, window: '1h' })(req, res, next),
  )
  app.use((_req, res) => void res.end('ok'))
  const url = await urlOf(app)
  for (let n = 0; n < 20; n += 1) await statuses(`${url}/${n}`, times(1))
  expect(codes).toEqual([])
})

// Before the next test, since what was found out is kept for the life of the process.
test('limiters that are made for each request cause one warning', async () => {
  for (const { serve } of kinds) {
    const url = await serve('each')
    expect(new Set(await statuses(url, times(30)))).toEqual(new Set([200]))
  }
  expect(codes).toEqual(['WEIR_MADE_IN_REQUEST'])
})
