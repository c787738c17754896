// Clients for the servers that the test run started, ready for use, which all files of a worker
// share and which end with it.

import { Cluster, Redis } from 'ioredis'
import type { RedisLike } from '../../src/entries/store.js'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/index.js'
import { patientClusterOptions, patientOptions } from './patient.js'
import { workerRedis } from './servers.js'

const { port, clusterPorts } = workerRedis()
const nodes = clusterPorts.map((each) => ({ host: '127.0.0.1', port: each }))
const single = new Redis(port, patientOptions)
const cluster = new Cluster(nodes, patientClusterOptions)
await Promise.all(
  [single, cluster].map((client) => new Promise((resolve) => client.once('ready', resolve))),
)

/** The client of the single server. */
export function singleClient(): Redis {
  return single
}

/** The client of the Cluster. */
export function clusterClient(): Cluster {
  return cluster
}

/**
 * A store that fails where users' stores would decide locally, so that a test cannot pass without
 * Redis.
 */
export function strictStore(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  return redisStore(client, { whenUnavailable: 'throw', deadlineMs: 60_000, ...options })
}

/** A store over the single server's client, and the arguments of its calls. */
export function notedStore(options: RedisStoreOptions = {}): {
  readonly store: RedisStore
  readonly calls: string[][]
} {
  const calls: string[][] = []
  const spy = {
    callBuffer(command: string, args: string[]) {
      calls.push(args)
      return single.callBuffer(command, args)
    },
  }
  return { store: strictStore(spy, options), calls }
}

let names = 0

/** A name that no other test has, whichever worker runs it, and whenever. */
export function newName(of = 'n'): string {
  names += 1
  return `${of}-${process.pid}-${process.env.VITEST_POOL_ID}-${Date.now().toString(36)}-${names}`
}

/** Walks of the conformance suite, by their names; differential.test.ts has longer ones. */
export const WALKS: RegExp = /: (a random walk |\(k\) of several limits)/
