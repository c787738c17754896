// Behind nginx with its defaults, which connects from loopback, with another Host and HTTP/1.0.
// That the whole page works there, and frames arrive as they are made: see browser/served.test.ts.

import { fixedWindow, RateLimiter } from '@weir/core'
import { type Nginx, startNginx } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, enter } from './client.js'
import { plain, type Running } from './servers.js'

const policy = fixedWindow({ name: 'hourly', limit: 2, window: '1h' })
const limiter = new RateLimiter({ name: 'proxied', policy })
let running: Running
let proxy: Nginx

beforeAll(async () => {
  running = await plain.start({ limiters: [limiter], actions: true })
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

const enterBy = (mount: string) => enter(running.dashboard.address(proxy.url + mount))

test('clients behind the proxy come from loopback, and need the token', async () => {
  for (const path of ['/weir/', '/weir/events', '/named/', '/named/events'])
    expect([path, (await ask(proxy.url + path)).status]).toEqual([path, 401])
})

test('an action with only an Origin is accepted if nginx keeps Host; otherwise the response says what to do', async () => {
  const reset = { kind: 'reset', limiter: 'proxied', key: 'u42', confirm: 'proxied' }
  const [named, entered] = [await enterBy('/named'), await enterBy('/weir')]
  expect((await named.post('actions', reset)).status).toBe(200)
  expect((await named.post('actions', reset, { origin: 'https://evil.example' })).status).toBe(403)
  const { status, body } = await entered.post('actions', reset)
  expect([status, JSON.parse(body)]).toMatchObject([
    403,
    { code: 'foreign-origin', message: expect.stringContaining('where a proxy changes Host') },
  ])
})
