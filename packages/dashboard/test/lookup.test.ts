// The lookup of a key.

import {
  concurrency,
  fixedWindow,
  lockout,
  memoryStore,
  RateLimiter,
  tokenBucket,
  unlimited,
} from '@weir/core'
import { httpLimiter } from '@weir/core/http'
import { livePolicies } from '@weir/core/live'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type DashboardOptions, dashboard } from '../src/index.js'
import type { Lookup, Problem } from '../src/protocol.js'
import { TIMERS } from './fake-time.js'
import { quiet } from './servers.js'

const URL_OF_PAGE = 'http://localhost:3000/weir/'

function lookups(limiters: DashboardOptions['limiters'], options = {}) {
  const { fetch } = dashboard({
    ...{ ...quiet, limiters, path: '/weir', authorize: () => true, showKeys: true },
    ...options,
  })
  return async (value: object): Promise<Lookup & Problem> => {
    const headers = { origin: 'http://localhost:3000', 'content-type': 'application/json' }
    const body = JSON.stringify(value)
    const answer = await fetch(
      new Request(`${URL_OF_PAGE}lookup`, { method: 'POST', headers, body }),
    )
    return (await answer.json()) as Lookup & Problem
  }
}

test('all policies of a limiter are shown, with those that refuse', async () => {
  const limiter = new RateLimiter({
    name: 'search',
    policy: [
      tokenBucket({ name: 'burst', capacity: 10, refill: 1, every: '1h' }),
      fixedWindow({ name: 'daily', limit: 3, window: '1d' }),
    ],
  })
  const lookup = lookups([limiter])
  for (let i = 0; i < 3; i += 1) await limiter.consume('u42')
  const found = await lookup({ limiter: 'search', key: 'u42' })
  expect(found).toMatchObject({
    limiter: 'search',
    key: 'u42',
    allowed: false,
    why: 'daily has 0 of 3 left, and a request takes 1.',
    policies: [
      { policy: 'burst', algorithm: 'token-bucket', limit: 10, remaining: 7, from: 'code' },
      { policy: 'daily', algorithm: 'fixed-window', limit: 3, remaining: 0, windowMs: 86_400_000 },
    ],
  })
  expect(found.retryAfterMs).toBeGreaterThan(86_390_000)
  expect(found.unknown).toEqual([
    'This is the answer to a request that costs 1; others may cost more.',
  ])
})

test('a lookup takes nothing and counts nothing', async () => {
  const limiter = new RateLimiter({ name: 'idle', policy: fixedWindow({ limit: 3, window: '1h' }) })
  const lookup = lookups([limiter])
  for (let i = 0; i < 5; i += 1)
    expect((await lookup({ limiter: 'idle', key: 'u42' })).policies).toMatchObject([
      { remaining: 3 },
    ])
  expect(limiter.stats().decisions.every(({ count }) => count === 0)).toBe(true)
})

test('a block is shown with its level', async () => {
  const policy = lockout({
    name: 'guesses',
    limit: 1,
    window: '15m',
    block: ['1m', '1h'],
    forget: '1d',
  })
  const limiter = new RateLimiter({ name: 'login', policy })
  const lookup = lookups([limiter])
  for (let i = 0; i < 3; i += 1) await limiter.consume('u42')
  expect(await lookup({ limiter: 'login', key: 'u42' })).toMatchObject({
    allowed: false,
    why: 'guesses blocks the key, at level 1.',
    policies: [{ block: { level: 1, blocked: true } }],
  })
})

test('infinite waits and limits are sent as JSON', async () => {
  const none = new RateLimiter({
    name: 'none',
    policy: fixedWindow({ name: 'no', limit: 0, window: '1h' }),
  })
  const all = new RateLimiter({ name: 'all', policy: unlimited({ name: 'free' }) })
  const lookup = lookups([none, all])
  expect(await lookup({ limiter: 'none', key: 'u42' })).toMatchObject({
    retryAfterMs: null,
    why: 'no has a limit of 0, so no request can ever pass.',
  })
  expect(await lookup({ limiter: 'all', key: 'u42' })).toMatchObject({
    allowed: true,
    policies: [{ policy: 'free', limit: null, remaining: null }],
  })
})

test('slots are shown like units', async () => {
  const policy = concurrency({ name: 'slots', limit: 2, holdTimeout: '30s' })
  const limiter = new RateLimiter({ name: 'jobs', policy })
  const held = await limiter.acquire('u42')
  expect(await lookups([limiter])({ limiter: 'jobs', key: 'u42' })).toMatchObject({
    policies: [{ policy: 'slots', limit: 2, remaining: 1 }],
  })
  if (held.allowed) await held.release()
})

test('a limiter that is switched off, or in shadow mode, is shown so', async () => {
  const policy = fixedWindow({ name: 'hourly', limit: 0, window: '1h' })
  const off = new RateLimiter({ name: 'off', policy })
  off.enabled = false
  const { limiter: shadow } = httpLimiter(
    { name: 'shadow', policy, key: () => 'u42', shadow: true },
    {} as never,
  )
  const lookup = lookups([off, shadow])
  expect(await lookup({ limiter: 'off', key: 'u42' })).toMatchObject({
    allowed: true,
    policies: [],
    unknown: [expect.stringContaining('switched off')],
  })
  const { unknown } = await lookup({ limiter: 'shadow', key: 'u42' })
  expect(unknown[0]).toContain('shadow mode')
})

test('policies that depend on the request are shown as unknown', async () => {
  const { limiter } = httpLimiter(
    {
      name: 'by-request',
      key: () => 'u42',
      policy: (_request: unknown) => fixedWindow({ name: 'tier', limit: 1, window: '1h' }),
    },
    {} as never,
  )
  expect(await lookups([limiter])({ limiter: 'by-request', key: 'u42' })).toMatchObject({
    policies: [],
    allowed: null,
    unknown: [expect.stringContaining('a key alone does not tell')],
  })
})

test('the source of a policy is shown: code, live, a key, a prefix', async () => {
  vi.useFakeTimers({ toFake: TIMERS })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const defaults = { plan: fixedWindow({ name: 'plan', limit: 10, window: '1h' }) }
  const live = livePolicies(store, { name: 'plans', defaults })
  const limiter = new RateLimiter({ name: 'api', store, policy: live.policy('plan') })
  const lookup = lookups([limiter, live])
  const fromOf = async (key: string) => {
    const [policy] = (await lookup({ limiter: 'api', key })).policies
    return [policy?.from, policy?.limit]
  }
  expect(await fromOf('u42')).toEqual(['live', 10])
  await live.override('u42', fixedWindow({ name: 'plan', limit: 20, window: '1h' }))
  await live.override({ prefix: 'org-' }, fixedWindow({ name: 'plan', limit: 30, window: '1h' }))
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await fromOf('u42')).toEqual(['key', 20])
  expect(await fromOf('org-7')).toEqual(['prefix', 30])
  expect(await fromOf('u43')).toEqual(['live', 10])
  live.close()
})

test('keys are masked unless asked for', async () => {
  const limiter = new RateLimiter({
    name: 'masked',
    policy: fixedWindow({ limit: 3, window: '1h' }),
  })
  const lookup = lookups([limiter], { showKeys: false })
  const keyOf = async (key: string) => (await lookup({ limiter: 'masked', key })).key
  expect(await keyOf('ada@example.com')).toMatch(/^ada…~[0-9a-f]{4}$/)
  expect(await keyOf('ada@example.com')).toBe(await keyOf('ada@example.com'))
  expect(await keyOf('user42')).toMatch(/^us…~[0-9a-f]{4}$/)
  expect(await keyOf('u42')).toMatch(/^…~[0-9a-f]{4}$/)
})

test('an unknown limiter gets 404, and two with the same name are distinguished', async () => {
  const policy = fixedWindow({ limit: 3, window: '1h' })
  const two = [1, 2].map(() => new RateLimiter({ name: 'twin', store: memoryStore(), policy }))
  await two[1]?.consume('u42')
  const lookup = lookups(two)
  expect((await lookup({ limiter: 'nobody', key: 'u42' })).code).toBe('not-found')
  expect((await lookup({ limiter: 'twin', key: 'u42' })).policies).toMatchObject([{ remaining: 3 }])
  expect((await lookup({ limiter: 'twin#2', key: 'u42' })).policies).toMatchObject([
    { remaining: 2 },
  ])
})
