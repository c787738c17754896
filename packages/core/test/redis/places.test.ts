// Limiters with one name that count under the same keys cause a warning, whatever their stores.

import { inspect } from 'node:util'
import { Cluster, type ClusterNode, Redis } from 'ioredis'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  RateLimiter,
  type RateLimiterOptions,
  type RedisStoreOptions,
  recommendedClusterOptions,
  recommendedRedisOptions,
  redisStore,
  slidingWindow,
} from '../../src/index.js'
import { singleClient } from './clients.js'

const policy = slidingWindow({ limit: 5, window: '1m' })
const lazy = { ...recommendedRedisOptions, lazyConnect: true }
const nodes = [{ host: '127.0.0.1', port: 7_000 }]

let codes: string[] = []
beforeEach(() => {
  codes = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((
    _: string,
    { code }: { code: string },
  ) => {
    codes.push(code)
  }) as typeof process.emitWarning)
  return () => warn.mockRestore()
})

function clientOf(options: object = {}): Redis {
  return new Redis({ ...lazy, port: 7_000, ...options })
}

function clusterOf(startupNodes: ClusterNode[] = nodes): Cluster {
  return new Cluster(startupNodes, { ...recommendedClusterOptions, lazyConnect: true })
}

/** A client that does not reveal where it connects. */
const wrapped = (): RedisLike => ({ callBuffer: () => Promise.reject(new Error('nowhere')) })

let runs = 0
beforeEach(() => {
  runs += 1
})

function limiterOn(
  client: RedisLike,
  options: RedisStoreOptions = {},
  more: Partial<RateLimiterOptions> = {},
  name = `places${runs}`,
) {
  const store = redisStore(client, { instances: 1, ...options })
  onTestFinished(() => store.close())
  return { store, limiter: new RateLimiter({ name, store, policy, ...more }) }
}

const URL = '127.0.0.1:7000'
const watched = { sentinels: nodes, name: 'a' }
const SECRET = 'a secret of the tests'
const one = clientOf()
const bare = wrapped()

test.each<[string, RedisLike, RedisLike, RedisStoreOptions]>([
  ['on one client', one, one, {}],
  ['on two clients of one address', clientOf(), clientOf(), {}],
  ['of one socket', clientOf({ path: '/tmp/s' }), clientOf({ path: '/tmp/s', port: 1 }), {}],
  ['of one Cluster', clusterOf(), clusterOf(), {}],
  ['of one Cluster by URLs', clusterOf([`redis://u:a@${URL}`]), clusterOf([`redis://${URL}`]), {}],
  ['of Sentinels', clientOf(watched), clientOf(watched), {}],
  ['of one client that does not say its address', bare, bare, {}],
  ['of one prefix and secret', clientOf(), clientOf(), { prefix: 'p', hashKeys: SECRET }],
])('two stores %s share counters, with one warning', (_, client, other, options) => {
  limiterOn(client, options)
  expect(codes).toEqual([])
  limiterOn(other, options)
  limiterOn(other, options)
  expect(codes).toEqual(['WEIR_SHARED_NAME'])
})

test.each<[string, RedisLike, RedisStoreOptions]>([
  ['at another port', clientOf({ port: 7_001 }), {}],
  ['in another database', clientOf({ db: 1 }), {}],
  ['with another keyPrefix', clientOf({ keyPrefix: 'app:' }), {}],
  ['of Sentinels', clientOf(watched), {}],
  ['of a Cluster', clusterOf(), {}],
  ['that does not say where', wrapped(), {}],
  ['with another prefix', clientOf(), { prefix: 'other' }],
  ['with hash tags', clientOf(), { hashTags: 16 }],
  ['with a secret', clientOf(), { hashKeys: SECRET }],
])('a store %s has other counters', (_, client, options) => {
  limiterOn(clientOf())
  limiterOn(client, options)
  expect(codes).toEqual([])
})

test('a store counts in the database that its client has selected', async () => {
  const client = singleClient().duplicate({ lazyConnect: true })
  onTestFinished(() => client.disconnect())
  await client.connect()
  await client.select(1)
  const { host, port } = client.options
  limiterOn(client)
  limiterOn(clientOf({ host, port }))
  expect(codes).toEqual([])
  limiterOn(clientOf({ host, port, db: 1 }))
  expect(codes).toEqual(['WEIR_SHARED_NAME'])
})

test('no warning about sharing that is intended, nor about a name that is free again', async () => {
  const first = limiterOn(one)
  limiterOn(one, {}, { shared: true })
  await first.store.close()
  const second = limiterOn(one)
  second.limiter.close()
  limiterOn(one)
  expect(codes).toEqual([])
})

test('a store does not reveal its client or its secret', () => {
  const { store } = limiterOn(clusterOf([`redis://u:pass@${URL}`]), { hashKeys: SECRET })
  expect(inspect(store)).toContain('127.0.0.1:7000')
  expect(inspect(store)).not.toMatch(/pass|a secret/)
})
