// A Redis for the test file, and stores on it as users make them.

import {
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'

export interface OnRedis {
  readonly server: RedisServer
  readonly store: RedisStore
  /** Another one, with more options. Close it. */
  storeOf(more: RedisStoreOptions): RedisStore
}

/** @param options by default, only Redis decides, however busy the machine is */
export function onRedis(options: RedisStoreOptions = { deadlineMs: 60_000 }): OnRedis {
  let server: RedisServer
  let store: RedisStore
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.port, recommendedRedisOptions)
    // A test that kills Redis looks at decisions, not at the client's errors.
    client.on('error', () => {})
    await new Promise((resolve) => client.once('ready', resolve))
    store = redisStore(client, options)
  })
  afterAll(async () => {
    await store.close()
    client.disconnect()
    await server.stop()
  })
  return {
    get server() {
      return server
    },
    get store() {
      return store
    },
    storeOf: (more) => redisStore(client, { ...options, ...more }),
  }
}

let names = 0
/** A name that no other test, and no earlier run, uses. */
export function newName(): string {
  names += 1
  return `t${process.pid}-${names}`
}
