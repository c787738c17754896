// `weir why` only reads: it writes nothing, no process seems to join, and a user with read access
// suffices. What it cannot do, it says.

import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { resolve } from 'node:path'
import { type PolicyInput, RateLimiter, recommendedClusterOptions, slidingWindow } from '@weir/core'
import { livePolicies } from '@weir/core/live'
import {
  freePort,
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
  waitUntil,
} from '@weir/testkit'
import { Cluster, type Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  ask,
  askJson,
  askUntil,
  clientAt,
  earlier,
  limiterOf,
  policiesFile,
  policiesIn,
  storeOf,
} from './why-bench.js'

let server: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  ;[server, cluster] = await Promise.all([startRedis(), startCluster({ masters: 2, replicas: 0 })])
})
afterAll(() => Promise.all([server.stop(), cluster.stop()]))

let client: Redis
beforeEach(async () => {
  await server.command('FLUSHALL')
  client = await clientAt(server.port)
})

const docs = readFileSync(resolve(import.meta.dirname, '../../../docs/redis.md'), 'utf8')
/** The documented rules for a user with read access. */
const [, LINE = ''] = /^ACL SETUSER viewer (.*)$/m.exec(docs) ?? []
const RULES = LINE.split(' ')
const PASSWORD = RULES.find((rule) => rule.startsWith('>'))?.slice(1) as string

const ALL = `{ api: [
  tokenBucket({ name: 'bucket', capacity: 5, refill: 1, every: '1m' }),
  fixedWindow({ name: 'fixed', limit: 5, window: '1h' }),
  fixedWindow({ name: 'calendar', limit: 5, window: 'month' }),
  slidingLog({ name: 'log', limit: 5, window: '1h' }),
  slidingWindow({ name: 'api', limit: 5, window: '1h' }),
  slidingCounter({ name: 'counter', limit: 5, window: '1h' }),
  lockout({ name: 'lockout', limit: 5, window: '1h', block: ['1m'], forget: '1d' }),
  concurrency({ name: 'slots', limit: 5, holdTimeout: '10m' }),
] }`

/** An application with all algorithms and live policies, which has stopped. */
async function ran(): Promise<string> {
  const file = policiesFile(ALL)
  const { api } = await policiesIn<{ api: PolicyInput }>(file)
  const store = storeOf(client)
  const live = livePolicies(earlier(client), {
    name: 'plans',
    defaults: { free: slidingWindow({ name: 'api', limit: 5, window: '1h' }) },
  })
  const limiter = limiterOf(store, api, 'api')
  for (let i = 0; i < 6; i += 1) await limiter.consume('u42')
  await live.override('u42', slidingWindow({ name: 'api', limit: 4, window: '1h' }))
  await waitUntil('it has reported', async () => (await live.list()).processes.length === 1)
  live.close()
  await store.close()
  return file
}

/** A number that changes with each write by anybody. */
async function writes(): Promise<number> {
  const info = String(await server.command('INFO', 'persistence'))
  return Number(/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1])
}

const at = () => ['--redis', `redis://127.0.0.1:${server.port}`]

test('nothing is written, and the number of processes that share the limits stays', async () => {
  const file = await ran()
  await server.command('CONFIG', 'SET', 'save', '')
  const before = await writes()
  const said = await askJson('--key', 'u42', '--policy', file, '--name', 'plans', ...at())
  expect(said).toMatchObject({ code: 3, limiters: [{ policies: { length: 8 } }] })
  // No running process would have this.
  expect(said.limiters[0]?.policies).toContainEqual(
    expect.objectContaining({
      name: 'api',
      limit: 4,
      live: expect.objectContaining({ why: 'key' }),
    }),
  )
  await ask('--key', 'nobody', '--policy', file, ...at())
  expect(await writes()).toBe(before)
  expect(await client.exists('weir:{instances}')).toBe(0)
  await client.set('weir:probe', '1')
  expect(await writes()).toBe(before + 1)
})

test('a user with read access, by the documented rules, suffices', async () => {
  const file = await ran()
  await server.command('ACL', 'SETUSER', 'viewer', 'reset', ...RULES)
  expect(
    RULES.filter((rule) => /^\+(set|del|z?add|[lr]push|incr|hset|pexpire)/.test(rule)),
  ).toEqual([])
  await server.command('ACL', 'LOG', 'RESET')
  const redis = `redis://viewer:${PASSWORD}@127.0.0.1:${server.port}`
  const said = await askJson(
    ...['--key', 'u42', '--policy', file, '--name', 'plans', '--redis', redis],
  )
  expect(said).toMatchObject({ code: 3, live: { version: 1 } })
  expect(await server.command('ACL', 'LOG')).toEqual([])
})

test('a key with a foreign value is shown, and left alone', async () => {
  const file = policiesFile(`slidingLog({ name: 'p', limit: 5, window: '1h' })`)
  await limiterOf(storeOf(client), await policiesIn(file)).consume('u42')
  const [key] = await client.keys('weir:{u42}*')
  await client.set(key as string, 'foreign')
  const before = await writes()
  await expect(ask('--key', 'u42', '--policy', file, ...at())).rejects.toMatchObject({
    code: 'WEIR_FOREIGN_KEY',
  })
  expect(await writes()).toBe(before)
})

test('an interrupt ends it, even if Redis does not answer', async () => {
  const file = policiesFile(`slidingLog({ name: 'p', limit: 5, window: '1h' })`)
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
  const redis = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const abort = new AbortController()
  const asked = askUntil(abort.signal, '--key', 'u42', '--policy', file, '--redis', redis)
  await waitUntil('it is connected', async () => sockets.length > 0)
  abort.abort()
  await expect(asked).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
})

test("if Redis cannot be reached, the client's error is shown", async () => {
  const file = policiesFile(`slidingLog({ name: 'p', limit: 5, window: '1h' })`)
  const redis = `redis://127.0.0.1:${await freePort()}`
  await expect(ask('--key', 'u42', '--policy', file, '--redis', redis)).rejects.toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('the client said "connect ECONNREFUSED'),
  })
})

test.each([[[]], [['--hash-tags', '16']]])(
  'on a Cluster, keys are found, with %j',
  async (more) => {
    const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }))
    const own = new Cluster(nodes, recommendedClusterOptions)
    onTestFinished(() => own.disconnect())
    await waitUntil('it is connected', async () => own.status === 'ready')
    const store = storeOf(own, more.length > 0 ? { hashTags: 16 } : {})
    const file = policiesFile(`{ api: [
    slidingLog({ name: 'own', limit: 5, window: '1h' }),
    { policy: slidingLog({ name: 'org', limit: 9, window: '1h' }), key: 'acme' },
  ] }`)
    const { api } = await policiesIn<{ api: PolicyInput }>(file)
    const name = `api-${more.length}`
    await new RateLimiter({ name, store, policy: api, shared: true }).consume('u42', { cost: 5 })
    const renamed = policiesFile(
      `{ '${name}': [
    slidingLog({ name: 'own', limit: 5, window: '1h' }),
    { policy: slidingLog({ name: 'org', limit: 9, window: '1h' }), key: 'acme' },
  ] }`,
    )
    const redis = `redis://127.0.0.1:${cluster.ports[0]}`
    const command = ['--key', 'u42', '--policy', renamed, '--redis', redis, '--cluster', ...more]
    expect(await askJson(...command)).toMatchObject({
      code: 3,
      limiters: [
        {
          policies: [
            { name: 'own', used: 5 },
            { name: 'org', used: 5 },
          ],
        },
      ],
    })
    // Only the store without hash tags has its keys in the default slots.
    const without = await askJson(...command.filter((each) => !more.includes(each)))
    expect(without.hint === undefined).toBe(more.length === 0)
  },
)
