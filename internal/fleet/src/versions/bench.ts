// What every check uses: two versions and a Redis. A check returns the problems that it found, each
// as a self-contained text.

import { recommendedRedisOptions } from '@weir/core'
import type { RedisServer } from '@weir/testkit'
import { Redis } from 'ioredis'
import type { Version } from './version.js'

export interface Bench {
  readonly versions: readonly [earlier: Version, present: Version]
  newClient(): Promise<Redis>
  /** A new prefix for keys. */
  newPrefix(): string
}

/** What a check did, and its problems. */
export interface Found {
  readonly did: string
  readonly problems: readonly string[]
}

export interface OpenBench extends Bench {
  close(): void
}

export function benchOn(server: RedisServer, versions: Bench['versions']): OpenBench {
  const clients: Redis[] = []
  let prefixes = 0
  return {
    versions,
    async newClient() {
      const client = new Redis(server.port, { ...recommendedRedisOptions, connectTimeout: 5_000 })
      clients.push(client)
      await new Promise((resolve) => client.once('ready', resolve))
      return client
    },
    newPrefix() {
      prefixes += 1
      return `bench${prefixes}`
    },
    close() {
      for (const client of clients) client.disconnect()
    },
  }
}
