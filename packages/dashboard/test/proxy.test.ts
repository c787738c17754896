// Behind nginx with its defaults: it connects from loopback, with another Host and HTTP/1.0, and
// buffers responses.

import { fixedWindow, RateLimiter } from '@weir/core'
import { type Nginx, startNginx } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, enter, frames } from './client.js'
import { fakeTime } from './fake-time.js'
import { plain, type Running } from './servers.js'

const limiter = new RateLimiter({
  name: 'proxied',
  policy: fixedWindow({ name: 'hourly', limit: 2, window: '1h' }),
})
let running: Running
let proxy: Nginx
const time = fakeTime()

beforeAll(async () => {
  running = await plain.start({ limiters: [limiter], actions: true }, time)
  const { origin } = new URL(running.url)
  proxy = await startNginx(`
    location /weir { proxy_pass ${origin}; }
    location /named/ { proxy_pass ${origin}/weir/; proxy_set_header Host $http_host; }`)
})

afterAll(async () => {
  limiter.close()
  await proxy.stop()
  await running.close()
})

const address = (mount = '/weir'): string => running.dashboard.address(proxy.url + mount)

test('clients behind the proxy come from loopback, and need the token', async () => {
  for (const path of ['/weir/', '/weir/events', '/named/', '/named/events'])
    expect([path, (await ask(proxy.url + path)).status]).toEqual([path, 401])
})

test('the token opens the page, even if the mount has another path', async () => {
  for (const mount of ['/weir', '/named']) {
    const { status, headers } = await ask(address(mount))
    expect([status, headers.location]).toEqual([303, './'])
    expect(String(headers['set-cookie'])).not.toMatch(/path=/i)
    const { url, cookie } = await enter(address(mount))
    expect(url).toBe(`${proxy.url}${mount}/`)
    expect((await ask(url, { headers: { cookie } })).status).toBe(200)
  }
})

test('frames arrive as they are made', async () => {
  const stream = await frames(await enter(address()))
  const first = await stream.next()
  for (const later of [1, 2]) {
    time.pass(1_000)
    expect((await stream.next()).sequence).toBe(first.sequence + later)
  }
  stream.close()
})

const reset = { kind: 'reset', limiter: 'proxied', key: 'u42', confirm: 'proxied' }

test('an action is accepted if the browser says that it comes from the page', async () => {
  const entered = await enter(address())
  const fetched = { 'sec-fetch-site': 'same-origin' }
  expect((await entered.post('actions', reset, fetched)).status).toBe(200)
})

test('an action with only an Origin is accepted if nginx keeps Host; otherwise the response says what to do', async () => {
  const named = await enter(address('/named'))
  expect((await named.post('actions', reset)).status).toBe(200)
  const entered = await enter(address())
  const { status, body } = await entered.post('actions', reset)
  expect([status, JSON.parse(body)]).toMatchObject([
    403,
    { code: 'foreign-origin', message: expect.stringContaining('where a proxy changes Host') },
  ])
})

test('the Origin of another site is also refused through the proxy', async () => {
  const named = await enter(address('/named'))
  const evil = { origin: 'https://evil.example' }
  expect((await named.post('actions', reset, evil)).status).toBe(403)
})
