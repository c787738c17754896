// One table of requests for all servers that can mount the dashboard.

import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { fixedWindow, RateLimiter } from '@weir/core'
import { waitUntil } from '@weir/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dashboardIn } from '../src/dashboard.js'
import type { ActionAnswer, Lookup } from '../src/protocol.js'
import { ask, enter, frames } from './client.js'
import { type FakeTime, fakeTime } from './fake-time.js'
import { quiet, type Running, servers } from './servers.js'

const STRICT = {
  'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'"),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

describe.each(servers)('$name', ({ name, start }) => {
  let running: Running
  let limiter: RateLimiter
  let time: FakeTime

  beforeEach(async () => {
    limiter = new RateLimiter({
      name: `on-${name.replace(/\W+/g, '-')}`,
      policy: fixedWindow({ name: 'hourly', limit: 2, window: '1h' }),
    })
    time = fakeTime()
    running = await start({ limiters: [limiter], actions: true }, time)
  })

  afterEach(async () => {
    limiter.close()
    await running.close()
  })

  const address = (): string => running.dashboard.address(running.url)

  test('the mount without its slash redirects to the one with it, by a relative address', async () => {
    const { status, headers } = await ask(running.url, { headers: { host: 'evil.example' } })
    expect([status, headers.location]).toEqual([303, './weir/'])
    const { headers: withToken } = await ask(address().replace('/?', '?'))
    expect(withToken.location).toMatch(/^\.\/weir\/\?token=[\w-]{32}$/)
  })

  test('the token is exchanged for a cookie, and removed from the address', async () => {
    const { status, headers } = await ask(address())
    expect([status, headers.location]).toEqual([303, './'])
    const [cookie] = headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^weir-dashboard-[0-9a-f]{8}=[\w-]{43}; HttpOnly; SameSite=Strict$/)
    expect(cookie).not.toContain(new URL(address()).searchParams.get('token'))
    const entered = await enter(address())
    const page = await ask(entered.url, { headers: { cookie: entered.cookie } })
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toMatch(/^text\/html/)
  })

  test('without the token, only the page is served, with 401', async () => {
    const page = await ask(`${running.url}/`)
    expect([page.status, page.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    for (const [method, path] of [
      ['GET', 'events'],
      ['POST', 'lookup'],
      ['POST', 'preview'],
      ['POST', 'actions'],
    ]) {
      const { origin } = new URL(running.url)
      const headers = { 'content-type': 'application/json', origin }
      const reply = await ask(`${running.url}/${path}`, {
        method: method as string,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      })
      expect([path, reply.status, JSON.parse(reply.body).code]).toEqual([path, 401, 'no-token'])
    }
  })

  test('each path answers its methods, with strict headers, and leaves other paths to the server', async () => {
    const { cookie } = await enter(address())
    const [html, script] = ['text/html; charset=utf-8', 'text/javascript; charset=utf-8']
    const rows: readonly [method: string, path: string, status: number, headers: object][] = [
      ['GET', '/', 200, { 'content-type': html, 'cache-control': 'no-store' }],
      ['GET', '/app.js', 200, { 'content-type': script, 'cache-control': 'no-cache' }],
      ['GET', '/app.css', 200, { 'content-type': 'text/css; charset=utf-8' }],
      ['HEAD', '/', 200, {}],
      ['HEAD', '/app.js', 200, {}],
      ['HEAD', '/events', 200, {}],
      ['POST', '/lookup', 415, {}],
      ['POST', '/', 405, { allow: 'GET, HEAD' }],
      ['PUT', '/app.js', 405, { allow: 'GET, HEAD' }],
      ['DELETE', '/actions', 405, { allow: 'POST' }],
      ['GET', '/lookup', 405, { allow: 'POST' }],
      ['OPTIONS', '/actions', 405, { allow: 'POST' }],
      ['GET', '', 303, {}],
    ]
    for (const [method, path, status, more] of rows) {
      const reply = await ask(running.url + path, { method, headers: { cookie } })
      expect([method, path, reply.status]).toEqual([method, path, status])
      expect(reply.headers).toMatchObject({ ...STRICT, ...more })
      expect(reply.headers['access-control-allow-origin']).toBeUndefined()
      if (method === 'HEAD') expect(reply.body).toBe('')
    }
    const { headers } = await ask(`${running.url}/app.js`)
    const known = { 'if-none-match': String(headers.etag) }
    const again = await ask(`${running.url}/app.js`, { headers: known })
    expect([again.status, again.body]).toEqual([304, ''])
    for (const path of ['/nothing', '/app.js/', '/app.js/..%2fsecret']) {
      const elsewhere = await ask(running.url + path)
      expect([path, elsewhere.status]).toEqual([path, 404])
      expect(elsewhere.headers['set-cookie']).toBeUndefined()
    }
  })

  test('frames are sent until the viewer leaves', async () => {
    const stream = await frames(await enter(address()))
    const first = await stream.next()
    expect(first).toMatchObject({ viewer: { mayAct: true }, limiters: [{ name: limiter.name }] })
    for (let i = 0; i < 3; i += 1) await limiter.consume('u42')
    time.pass(1_000)
    const frame = await stream.next()
    expect(frame.sequence).toBe(first.sequence + 1)
    expect(frame.limiters[0]?.refusedKeys).toMatchObject([{ count: 1, error: 0, policy: 'hourly' }])
    stream.close()
    await waitUntil('nobody watches', async () => time.repeating === 0)
  })

  test('a key is looked up, and reset', async () => {
    const entered = await enter(address())
    for (let i = 0; i < 2; i += 1) await limiter.consume('u42')
    const asked = { limiter: limiter.name, key: 'u42' }
    const before = JSON.parse((await entered.post('lookup', asked)).body) as Lookup
    expect(before).toMatchObject({ allowed: false, policies: [{ policy: 'hourly', remaining: 0 }] })
    const action = { ...asked, kind: 'reset', confirm: limiter.name }
    const answer = JSON.parse((await entered.post('actions', action)).body) as ActionAnswer
    expect(answer.note).toMatchObject({ outcome: 'done', who: 'token' })
    expect((await limiter.peek('u42')).remaining).toBe(2)
  })
})

test('HTTP/2 gets the same answers as HTTP/1.1', async () => {
  const limiter = new RateLimiter({
    name: 'http2',
    policy: fixedWindow({ limit: 2, window: '1h' }),
  })
  const time = fakeTime()
  const options = { ...quiet, limiters: [limiter], path: '/weir', authorize: () => true }
  const page = dashboardIn(time, options)
  const server = createServer((request, response) => {
    page.handler(request as never, response as never)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = session.request({ ':path': '/weir/events' })
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    if (text === '') time.pass(1_000)
    text += chunk
    if (text.split('event: frame').length > 2) break
  }
  expect(text).toMatch(/"name":"http2"/)
  const body = JSON.stringify({ limiter: 'http2', key: 'u42' })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const from of [{ 'sec-fetch-site': 'same-origin' }, { origin }]) {
    const head = { ':path': '/weir/lookup', ':method': 'POST', 'content-type': 'application/json' }
    const posted = session.request({ ...head, ...from })
    posted.end(body)
    let found = ''
    for await (const chunk of posted.setEncoding('utf8')) found += chunk
    expect(JSON.parse(found)).toMatchObject({ allowed: true })
  }
  page.close()
  limiter.close()
  session.destroy()
  await new Promise((resolve) => server.close(resolve))
})
