// The client of a user, of any library that is supported, set up as recommended or not at all.

import type { EventEmitter } from 'node:events'
import * as weir from '@weir/core'
import * as nodeRedis from '@weir/core/node-redis'
import { Cluster, Redis } from 'ioredis'
import * as redis from 'redis'
import type { Address, Job } from './protocol.js'

export interface UserClient {
  /** What is handed to `redisStore`. */
  readonly given: Parameters<typeof weir.redisStore>[0]
  readonly events: EventEmitter
  /** Resolves when it can be used. */
  ready(): Promise<void>
  incr(key: string): Promise<unknown>
  close(): void
  /** The first command of this name fails without reaching Redis, as if its reply were lost. */
  failFirst(command: string): void
}

export function openClient({ to, client, library = 'ioredis' }: Job): UserClient {
  const isPlain = client === 'plain'
  return library === 'ioredis' ? ofIoredis(to, isPlain) : ofNodeRedis(to, isPlain)
}

const HOST = '127.0.0.1'

function ofIoredis(to: Address, isPlain: boolean): UserClient {
  const client = ioredisTo(to, isPlain)
  return {
    given: client,
    events: client,
    ready: () => {
      if (client.status === 'ready') return Promise.resolve()
      return new Promise((resolve) => client.once('ready', () => resolve()))
    },
    incr: (key) => client.incr(key),
    close: () => client.disconnect(),
    failFirst: (command) => failFirst(client, 'callBuffer', command),
  }
}

function ioredisTo(to: Address, isPlain: boolean): Redis | Cluster {
  const options = isPlain ? {} : weir.recommendedRedisOptions
  if ('port' in to) return new Redis(to.port, HOST, options)
  if ('sentinels' in to) {
    const sentinels = to.sentinels.map((port) => ({ host: HOST, port }))
    return new Redis({ sentinels, name: to.name, ...options })
  }
  const nodes = to.cluster.map((port) => ({ host: HOST, port }))
  return new Cluster(nodes, isPlain ? {} : weir.recommendedClusterOptions)
}

function ofNodeRedis(to: Address, isPlain: boolean): UserClient {
  const client = nodeRedisTo(to, isPlain)
  const given = nodeRedis.fromNodeRedis(client)
  const connected = client.connect().catch(() => {})
  const single = client as ReturnType<typeof redis.createClient>
  return {
    given,
    events: client,
    ready: async () => {
      await connected
    },
    incr: (key) => single.incr(key),
    close: () => {
      if (client.isOpen) client.destroy()
    },
    failFirst: (command) => failFirst(client, 'sendCommand', command),
  }
}

type AnyNodeRedis = Parameters<typeof nodeRedis.fromNodeRedis>[0] &
  EventEmitter & { connect(): Promise<unknown>; destroy(): unknown }

function nodeRedisTo(to: Address, isPlain: boolean): AnyNodeRedis {
  const options = isPlain ? {} : nodeRedis.recommendedNodeRedisOptions
  if ('port' in to) return redis.createClient({ ...options, url: `redis://${HOST}:${to.port}` })
  if ('sentinels' in to) {
    const sentinelRootNodes = to.sentinels.map((port) => ({ host: HOST, port }))
    return redis.createSentinel({ name: to.name, sentinelRootNodes, nodeClientOptions: options })
  }
  const rootNodes = to.cluster.map((port) => ({ url: `redis://${HOST}:${port}` }))
  return redis.createCluster({
    ...(isPlain ? {} : nodeRedis.recommendedNodeRedisClusterOptions),
    rootNodes,
  })
}

function failFirst(client: object, method: string, command: string): void {
  type Call = (...args: unknown[]) => Promise<unknown>
  const through = (Reflect.get(client, method) as Call).bind(client)
  let failed = false
  const wrapped: Call = (...args) => {
    // The name of the command is an argument, or the first of a list of them.
    if (failed || args.flat()[0] !== command) return through(...args)
    failed = true
    return Promise.reject(new Error('Connection is closed.'))
  }
  Object.assign(client, { [method]: wrapped })
}
