// Stores on clients of every library keep the contract of a store, and decide without Redis.

import { redisStore } from '@weir/core'
import { freePort, startRedis } from '@weir/testkit'
import { afterAll, describe, onTestFinished, test } from 'vitest'
import { workerRedis } from '../../../../packages/core/test/redis/servers.js'
import type { Address } from '../../src/faults/client/protocol.js'
import { LIBRARIES, openClient, type UserClient } from '../../src/faults/client/user-client.js'
import {
  ALONE,
  comesAndGoes,
  countsProcessesAndSetsLimits,
  followsAKey,
  keepTheContract,
  limiterOn,
} from './other-clients.js'

const { port, clusterPorts } = workerRedis()
// Core's own tests use ioredis.
const others = LIBRARIES.filter((library) => library !== 'ioredis')
const open: UserClient[] = []
afterAll(() => {
  for (const client of open) client.close()
})

async function patient(library: string, to: Address): Promise<UserClient['given']> {
  const client = await openClient({ to, client: 'patient', library })
  open.push(client)
  await client.ready()
  return client.given
}

const clients = await Promise.all(
  others.map(async (library) => ({
    library,
    single: await patient(library, { port }),
    cluster: await patient(library, { cluster: clusterPorts }),
  })),
)

describe.each(clients)('$library', ({ library, single, cluster }) => {
  keepTheContract(single, cluster)

  test('processes are counted, and live limits are set and read', () =>
    countsProcessesAndSetsLimits(cluster))

  test('a key that moves to another node is counted on there', () =>
    followsAKey(cluster, clusterPorts))

  test('while Redis is away, decisions are local, and Redis decides when it is back', async () => {
    const of = await freePort()
    const client = await openClient({ to: { port: of }, client: 'recommended', library })
    client.events.on('error', () => {})
    onTestFinished(() => client.close())
    const store = redisStore(client.given, ALONE)
    onTestFinished(() => store.close())
    await comesAndGoes([limiterOn(store)], async () => {
      const server = await startRedis({ port: of })
      onTestFinished(() => server.stop())
      return server
    })
  })
})
