// Clients of iovalkey, which is a fork of ioredis 5: `redisStore` treats them like those of
// ioredis.

import { recommendedRedisOptions, redisStore } from '@weir/core'
import { freePort, startRedis } from '@weir/testkit'
import { Cluster, Redis } from 'iovalkey'
import { afterAll, onTestFinished, test } from 'vitest'
import {
  patientClusterOptions,
  patientOptions,
} from '../../../../packages/core/test/redis/patient.js'
import { workerRedis } from '../../../../packages/core/test/redis/servers.js'
import {
  ALONE,
  comesAndGoes,
  countsProcessesAndSetsLimits,
  followsAKey,
  keepTheContract,
  limiterOn,
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

keepTheContract(single, cluster)

test('processes are counted, and live limits are set and read', () =>
  countsProcessesAndSetsLimits(cluster))

test('a key that moves to another node is counted on there', () =>
  followsAKey(cluster, clusterPorts))

test('while Redis is away, decisions are local, and Redis decides again when it is back', async () => {
  const of = await freePort()
  const client = new Redis(of, recommendedRedisOptions)
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  const store = redisStore(client, ALONE)
  onTestFinished(() => store.close())
  await comesAndGoes([limiterOn(store)], async () => {
    const server = await startRedis({ port: of })
    onTestFinished(() => server.stop())
    return server
  })
})
