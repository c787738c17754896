// Attacks on the page, each with its response.

import { once } from 'node:events'
import { connect } from 'node:net'
import { fixedWindow, RateLimiter } from '@weir/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask, enter, frames } from './client.js'
import { type FakeTime, fakeTime } from './fake-time.js'
import { plain, type Running } from './servers.js'

let running: Running
let limiter: RateLimiter
let time: FakeTime

beforeEach(async () => {
  limiter = new RateLimiter({
    name: 'attacked',
    policy: fixedWindow({ name: 'hourly', limit: 2, window: '1h' }),
  })
  time = fakeTime()
  running = await plain.start({ limiters: [limiter], actions: true, showKeys: true }, time)
})

afterEach(async () => {
  limiter.close()
  await running.close()
})

const address = (): string => running.dashboard.address(running.url)

/** Sends raw bytes, and returns everything that comes until the end. */
async function raw(text: string): Promise<string> {
  const socket = connect(Number(new URL(running.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(text)
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    answer += chunk
  })
  await once(socket, 'close')
  return answer
}

const END = 'Host: x\r\nConnection: close\r\n\r\n'

test.each([
  '/weir/../../../etc/passwd',
  '/weir/..%2f..%2fetc%2fpasswd',
  '/weir/%2e%2e/%2e%2e/package.json',
  '/weir/..\\..\\package.json',
  '/weir//etc/passwd',
  '/weir/app.js%00.html',
  '/weir/app.js/../../package.json',
  '/weir/./app.js',
  '/weir/__proto__',
  '/weir/constructor',
  'http://evil.example/weir/',
  '//evil.example/weir/',
])('a made-up path, %s, is not part of the page', async (path) => {
  expect(await raw(`GET ${path} HTTP/1.1\r\n${END}`)).toMatch(/^HTTP\/1\.1 404 /)
})

test('a made-up Host does not appear in a response', async () => {
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  for (const url of [running.url, `${running.url}/`, address(), `${running.url}/events`]) {
    const reply = await ask(url, { headers })
    expect(JSON.stringify(reply)).not.toContain('evil')
  }
})

test('line breaks in a path or a query do not become headers', async () => {
  for (const path of ['/weir?token=x%0d%0aSet-Cookie:%20a=b', '/weir%0d%0aSet-Cookie:%20a=b/']) {
    const answer = await raw(`GET ${path} HTTP/1.1\r\n${END}`)
    expect(answer).not.toMatch(/set-cookie/i)
  }
})

test('a query of more than 2 kB is refused', async () => {
  const { status } = await ask(`${running.url}/?token=${'x'.repeat(3_000)}`)
  expect(status).toBe(414)
})

describe('another site', () => {
  const reset = { kind: 'reset', limiter: 'attacked', key: 'u42', confirm: 'attacked' }

  test.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['fetch with text/plain', { 'content-type': 'text/plain' }, 415],
    [
      'fetch with a type that is JSON but in name',
      { 'content-type': 'text/plain; application/json' },
      415,
    ],
    ['no Origin', { origin: '' }, 403],
    ['an Origin of its own', { origin: 'https://evil.example' }, 403],
    ['no origin at all, from a sandbox', { origin: 'null' }, 403],
    ['the same site, another origin', { 'sec-fetch-site': 'same-site' }, 403],
    ['a cross-site request', { 'sec-fetch-site': 'cross-site' }, 403],
    ['an address bar', { 'sec-fetch-site': 'none' }, 403],
    [
      'an Origin that only begins like the host',
      { origin: 'http://127.0.0.1:1.evil.example' },
      403,
    ],
  ])('cannot act by %s, with the cookie of a viewer', async (_, headers, status) => {
    await limiter.consume('u42')
    const entered = await enter(address())
    for (const path of ['actions', 'preview', 'lookup'])
      expect((await entered.post(path, reset, headers as Record<string, string>)).status).toBe(
        status,
      )
    expect((await limiter.peek('u42')).remaining).toBe(1)
  })

  test('cannot use up the places of viewers', async () => {
    const { cookie } = await enter(address())
    const headers = { cookie, 'sec-fetch-site': 'cross-site' }
    expect((await ask(`${running.url}/events`, { headers })).status).toBe(403)
  })

  test('that now points its name at this server has no cookie', async () => {
    const origin = 'http://evil.example:3000'
    const headers = { origin, host: 'evil.example:3000', 'content-type': 'application/json' }
    const reply = await ask(`${running.url}/actions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(reset),
    })
    expect(reply.status).toBe(401)
  })

  test('gets no permission from a preflight', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const reply = await ask(`${running.url}/actions`, { method: 'OPTIONS', headers })
    expect(reply.status).toBe(405)
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    )
  })
})

test('the page itself can act behind a proxy that changes Host', async () => {
  const entered = await enter(address())
  const action = { kind: 'reset', limiter: 'attacked', key: 'u42', confirm: 'attacked' }
  const fetched = { origin: 'https://ops.example', 'sec-fetch-site': 'same-origin' }
  expect((await entered.post('actions', action, fetched)).status).toBe(200)
  const named = { origin: 'http://ops.example', 'x-forwarded-host': 'ops.example' }
  expect((await entered.post('actions', action, named)).status).toBe(200)
})

test.each([
  ['no cookie', ''],
  ['another one', 'weir-dashboard-00000000=x'],
  ['one without a value', 'weir-dashboard'],
  ['one of 60 kB', `a=${'x'.repeat(10_000)}`],
])('a client with %s is not let in', async (_, cookie) => {
  const { status } = await ask(`${running.url}/events`, { headers: { cookie } })
  expect(status).toBe(401)
})

test('the token is not valid as a cookie, nor the cookie as a token', async () => {
  const { cookie } = await enter(address())
  const [name, session] = cookie.split('=')
  const token = new URL(address()).searchParams.get('token')
  const asToken = await ask(`${running.url}/?token=${session}`)
  expect([asToken.status, asToken.headers['set-cookie']]).toEqual([401, undefined])
  const asCookie = await ask(`${running.url}/events`, { headers: { cookie: `${name}=${token}` } })
  expect(asCookie.status).toBe(401)
})

test.each([
  [1_024, 201, { allowed: false }],
  [8_192, 130, { code: 'invalid-request', message: expect.stringContaining('give the key') }],
])(
  'a key of %i characters is shown with %i of them, and found while it is remembered',
  async (long, shown, found) => {
    const key = 'k'.repeat(long)
    const entered = await enter(address())
    const stream = await frames(entered)
    await stream.next()
    for (let i = 0; i < 3; i += 1) await limiter.consume(key)
    time.pass(1_000)
    const frame = await stream.next()
    const [row] = frame.limiters[0]?.refusedKeys ?? []
    expect(row?.key).toHaveLength(shown)
    stream.close()
    const asked = { limiter: 'attacked', handle: row?.handle }
    const { body } = await entered.post('lookup', asked)
    expect(JSON.parse(body)).toMatchObject(found)
  },
)

test.each([
  ['no JSON', '{'],
  ['an array', '[]'],
  ['nothing', ''],
  ['null', 'null'],
  ['a number for a name', '{"limiter":1,"key":"u42"}'],
  ['a key of 9,000 characters', JSON.stringify({ limiter: 'attacked', key: 'x'.repeat(9_000) })],
  ['both a key and a handle', '{"limiter":"attacked","key":"a","handle":"h1"}'],
  ['a handle that nobody has', '{"limiter":"attacked","handle":"h999"}'],
  ['a prototype', '{"__proto__":{"limiter":"attacked","key":"u42"}}'],
])('a body that is %s gets 400', async (_, body) => {
  const { cookie, url } = await enter(address())
  const headers = { cookie, origin: new URL(url).origin, 'content-type': 'application/json' }
  const reply = await ask(`${url}lookup`, { method: 'POST', headers, body })
  expect([reply.status, JSON.parse(reply.body).code]).toEqual([400, 'invalid-request'])
})

test('a body that grows past 64 kB is refused while it arrives', async () => {
  const { cookie } = await enter(address())
  const head = [
    'POST /weir/lookup HTTP/1.1',
    `Host: ${new URL(running.url).host}`,
    `Origin: ${new URL(running.url).origin}`,
    `Cookie: ${cookie}`,
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ]
  const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`
  const answer = await raw(`${head.join('\r\n')}\r\n\r\n${chunk.repeat(17)}`)
  expect(answer).toMatch(/^HTTP\/1\.1 413 /)
})
