// Clients of the servers that the test run started.

import { Cluster, Redis } from 'ioredis'
import { afterAll, inject } from 'vitest'

const open: { disconnect(): void }[] = []
afterAll(() => {
  for (const client of open.splice(0)) client.disconnect()
})

/** A client of the single server; ended after the file. */
export function singleClient(): Redis {
  const client = new Redis(inject('redis').port)
  open.push(client)
  return client
}

/** A client of the Cluster; ended after the file. */
export function clusterClient(): Cluster {
  const client = new Cluster(inject('redis').clusterPorts.map((port) => ({ host: '127.0.0.1', port })))
  open.push(client)
  return client
}
