// Vulnerabilities of other libraries, as tests over real sockets. The unit tests of core/http have
// the tables behind them.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from '@weir/core/testing'
import express, { type Request, type Response } from 'express'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  fixedWindow,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  slidingLog,
} from '../src/index.js'
import { serve } from './serve.js'

const justOne = fixedWindow({ name: 'one', limit: 1, window: '1m' })
const ok = (_: Request, res: Response) => void res.send('ok')

function limited(options: Partial<RateLimitOptions> = {}) {
  const store = memoryStore({ clock: fakeClock() })
  return rateLimit({ store, policy: justOne, ...options } as RateLimitOptions)
}

let warnings: string[] = []
beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation(((_: string, { code }: { code: string }) => {
    warnings.push(code)
  }) as typeof process.emitWarning)
})
afterEach(() => vi.restoreAllMocks())

test('better-auth GHSA-x732-6j76-qmhm: every form of a path that reaches the handler counts on one key', async () => {
  const handled = vi.fn(ok)
  const app = express().post(
    '/login',
    limited({ limit: 3, window: '1m', policy: undefined } as never),
    handled,
  )
  const { get } = await serve(app)
  const paths = [
    '/login',
    '/login/',
    '/LOGIN',
    '/%6cogin',
    '/login?x=1',
    '//login',
    '/./login',
    '/login#x',
    '/login/?y',
  ]
  const statuses = []
  for (const path of [...paths, ...paths])
    statuses.push((await get(path, { method: 'POST' })).status)
  expect(handled).toHaveBeenCalledTimes(3)
  expect(new Set(statuses)).toEqual(new Set([200, 404, 429]))
})

test('Strapi CVE-2025-64526: changing the account, or a field that identifies nobody, never escapes the address', async () => {
  const login = limited({
    policy: (req: Request) => {
      const email =
        typeof req.body?.email === 'string' ? req.body.email.trim().toLowerCase() : 'none'
      return [
        fixedWindow({ name: 'login-address', limit: 4, window: '15m' }),
        {
          policy: slidingLog({ name: 'login-account', limit: 2, window: '15m' }),
          key: `account:${email}`,
        },
      ]
    },
    hide: ['login-account'],
  })
  const app = express().use(express.json()).post('/login', login, ok)
  const { url } = await serve(app)
  const attempt = async (body: object) => {
    const response = await fetch(`${url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return {
      status: response.status,
      text: JSON.stringify([[...response.headers], await response.text()]),
    }
  }
  const replies = [
    await attempt({ email: 'ann@a.example', x: 1 }),
    await attempt({ email: ' Ann@a.example', x: 2 }),
  ]
  replies.push(await attempt({ email: 'ann@a.example', x: 3 }))
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 429])
  for (const email of ['bob@a.example', 'cay@a.example'])
    expect((await attempt({ email })).status).toBe(200)
  for (const body of [{ email: 'dan@a.example' }, { email: 7 }, {}])
    replies.push(await attempt(body))
  expect(replies.slice(3).map(({ status }) => status)).toEqual([429, 429, 429])
  // Draft 8.2: what an account has left would reveal its owner's traffic to strangers.
  for (const { text } of replies) expect(text).not.toMatch(/login-account|ann@|q=2\b/)
})

test('a Unix socket: one shared bucket and a warning, or the proxy is trusted', async () => {
  const path = join(tmpdir(), `weir-${process.pid}.sock`)
  const app = express()
    .get('/', limited({ name: 'unix' }), ok)
    .get('/proxied', limited({ proxies: { trusted: ['unix'] } }), ok)
  const server = app.listen(path)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const get = async (url: string, forwarded: string) => {
    const client = httpRequest({
      socketPath: path,
      path: url,
      agent: false,
      headers: { 'x-forwarded-for': forwarded },
    }).end()
    const [response] = await once(client, 'response')
    response.resume()
    return response.statusCode
  }
  expect([await get('/', '1.1.1.1'), await get('/', '2.2.2.2')]).toEqual([200, 429])
  expect(warnings).toContain('WEIR_NO_ADDRESS')
  expect([
    await get('/proxied', '1.1.1.1'),
    await get('/proxied', '2.2.2.2'),
    await get('/proxied', '1.1.1.1'),
  ]).toEqual([200, 200, 429])
})
