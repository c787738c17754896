// Mistakes in where a limiter is made and mounted. In a separate file, since a warning is given
// once in a process.

import { fixedWindow, memoryStore } from '@weir/core'
import * as express from '@weir/express'
import Express from 'express'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { statuses, times } from './client.js'
import { adapters } from './servers/adapters.js'
import { listen, type Running } from './servers/kind.js'

const once = () => fixedWindow({ limit: 9, window: '1h' })

async function urlOf(running: Promise<Running>): Promise<string> {
  const { url, close } = await running
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

describe.each(adapters)('$name', ({ name, mount }) => {
  test('a limiter that is mounted once causes no warning', async () => {
    const url = await urlOf(mount({ name: 'once', policy: once() }, 1))
    await statuses(url, times(12))
    expect(codes).toEqual([])
  })

  test('a limiter that is mounted twice causes one warning', async () => {
    const limiter = `twice-${name}`
    const url = await urlOf(mount({ name: limiter, policy: once() }, 2))
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
    const app = Express().use(limiter, limiter)
    const url = await urlOf(listen(app.use((_req, res) => void res.end('ok'))))
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
  const url = await urlOf(listen(app))
  for (let n = 0; n < 20; n += 1) await statuses(`${url}/${n}`, times(1))
  expect(codes).toEqual([])
})

// Before the next test, since what was found out is kept for the life of the process.
test('limiters that are made for each request cause one warning', async () => {
  for (const { mountAnew } of adapters) {
    const url = await urlOf(mountAnew({ limit: 1, window: '1h' }))
    expect(new Set(await statuses(url, times(30)))).toEqual(new Set([200]))
  }
  expect(codes).toEqual(['WEIR_MADE_IN_REQUEST'])
})
