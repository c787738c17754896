// A server of a test file's own, which ends with the file.

import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { patientClient } from './patient.js'

export async function ownServer(): Promise<RedisServer> {
  const server = await startRedis()
  afterAll(() => server.stop())
  return server
}

/** The same, and a client of it. */
export async function ownRedis(): Promise<{
  readonly server: RedisServer
  readonly client: Redis
}> {
  const server = await ownServer()
  const client = await patientClient(server.port)
  afterAll(() => client.disconnect())
  return { server, client }
}
