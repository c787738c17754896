// The other forms of the script: for proxies that read scripts before they run, and for clients
// that return bulk replies as strings. differential.test.ts walks through all modes with them.

import { waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { livePolicies } from '../../src/entries/live.js'
import type { TextClient } from '../../src/entries/store.js'
import { fixedWindow, type Policy, RateLimiter, redisStore } from '../../src/index.js'
import { settingsOf } from '../../src/live/checks.js'
import { HEARTBEAT } from '../../src/redis/heartbeat.js'
import { REPORT, REPORTS } from '../../src/redis/reports.js'
import { SETTINGS_SCRIPTS } from '../../src/redis/settings.js'
import { scriptOf } from '../../src/redis/transport/script.js'
import { WATCH } from '../../src/redis/watched.js'
import { makePolicySet } from '../../src/request.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { storeConformance } from '../../src/testing/index.js'
import { checkingProxy, refusalOf } from './checking-proxy.js'
import { singleClient, WALKS } from './clients.js'

const STRICT = { whenUnavailable: 'throw', deadlineMs: 60_000 } as const
const ALONE = { instances: 1 } as const
const client = singleClient()

const ONE_OF_EACH: readonly Policy[] = [
  ...Object.entries(policyFactories).map(([name, { of }]) => of(5, '1m', name)),
  fixedWindow({ name: 'calendar', limit: 5, window: 'day' }),
]

const SETS = [...ONE_OF_EACH.map((policy) => [policy]), ONE_OF_EACH]

describe('a proxy that reads scripts', () => {
  test.each(SETS)('accepts the script with literal keys, whatever the mode: %s', (...policies) => {
    const policySet = makePolicySet('p', policies as Policy[])
    for (const repliesInText of [true, false]) {
      const { source } = scriptOf(policySet, { hasLiteralKeys: true, repliesInText })
      expect(refusalOf(source)).toBeUndefined()
      expect(refusalOf(scriptOf(policySet, { repliesInText }).source)).toBeDefined()
    }
  })

  test.each([HEARTBEAT, REPORT, REPORTS, WATCH, ...Object.values(SETTINGS_SCRIPTS)])(
    'accepts the scripts of live limits, reports, watching and the heartbeat unchanged',
    (source) => {
      expect(refusalOf(source)).toBeUndefined()
    },
  )

  test.each([
    ["local key = KEYS[1] return redis.call('GET', key)"],
    ["local call = redis.call return call('GET', KEYS[1])"],
    ["return redis.call('GET', KEYS[1 + 0])"],
    ["return redis.call('GET', KEYS[1] .. 'x')"],
    ['return redis.call(ARGV[1], KEYS[1])'],
    ["return redis.call('GET', KEYS[1]) .. KEYS[2]"],
    ["return redis.call('GET')"],
  ])('refuses others: %s', (source) => {
    expect(refusalOf(source)).toBeDefined()
  })

  test('refuses one call for each list of policies, and nothing afterwards', async () => {
    const proxy = checkingProxy(client)
    const store = redisStore(proxy.client, { ...STRICT, ...ALONE })
    const policy = fixedWindow({ name: 'p', limit: 100, window: '1h' })
    const limiter = new RateLimiter({ name: `forms-${process.pid}`, store, policy })
    const all = await Promise.all(
      Array.from({ length: 120 }, (_, i) => limiter.consume(`k${i % 3}`)),
    )
    expect(all.map(({ source }) => source)).not.toContain('local')
    expect(proxy.refused.length).toBeGreaterThan(0)
    const refused = proxy.refused.length
    for (let i = 0; i < 100; i += 1) await limiter.consume('k0')
    expect(await limiter.consume('k0')).toMatchObject({ allowed: false })
    expect((await limiter.peek('k1')).remaining).toBe(60)
    expect(proxy.refused).toHaveLength(refused)
    expect(store.health()).toMatchObject({ state: 'closed' })
    await store.close()
  })

  test('consecutive equal requests still travel as one', async () => {
    const proxy = checkingProxy(client)
    const sent = vi.spyOn(proxy.client, 'callBuffer')
    const store = redisStore(proxy.client, { ...STRICT, ...ALONE })
    const policy = fixedWindow({ name: 'p', limit: 100, window: '1h' })
    const limiter = new RateLimiter({ name: `equal-${process.pid}`, store, policy })
    await limiter.consume('warm')
    sent.mockClear()
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => limiter.consume(`k${Math.floor(i / 20)}`)),
    )
    expect(sent.mock.calls.filter(([command]) => command === 'evalsha')).toHaveLength(3)
    await store.close()
  })
})

const texts: TextClient = {
  callText: (command, args) => client.call(command, args),
  isReady: () => client.status === 'ready',
}

function textsByProxy(): TextClient {
  const { client: checked } = checkingProxy(client)
  return { callText: async (command, args) => textsOf(await checked.callBuffer(command, args)) }
}

/** As from a client that returns bulk replies as strings. */
function textsOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textsOf)
  return reply instanceof Uint8Array ? String(reply) : reply
}

describe('by a client whose replies are texts, by a proxy that reads scripts', () => {
  const given = textsByProxy()
  const cases = storeConformance((clock) => redisStore(given, { ...STRICT, clock })).filter(
    ({ name }) => !WALKS.test(name),
  )
  test.each(cases)('$name', ({ run }) => run())
})

test.each([
  ['a proxy that reads scripts', () => checkingProxy(client).client],
  ['a client whose replies are texts', () => texts],
  ['such a client by such a proxy', textsByProxy],
])(
  'by %s, limits hold, live ones are set and read, and processes are counted',
  async (_, clientOf) => {
    const store = redisStore(clientOf(), STRICT)
    const name = `forms-live-${process.pid}-${Math.random().toString(36).slice(2)}`
    const policy = fixedWindow({ name: 'p', limit: 5, window: '1h' })
    const live = livePolicies(store, { name, defaults: { api: policy } })
    const limiter = new RateLimiter({ name, store, policy: live.policy('api') })
    await live.set('api', fixedWindow({ name: 'p', limit: 7, window: '1h' }))
    await waitUntil('the limit is 7', async () => (await limiter.peek('k')).limit === 7)
    const decisions = await Promise.all(Array.from({ length: 9 }, () => limiter.consume('k')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(7)
    await waitUntil('it is counted', async () => store.health().instances >= 1)
    live.close()
    await store.close()
  },
)

test.each([
  [{ callText: 5 }, /client is .*give a client of ioredis/],
  [{ callText: () => '', isReady: true }, /isReady is true; give a function/],
])('%j is not a client', (given, message) => {
  expect(() => redisStore(given as never)).toThrow(message)
})

test.each([
  ['is not ready', () => false],
  [
    'cannot say whether it is ready',
    () => {
      throw new Error('socket of undefined')
    },
  ],
  ['promises to say whether it is ready', async () => false],
])('a client without buffers that %s is not asked, and decisions are local', async (_, isReady) => {
  const callText = vi.fn()
  const store = redisStore({ callText, isReady: isReady as () => boolean }, ALONE)
  const policy = fixedWindow({ name: 'p', limit: 5, window: '1h' })
  const limiter = new RateLimiter({ name: 'unready', store, policy, shared: true })
  expect((await limiter.consume('k')).source).toBe('local')
  expect(callText).not.toHaveBeenCalled()
  await store.close()
})

test.each<[string, () => Promise<unknown>]>([
  ...[undefined, null, '', 'OK', {}, new Error('no')].map(
    (reply): [string, () => Promise<unknown>] => [`${reply}`, async () => reply],
  ),
  ['a rejection without a reason', () => Promise.reject(undefined)],
  ['a rejection with a text', () => Promise.reject('no')],
])('a change of live limits that is answered with %s has failed', async (_, callText) => {
  const store = redisStore({ callText }, STRICT)
  const policy = fixedWindow({ name: 'p', limit: 5, window: '1h' })
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const live = livePolicies(store, { name: 'garbage', defaults: { api: policy } })
  await expect(live.set('api', policy)).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  live.close()
  await store.close()
  warned.mockRestore()
})

test.each(['', 'OK', '1 2 x 4 5', '1 2 1e400 4 5', '1 2 0.5 4 5'])(
  'a decision that is answered with %j is made without Redis',
  async (reply) => {
    const store = redisStore({ callText: async () => reply }, ALONE)
    const policy = fixedWindow({ name: 'p', limit: 5, window: '1h' })
    const limiter = new RateLimiter({ name: 'garbage', store, policy, shared: true })
    expect(await limiter.consume('k')).toMatchObject({ source: 'local', remaining: 4 })
    await store.close()
  },
)

test('live limits are set, reported and read by a client that returns numbers as strings', async () => {
  const options: object = { ...client.options, stringNumbers: true }
  const numbers = new Redis(options)
  onTestFinished(() => numbers.disconnect())
  const store = redisStore(numbers, STRICT)
  const name = `forms-numbers-${process.pid}`
  const policy = fixedWindow({ name: 'p', limit: 5, window: '1h' })
  const warned = vi.spyOn(process, 'emitWarning')
  const live = livePolicies(store, { name, defaults: { api: policy } })
  await live.set('api', fixedWindow({ name: 'p', limit: 7, window: '1h' }))
  const settings = settingsOf(store)
  await settings.report?.(name, 'mark', 'text', 60_000)
  const reports = await settings.reports?.(name)
  expect(reports?.map(({ text }) => text)).toContain('text')
  expect(warned).not.toHaveBeenCalled()
  live.close()
  await store.close()
})
