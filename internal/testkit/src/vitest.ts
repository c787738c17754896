// A globalSetup of vitest: one single server and one Cluster for the whole run. The tests get their
// ports from `inject('redis')`.
import type {} from 'vitest'
import type { TestProject } from 'vitest/node'
import { type RedisCluster, startCluster } from './cluster.js'
import { type RedisServer, startRedis } from './server.js'

export interface ProvidedRedis {
  readonly port: number
  readonly clusterPorts: number[]
}

declare module 'vitest' {
  interface ProvidedContext {
    redis: ProvidedRedis
  }
}

let started: readonly [RedisServer, RedisCluster] | undefined

export async function setup(project: TestProject): Promise<void> {
  started = await Promise.all([startRedis(), startCluster()])
  const [single, cluster] = started
  project.provide('redis', { port: single.port, clusterPorts: [...cluster.ports] })
}

export async function teardown(): Promise<void> {
  await Promise.all((started ?? []).map((servers) => servers.stop()))
}
