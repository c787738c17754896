// What went wrong elsewhere, as tests over real sockets. The unit tests of core/http have the tables behind them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from '@weir/core/testing'
import { startRedis } from '@weir/testkit'
import type { Express, Request, Response } from 'express'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  type RateLimitOptions,
  rateLimit,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.js'
import { serve, VERSIONS } from './serve.js'

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

describe.each(VERSIONS)('%s', (_, express) => {
  test('CVE-2026-30827 (express-rate-limit): on a dual-stack server, IPv4 clients have a bucket each', async () => {
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
    'behind a trusted proxy, by %s, entries that the client made up change nothing',
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
      // Azure appends a port, which is another for each connection.
      expect((await from('9.9.9.8:5678')).status).toBe(429)
      expect((await from('9.9.9.8:5679')).status).toBe(429)
    },
  )

  test('better-auth CVE-2026-45364: rotating in one IPv6 network, or its spelling, stays on one key', async () => {
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

  test('better-auth GHSA-x732-6j76-qmhm: every form of a path that reaches the handler is counted on one key', async () => {
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
    for (const path of [...paths, ...paths]) statuses.push((await get(path, { method: 'POST' })).status)
    expect(handled).toHaveBeenCalledTimes(3)
    expect(new Set(statuses)).toEqual(new Set([200, 404, 429]))
  })

  test('Strapi CVE-2025-64526: rotating the account, or a field that identifies nobody, never escapes the address', async () => {
    const login = limited({
      policy: (req: Request) => {
        const email = typeof req.body?.email === 'string' ? req.body.email.trim().toLowerCase() : 'none'
        return [
          fixedWindow({ name: 'login-address', limit: 4, window: '15m' }),
          { policy: slidingLog({ name: 'login-account', limit: 2, window: '15m' }), key: `account:${email}` },
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
      return { status: response.status, text: JSON.stringify([[...response.headers], await response.text()]) }
    }
    const replies = [
      await attempt({ email: 'ann@a.example', x: 1 }),
      await attempt({ email: ' Ann@a.example', x: 2 }),
    ]
    replies.push(await attempt({ email: 'ann@a.example', x: 3 }))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429])
    for (const email of ['bob@a.example', 'cay@a.example'])
      expect((await attempt({ email })).status).toBe(200)
    for (const body of [{ email: 'dan@a.example' }, { email: 7 }, {}]) replies.push(await attempt(body))
    expect(replies.slice(3).map(({ status }) => status)).toEqual([429, 429, 429])
    // Draft 8.2: what an account has left is a stranger's clue to its owner's traffic.
    for (const { text } of replies) expect(text).not.toMatch(/login-account|ann@|q=2\b/)
  })

  test('a Unix socket: one shared bucket and a warning, or the proxy is believed', async () => {
    const path = join(tmpdir(), `weir-${process.pid}-${express === VERSIONS[0]?.[1] ? 5 : 4}.sock`)
    const app = express()
      .get('/', limited({ name: `unix-${path.length}-${path.at(-6)}` }), ok)
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
})

test('nft.storage #2180: preflights neither count nor are refused', async () => {
  const [, express] = VERSIONS[0] as (typeof VERSIONS)[0]
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

describe('GHSA-984p-xq9m-4rjw (express-brute): 500 requests at once, a limit of 50, on Redis: exactly 50 pass', () => {
  const window = '10m'
  test.each<Policy>([
    fixedWindow({ name: 'fixed', limit: 50, window }),
    slidingWindow({ name: 'window', limit: 50, window }),
    slidingLog({ name: 'log', limit: 50, window }),
    slidingCounter({ name: 'counter', limit: 50, window }),
    tokenBucket({ name: 'bucket', capacity: 50, refill: 1, every: window }),
    gcra({ name: 'gcra', limit: 1, period: window, burst: 50 }),
  ])('$algorithm', async (policy) => {
    const [, express] = VERSIONS[0] as (typeof VERSIONS)[0]
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const sites = await Promise.all(
      [1, 2].map(async () => {
        const client = new Redis(server.url, { ...recommendedRedisOptions, lazyConnect: true })
        onTestFinished(() => client.disconnect())
        await client.connect()
        const store = redisStore(client, { deadlineMs: 5_000, whenUnavailable: 'throw' })
        onTestFinished(() => store.close?.())
        return serve(express().use(rateLimit({ store, policy })).get('/', ok))
      }),
    )
    const replies = await Promise.all(Array.from({ length: 500 }, (_, i) => sites[i % 2]?.get()))
    const count = (status: number) => replies.filter((reply) => reply?.status === status).length
    expect([count(200), count(429)]).toEqual([50, 450])
  })
})

describe('OpenWA PR #1336: set-ups that count all clients as one, or let each be many, are warned of once', () => {
  test.each([
    ['plain', []],
    ['forwarded', ['WEIR_FORWARDED_IGNORED']],
    ['trust-all', ['WEIR_TRUST_ALL']],
    ['cluster', ['WEIR_FORWARDED_IGNORED', 'WEIR_MEMORY_IN_CLUSTER']],
  ])('%s', async (setup, codes) => {
    expect(await codesWarnedOf(setup)).toEqual(codes)
  })

  test('and silenced by their code', async () => {
    expect(await codesWarnedOf('forwarded', '--disable-warning=WEIR_FORWARDED_IGNORED')).toEqual([])
  })

  async function codesWarnedOf(setup: string, ...flags: string[]): Promise<string[]> {
    const script = join(import.meta.dirname, 'fixtures/warned.mjs')
    const child = spawn(process.execPath, [...flags, script, setup], { stdio: ['ignore', 'inherit', 'pipe'] })
    let output = ''
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    const [code] = await once(child, 'close')
    expect(code, output).toBe(0)
    return [...output.matchAll(/\[(WEIR_\w+)\] WeirWarning/g)].map(([, name]) => name as string).sort()
  }
})
