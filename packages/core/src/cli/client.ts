// The client of a command: of a library that the user's project has.

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { typeError } from '../base/errors.js'
import type { AdaptedClient } from '../redis/client.js'
import {
  recommendedClusterOptions,
  recommendedRedisOptions,
} from '../redis/clients/ioredis/recommended.js'
import type { RedisLike } from '../redis/clients/ioredis/redis-like.js'
import {
  recommendedNodeRedisClusterOptions,
  recommendedNodeRedisOptions,
} from '../redis/clients/node-redis/recommended.js'
import { fromNodeRedis, type NodeRedisLike } from '../redis/clients/node-redis.js'

export interface CommandClient {
  readonly client: RedisLike | AdaptedClient
  onError(listener: (error: Error) => void): void
  close(): void
}

interface IoredisClient extends RedisLike {
  on(event: string, listener: (error: Error) => void): unknown
  disconnect(): void
}

interface Ioredis {
  readonly Redis: new (url: string, options: object) => IoredisClient
  readonly Cluster: new (urls: readonly string[], options: object) => IoredisClient
}

interface NodeRedisClient extends NodeRedisLike {
  on(event: string, listener: (error: Error) => void): unknown
  connect(): Promise<unknown>
  destroy(): void
}

interface NodeRedis {
  createClient(options: object): NodeRedisClient
  createCluster(options: object): NodeRedisClient
}

/**
 * Of ioredis or, where there is none, of node-redis.
 * @throws {TypeError} WEIR_INVALID_OPTION: there is neither
 */
export async function clientFor(url: string, isCluster: boolean): Promise<CommandClient> {
  const ioredis = (await moduleOf('ioredis')) as Ioredis | undefined
  if (ioredis !== undefined) return ofIoredis(ioredis, url, isCluster)
  const nodeRedis = (await moduleOf('redis')) as NodeRedis | undefined
  if (nodeRedis !== undefined) return ofNodeRedis(nodeRedis, url, isCluster)
  const what = 'weir needs ioredis or redis, and there is neither in this folder'
  throw typeError('WEIR_INVALID_OPTION', `${what}: npm install ioredis`)
}

/** A package of the user's project. */
export async function moduleOf(name: string): Promise<unknown> {
  let path: string
  try {
    path = createRequire(`${process.cwd()}/package.json`).resolve(name)
  } catch {
    return undefined
  }
  return import(pathToFileURL(path).href)
}

function ofIoredis({ Redis, Cluster }: Ioredis, url: string, isCluster: boolean): CommandClient {
  const client = isCluster
    ? new Cluster([url], recommendedClusterOptions)
    : new Redis(url, { ...recommendedRedisOptions, retryStrategy: () => null })
  return {
    client,
    onError: (listener) => client.on('error', listener),
    close: () => client.disconnect(),
  }
}

function ofNodeRedis(
  { createClient, createCluster }: NodeRedis,
  url: string,
  isCluster: boolean,
): CommandClient {
  const { socket } = recommendedNodeRedisOptions
  const once = { ...recommendedNodeRedisOptions, socket: { ...socket, reconnectStrategy: false } }
  const client = isCluster
    ? createCluster({ ...recommendedNodeRedisClusterOptions, rootNodes: [{ url }] })
    : createClient({ ...once, url })
  // One that is connecting is only destroyed once it has connected.
  const connecting = client.connect().catch(() => {})
  return {
    client: fromNodeRedis(client),
    onError: (listener) => client.on('error', listener),
    close: () => void connecting.then(() => client.isOpen && client.destroy()),
  }
}
