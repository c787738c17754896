// A real Prometheus scrapes a real Weir on a real Redis: under load, while Redis hangs, and after
// Redis has lost its keys. Each wait ends when something is seen, however late.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { adaptive } from '@weir/core/adaptive'
import { type LivePolicies, livePolicies } from '@weir/core/live'
import {
  fixedWindow,
  overload,
  RateLimiter,
  rateLimit,
  recommendedRedisOptions,
  redisStore,
  tokenBucket,
} from '@weir/express'
import { prometheus } from '@weir/metrics/prometheus'
import {
  type Prometheus,
  promtool,
  type RedisServer,
  startPrometheus,
  startRedis,
  waitUntil,
} from '@weir/testkit'
import express from 'express'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { board, rules } from './files.js'

/** A scrape may also take this long. */
const EVERY_MS = 1_000

/** The same alerts with seconds in place of minutes. */
const shortRules = rules
  .replace(/\[\d+m\]/g, '[5s]')
  .replace(/for: \d+[mh]/g, 'for: 1s')
  .replace(/offset 1[hd]/g, 'offset 5s')

let redis: RedisServer
let client: Redis
let store: ReturnType<typeof redisStore>
let server: Server
let seen: Prometheus
let url: string

beforeAll(async () => {
  // The warnings of a store about its outage are not the subject here.
  vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  redis = await startRedis()
  client = new Redis(redis.port, { ...recommendedRedisOptions, connectTimeout: 5_000 })
  client.on('error', () => {})
  await new Promise((resolve) => client.once('ready', resolve))
  store = redisStore(client, { deadlineMs: 2_000 })
  makeLimiters()
  server = createServer(app())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`
  url = `http://${target}`
  seen = await startPrometheus({ targets: [target], rules: shortRules, everyMs: EVERY_MS })
})
afterAll(async () => {
  await seen?.stop()
  server?.closeAllConnections()
  server?.close()
  redis?.kill('SIGCONT')
  plans?.close()
  await store?.close()
  client?.disconnect()
  await redis?.stop()
  vi.restoreAllMocks()
})

let search: RateLimiter
let strict: RateLimiter
let inMemory: RateLimiter
let patient: RateLimiter
let shadow: ReturnType<typeof rateLimit>
let classes: RateLimiter
let adapted: RateLimiter
let plans: LivePolicies
const guard = overload()

function makeLimiters(): void {
  const window = '1h'
  search = new RateLimiter({
    name: 'search',
    store,
    policy: [
      tokenBucket({ name: 'burst', capacity: 20, refill: 1, every: '1h' }),
      fixedWindow({ name: 'daily', limit: 1_000, window: '1d' }),
    ],
  })
  const policy = fixedWindow({ limit: 100_000, window })
  strict = new RateLimiter({ name: 'strict', store, policy, whenUnavailable: 'throw' })
  inMemory = new RateLimiter({ name: 'in-memory', policy: fixedWindow({ limit: 50, window }) })
  patient = new RateLimiter({
    name: 'patient',
    policy: tokenBucket({ name: 'turns', capacity: 1, refill: 100, every: '1s', maxWait: '1m' }),
  })
  const hundred = fixedWindow({ name: 'hundred', limit: 100, window })
  classes = new RateLimiter({ name: 'classes', policy: hundred, reserve: { batch: 0.8 } })
  const warming = adaptive(fixedWindow({ name: 'warming', limit: 100, window }), { warmUp: '1d' })
  adapted = new RateLimiter({ name: 'adapted', policy: warming })
  plans = livePolicies(store, { name: 'plans', defaults: { free: hundred } })
  // In memory, where the result of each request is known in advance.
  shadow = rateLimit({
    name: 'shadow',
    limit: 3,
    window,
    shadow: true,
    skip: (req) => req.path === '/health',
  })
}

function app() {
  const metrics = prometheus([
    search,
    strict,
    inMemory,
    patient,
    shadow,
    classes,
    adapted,
    guard,
    plans,
  ])
  return express()
    .get('/metrics', metrics.handler)
    .use('/guarded', guard)
    .use(shadow)
    .get(['/', '/health'], (_, res) => void res.end())
}

/** What the load generator has seen: decisions by limiter and outcome, units by limiter and
 *  policy. */
const counted: Record<string, number> = {}

function count(id: string, by = 1): void {
  counted[id] = (counted[id] ?? 0) + by
}

/** Sends one request, and counts its result. */
async function ask(limiter: RateLimiter, key: string, cost = 1, priority?: string): Promise<void> {
  try {
    const decision = await limiter.consume(key, { cost, priority })
    const outcome = decision.allowed ? 'allowed' : 'denied'
    count(`${limiter.name} ${outcome}`)
    if (priority !== undefined) count(`class ${priority} ${outcome}`)
    if (decision.allowed)
      for (const { policy } of decision.policies) count(`${limiter.name}/${policy.name}`, cost)
  } catch {
    count(`${limiter.name} error`)
  }
}

async function load(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        await ask(search, `user-${i % 5}`, 1 + (i % 3))
        await ask(strict, `user-${i}`)
        await ask(inMemory, `user-${i % 2}`)
        await ask(adapted, `user-${i % 2}`)
        await ask(classes, 'all', 1, i % 4 === 0 ? 'critical' : 'batch')
      }),
    )
    await fetch(url)
    count(`shadow ${(counted['shadow allowed'] ?? 0) < 3 ? 'allowed' : 'shadow_denied'}`)
    await fetch(`${url}/health`)
    await patient.wait('all')
    count('patient allowed')
    count('patient/turns')
  }
}

/** Waits until Prometheus has these counts: until a scrape after the load. */
async function shows(all: Readonly<Record<string, number>>): Promise<void> {
  let last: unknown
  await waitUntil('Prometheus shows all that was counted', async () => {
    await sleep(100)
    const decisions = await seen.query('sum by (limiter, outcome) (weir_decisions_total) > 0')
    const units = await seen.query('sum by (limiter, policy) (weir_units_total{kind="taken"}) > 0')
    const ofClasses = await seen.query(
      'sum by (priority, outcome) (weir_priority_decisions_total) > 0',
    )
    last = Object.fromEntries([
      ...ofClasses.map(({ labels, value }) => [
        `class ${labels.priority} ${labels.outcome}`,
        value,
      ]),
      ...decisions.map(({ labels, value }) => [`${labels.limiter} ${labels.outcome}`, value]),
      ...units.map(({ labels, value }) => [`${labels.limiter}/${labels.policy}`, value]),
    ])
    return JSON.stringify(Object.entries(last as object).sort()) === JSON.stringify(sorted(all))
  }).catch(() => {
    expect(last).toEqual(all)
  })
}

function sorted(all: object): unknown {
  return Object.entries(all).sort()
}

/** Polls until each query has returned data: rates need two scrapes, and a scrape may fail. */
async function allReturnData(queries: readonly string[]): Promise<void> {
  const empty = new Set(queries)
  await waitUntil('all return data', async () => {
    await sleep(100)
    for (const query of empty) if ((await seen.query(query)).length > 0) empty.delete(query)
    return empty.size === 0
  }).catch(() => {
    expect([...empty]).toEqual([])
  })
}

/** Polls under load until an alert fires, or is over. */
async function alert(name: string, isFiring: boolean): Promise<void> {
  await waitUntil(`${name} ${isFiring ? 'fires' : 'is over'}`, async () => {
    await Promise.all([ask(search, 'probe'), ask(strict, 'probe'), sleep(100)])
    const states = await seen.alertStates(name)
    return isFiring ? states.includes('firing') : states.length === 0
  })
}

test('sums equal those of the load generator, to the unit', async () => {
  await load(10)
  await shows({ ...counted, 'shadow/shadow': 3 })
})

test('promtool finds nothing wrong with the metrics', async () => {
  const text = await (await fetch(`${url}/metrics`)).text()
  const { status, output } = promtool(['check', 'metrics'], text)
  expect(output).toBe('')
  expect(status).toBe(0)
})

test('every query of the board returns data', async () => {
  const queries = [
    ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    // Annotations mark what should not happen, so the test checks that their series exist.
    ...board.annotations.list.map(({ expr }) => expr.replace(/ > 0$/, '')),
  ]
  expect(queries.length).toBeGreaterThan(25)
  await allReturnData(
    queries.map((expr) =>
      expr.replaceAll('$__rate_interval', '1m').replace(/=~"\$(job|limiter|policy)"/g, '=~".*"'),
    ),
  )
})

test('the series that each alert compares exist', async () => {
  const names = new Set([...rules.matchAll(/\bweir_[a-z_]+/g)].map(([name]) => name))
  expect(names.size).toBeGreaterThan(6)
  const labelled = [...rules.matchAll(/\bweir_[a-z_]+\{[^}]+\}/g)].map(([selector]) => selector)
  await allReturnData([...names, ...labelled])
})

test('an outage fires WeirDegraded and WeirBreakerOpen, and they clear when it is over', async () => {
  redis.kill('SIGSTOP')
  await alert('WeirBreakerOpen', true)
  await alert('WeirDegraded', true)
  // One limiter decides without its store, the other fails.
  await allReturnData([
    'weir_decisions_total{limiter="search", source="local", degraded="true"} > 0',
    'weir_decisions_total{limiter="strict", source="none", outcome="error"} > 0',
  ])
  redis.kill('SIGCONT')
  await alert('WeirBreakerOpen', false)
  await alert('WeirDegraded', false)
})

test('sums are right after the outage as well', async () => {
  await load(2)
  await shows({ ...counted, 'shadow/shadow': 3 })
})

test('keys that Redis has lost fire WeirDataLoss', async () => {
  let keys = 0
  await waitUntil('WeirDataLoss fires', async () => {
    keys += 1
    await ask(search, `lost-${keys}`)
    await redis.command('FLUSHALL')
    await ask(search, `lost-${keys}`)
    await sleep(100)
    return (await seen.alertStates('WeirDataLoss')).includes('firing')
  })
  await alert('WeirDataLoss', false)
})

test('a limiter that is switched off fires WeirSwitchedOff, and does not count as degraded', async () => {
  inMemory.enabled = false
  await ask(inMemory, 'anybody')
  await alert('WeirSwitchedOff', true)
  expect(await seen.query('weir_decisions_total{limiter="in-memory", source="local"} > 0')).toEqual(
    [],
  )
  inMemory.enabled = true
  await alert('WeirSwitchedOff', false)
})

test('a scrape during an outage is answered at once, since it does not ask Redis', async () => {
  redis.kill('SIGSTOP')
  const response = await fetch(`${url}/metrics`)
  expect(await response.text()).toContain('weir_store_breaker_state')
  redis.kill('SIGCONT')
})
