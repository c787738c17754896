// Clients of iovalkey, which is a fork of ioredis 5: `redisStore` treats them like those of
// ioredis.

import { recommendedRedisOptions, redisStore } from '@weir/core'
import { startProxy, startRedis, waitUntil } from '@weir/testkit'
import { Cluster, Redis } from 'iovalkey'
import { afterAll, afterEach, test } from 'vitest'
import { patientClusterOptions, patientOptions } from '../../../packages/core/test/redis/patient.js'
import { workerRedis } from '../../../packages/core/test/redis/servers.js'
import {
  ALONE,
  asking,
  comesBack,
  countsProcessesAndSetsLimits,
  keepTheContract,
  limiterOn,
  redisDecides,
} from './other-clients.js'

const { port, clusterPorts } = workerRedis()
const nodes = clusterPorts.map((each) => ({ host: '127.0.0.1', port: each }))
const single = new Redis(port, patientOptions)
const cluster = new Cluster(nodes, patientClusterOptions)
await Promise.all(
  [single, cluster].map((client) => new Promise((resolve) => client.once('ready', resolve))),
)
afterAll(() => {
  single.disconnect()
  cluster.disconnect()
})

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const KINDS = [
  ['a single server', single],
  ['a Cluster', cluster],
] as const

keepTheContract(KINDS)

test.each(KINDS)('processes are counted, and live limits are set and read, on %s', (_, client) =>
  countsProcessesAndSetsLimits(client),
)

test('an outage is noticed at once, and Redis decides again afterwards', async () => {
  const server = await startRedis()
  const client = new Redis(server.port, recommendedRedisOptions)
  client.on('error', () => {})
  open.push(() => client.disconnect())
  const store = redisStore(client, ALONE)
  open.push(() => store.close())
  await comesBack(
    limiterOn(store),
    () => server.stop(),
    async () => {
      const again = await startRedis({ port: server.port })
      open.push(() => again.stop())
    },
  )
})

test('a silent connection is given up', async () => {
  const server = await startRedis()
  open.push(() => server.stop())
  const proxy = await startProxy(server.port)
  open.push(() => proxy.stop())
  const client = new Redis(proxy.port, recommendedRedisOptions)
  client.on('error', () => {})
  open.push(() => client.disconnect())
  const limiter = limiterOn(redisStore(client, ALONE))
  await redisDecides(limiter)
  await proxy.set('blackhole')
  open.push(asking(limiter))
  await waitUntil('a new connection', async () => proxy.stats.connections >= 2)
})
