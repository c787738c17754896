// A globalSetup of vitest: a single server and a Cluster for each worker, so that files run beside
// each other and none sees what another one does. The tests get their ports from `workerRedis()`.
import type {} from 'vitest'
import type { TestProject } from 'vitest/node'
import { startCluster } from './cluster.js'
import { startRedis } from './server.js'

export interface ProvidedRedis {
  readonly port: number
  readonly clusterPorts: readonly number[]
}

declare module 'vitest' {
  interface ProvidedContext {
    /** One for each worker. */
    redis: readonly ProvidedRedis[]
  }
}

let started: readonly { stop(): Promise<void> }[] = []

export async function setup(project: TestProject): Promise<void> {
  const workers = Array.from({ length: Number(project.vitest.config.maxWorkers) })
  const servers = await Promise.all(workers.map(() => Promise.all([startRedis(), startCluster()])))
  started = servers.flat()
  project.provide(
    'redis',
    servers.map(([{ port }, { ports }]) => ({ port, clusterPorts: [...ports] })),
  )
}

export async function teardown(): Promise<void> {
  await Promise.all(started.map((servers) => servers.stop()))
}
