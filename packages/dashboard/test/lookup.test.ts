// The lookup of a key.

import {
  concurrency,
  fixedWindow,
  lockout,
  memoryStore,
  type Policy,
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

const hourly = (limit: number): Policy => fixedWindow({ name: 'hourly', limit, window: '1h' })
const burst = tokenBucket({ name: 'burst', capacity: 10, refill: 1, every: '1h' })
const daily = fixedWindow({ name: 'daily', limit: 3, window: '1d' })
const guesses = lockout({
  ...{ name: 'guesses', limit: 1, window: '15m', block: ['1m', '1h'], forget: '1d' },
})
const COST_1 = 'This is the answer to a request that costs 1; others may cost more.'

/** @param uses how often the key is used before */
const CASES: readonly [shows: string, policy: Policy | Policy[], uses: number, found: object][] = [
  [
    'all policies of a limiter, with those that refuse',
    [burst, daily],
    3,
    {
      ...{ key: 'u42', allowed: false, why: 'daily has 0 of 3 left, and a request takes 1.' },
      policies: [
        { policy: 'burst', algorithm: 'token-bucket', limit: 10, remaining: 7, from: 'code' },
        { policy: 'daily', algorithm: 'fixed-window', remaining: 0, windowMs: 86_400_000 },
      ],
      unknown: [COST_1],
    },
  ],
  [
    'a block with its level',
    guesses,
    3,
    {
      ...{ allowed: false, why: 'guesses blocks the key, at level 1.' },
      policies: [{ block: { level: 1, blocked: true } }],
    },
  ],
  [
    'an infinite wait as JSON',
    hourly(0),
    0,
    { retryAfterMs: null, why: 'hourly has a limit of 0, so no request can ever pass.' },
  ],
  [
    'an infinite limit as JSON',
    unlimited({ name: 'free' }),
    0,
    { allowed: true, policies: [{ policy: 'free', limit: null, remaining: null }] },
  ],
]

test.each(CASES)(
  'a lookup shows %s, takes nothing and counts nothing',
  async (_, policy, uses, found) => {
    const limiter = new RateLimiter({ name: 'api', policy })
    const lookup = lookups([limiter])
    for (let i = 0; i < uses; i += 1) await limiter.consume('u42')
    const before = limiter.stats()
    for (let i = 0; i < 2; i += 1)
      expect(await lookup({ limiter: 'api', key: 'u42' })).toMatchObject(found)
    expect(limiter.stats()).toEqual(before)
  },
)

test('slots are shown like units', async () => {
  const policy = concurrency({ name: 'slots', limit: 2, holdTimeout: '30s' })
  const limiter = new RateLimiter({ name: 'jobs', policy })
  const held = await limiter.acquire('u42')
  expect(await lookups([limiter])({ limiter: 'jobs', key: 'u42' })).toMatchObject({
    policies: [{ policy: 'slots', limit: 2, remaining: 1 }],
  })
  if (held.allowed) await held.release()
})

test('a limiter that is off, in shadow mode, or whose policies depend on the request is shown so', async () => {
  const off = new RateLimiter({ name: 'off', policy: hourly(0) })
  off.enabled = false
  const key = () => 'u42'
  const [shadow, byRequest] = [
    { name: 'shadow', policy: hourly(0), key, shadow: true },
    { name: 'by-request', key, policy: (_request: unknown) => hourly(1) },
  ].map((options) => httpLimiter(options, {} as never).limiter) as [RateLimiter, RateLimiter]
  const lookup = lookups([off, shadow, byRequest])
  expect(await lookup({ limiter: 'off', key: 'u42' })).toMatchObject({
    ...{ allowed: true, policies: [] },
    unknown: [expect.stringContaining('switched off')],
  })
  const { unknown } = await lookup({ limiter: 'shadow', key: 'u42' })
  expect(unknown[0]).toContain('shadow mode')
  expect(await lookup({ limiter: 'by-request', key: 'u42' })).toMatchObject({
    ...{ allowed: null, policies: [] },
    unknown: [expect.stringContaining('a key alone does not tell')],
  })
})

test('the source of a policy is shown: code, live, a key, a prefix', async () => {
  vi.useFakeTimers({ toFake: TIMERS })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const live = livePolicies(store, { name: 'plans', defaults: { plan: hourly(10) } })
  const limiter = new RateLimiter({ name: 'api', store, policy: live.policy('plan') })
  const lookup = lookups([limiter, live])
  const fromOf = async (key: string) => {
    const [policy] = (await lookup({ limiter: 'api', key })).policies
    return [policy?.from, policy?.limit]
  }
  expect(await fromOf('u42')).toEqual(['live', 10])
  await live.override('u42', hourly(20))
  await live.override({ prefix: 'org-' }, hourly(30))
  await vi.advanceTimersByTimeAsync(2_000)
  expect([await fromOf('u42'), await fromOf('org-7'), await fromOf('u43')]).toEqual([
    ['key', 20],
    ['prefix', 30],
    ['live', 10],
  ])
  live.close()
})

test('keys are masked unless asked for', async () => {
  const limiter = new RateLimiter({ name: 'masked', policy: hourly(3) })
  const lookup = lookups([limiter], { showKeys: false })
  const keyOf = async (key: string) => (await lookup({ limiter: 'masked', key })).key
  expect(await keyOf('ada@example.com')).toMatch(/^ada…~[0-9a-f]{4}$/)
  expect(await keyOf('ada@example.com')).toBe(await keyOf('ada@example.com'))
  expect(await keyOf('user42')).toMatch(/^us…~[0-9a-f]{4}$/)
  expect(await keyOf('u42')).toMatch(/^…~[0-9a-f]{4}$/)
})

test('an unknown limiter gets 404, and two with the same name are distinguished', async () => {
  const two = [1, 2].map(() => new RateLimiter({ name: 'twin', policy: hourly(3) }))
  await two[1]?.consume('u42')
  const lookup = lookups(two)
  expect((await lookup({ limiter: 'nobody', key: 'u42' })).code).toBe('not-found')
  expect((await lookup({ limiter: 'twin', key: 'u42' })).policies).toMatchObject([{ remaining: 3 }])
  expect((await lookup({ limiter: 'twin#2', key: 'u42' })).policies).toMatchObject([
    { remaining: 2 },
  ])
})
