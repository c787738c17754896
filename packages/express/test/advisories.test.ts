// Vulnerabilities of other libraries, as tests over real sockets. The unit tests of core/http have
// the tables behind them.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from '@weir/core/testing'
import express, { type Express, type Request, type Response } from 'express'
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

test('CVE-2026-30827 (express-rate-limit): on a dual-stack server, each IPv4 client has its bucket', async () => {
  const { get } = await serve(express().use(limited()).get('/', ok), '::')
  expect((await get('/', { from: '127.0.0.1' })).status).toBe(200)
  expect((await get('/', { from: '127.0.0.1' })).status).toBe(429)
  expect((await get('/', { from: '127.0.0.2' })).status).toBe(200)
  expect((await get('/', { host: '::1' })).status).toBe(200)
  expect((await get('/', { from: '127.0.0.2' })).status).toBe(429)
})

const forged = [
  '6.6.6.6',
  '7.7.7.7',
  '6.6.6.6, 127.0.0.1',
  '127.0.0.1, 6.6.6.6',
  'unknown',
  '::ffff:6.6.6.6',
  '"',
  '',
]

test.each<[string, unknown]>([
  ['the default', undefined],
  ['false', false],
  ['a list without the peer', ['10.0.0.0/8']],
  ['no hop', 0],
  ['a function', (address: string) => address.startsWith('10.')],
])(
  'forged X-Forwarded-For from an untrusted peer never changes the key: trust proxy is %s',
  async (_, trust) => {
    const app = express()
    if (trust !== undefined) app.set('trust proxy', trust)
    const { get } = await serve(app.use(limited()).get('/', ok))
    expect((await get()).status).toBe(200)
    for (const value of forged) {
      const headers = {
        'x-forwarded-for': value,
        forwarded: `for=${value}`,
        'x-real-ip': value,
        'cf-connecting-ip': value,
      }
      expect((await get('/', { headers })).status).toBe(429)
    }
  },
)

test.each<[string, (app: Express) => void, Partial<RateLimitOptions>]>([
  ["Express's own list", (app) => void app.set('trust proxy', 'loopback'), {}],
  ["Express's hop count", (app) => void app.set('trust proxy', 1), {}],
  ['the option proxies', () => undefined, { proxies: { trusted: ['loopback'] } }],
])(
  'behind a trusted proxy, with %s, entries that the client made up change nothing',
  async (_, configure, options) => {
    const app = express()
    configure(app)
    const { get } = await serve(app.use(limited(options)).get('/', ok))
    const from = (chain: string) => get('/', { headers: { 'x-forwarded-for': chain } })
    expect((await from('9.9.9.9')).status).toBe(200)
    for (const front of ['6.6.6.6', 'unknown', '', '10.0.0.1', '6.6.6.6, 7.7.7.7']) {
      expect((await from(`${front}, 9.9.9.9`)).status).toBe(429)
    }
    expect((await from('9.9.9.8')).status).toBe(200)
    // Azure appends a port, which differs for each connection.
    expect((await from('9.9.9.8:5678')).status).toBe(429)
    expect((await from('9.9.9.8:5679')).status).toBe(429)
  },
)

test('better-auth CVE-2026-45364: other addresses of one IPv6 network, or other spellings, stay on one key', async () => {
  const app = express().set('trust proxy', 'loopback').use(limited()).get('/', ok)
  const { get } = await serve(app)
  const statuses = []
  for (const address of [
    '2001:db8:1:200::1',
    '2001:DB8:1:2FF:ffff::',
    '2001:0db8:0001:0200:0:0:0:2',
    '[2001:db8:1:2ab::9]:443',
  ]) {
    statuses.push((await get('/', { headers: { 'x-forwarded-for': address } })).status)
  }
  expect(statuses).toEqual([200, 429, 429, 429])
})

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

test('CVE-2026-24398, -39409, -47674 (hono): lists of addresses missed clients whose addresses were written differently', async () => {
  const app = express()
    .set('trust proxy', 'loopback')
    .use(
      limited({
        allow: ['10.1.2.0/24', '2001:db8:aa::/48'],
        deny: ['10.6.6.6', '2001:db8:bad::/48'],
      }),
    )
    .get('/', ok)
  const { get } = await serve(app)
  const statusesOf = async (addresses: string[]) => {
    const found = []
    for (const address of addresses)
      for (let i = 0; i < 2; i += 1)
        found.push((await get('/', { headers: { 'x-forwarded-for': address } })).status)
    return new Set(found)
  }
  const spelled = (dotted: string, hex: string) => [
    dotted,
    `::ffff:${dotted}`,
    `::FFFF:${hex}`,
    `0:0:0:0:0:ffff:${hex}`,
    `64:ff9b::${dotted}`,
    `${dotted}:5678`,
    `[::ffff:${dotted}]:5678`,
  ]
  expect(await statusesOf(spelled('10.6.6.6', '0a06:606'))).toEqual(new Set([403]))
  expect(
    await statusesOf(['2001:db8:bad::1', '2001:0DB8:0BAD:0::1', '[2001:db8:bad::9]:443']),
  ).toEqual(new Set([403]))
  expect(await statusesOf(spelled('10.1.2.3', 'a01:203'))).toEqual(new Set([200]))
  expect(await statusesOf(['2001:db8:aa::1', '2001:0DB8:00AA:0::1'])).toEqual(new Set([200]))
  // What is not an address is on no list, and not unlimited: all of it counts as one client.
  const garbage = [
    '10.1.2.355',
    '010.1.2.3',
    '10.1.2',
    '0x0a.1.2.3',
    '167838211',
    'unknown',
    '10.1.2.3/24',
  ]
  const found = []
  for (const address of garbage)
    found.push((await get('/', { headers: { 'x-forwarded-for': address } })).status)
  expect(found).toEqual([200, ...garbage.slice(1).map(() => 429)])
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
  expect(warnings).toEqual(['WEIR_NO_ADDRESS'])
  expect([
    await get('/proxied', '1.1.1.1'),
    await get('/proxied', '2.2.2.2'),
    await get('/proxied', '1.1.1.1'),
  ]).toEqual([200, 200, 429])
})

test('nft.storage #2180: preflights neither count nor are refused', async () => {
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
  const { get } = await serve(express().use(limited()).get('/', ok))
  for (let i = 0; i < 5; i += 1) {
    const reply = await get('/', { method: 'OPTIONS', headers: preflight })
    expect(reply.status).toBe(200)
    expect(reply.headers).not.toHaveProperty('ratelimit')
  }
  expect((await get('/', { method: 'OPTIONS' })).status).toBe(200)
  expect((await get()).status).toBe(429)
})
