// The client of a user, from any supported library, with the recommended options or with none.

import { EventEmitter } from 'node:events'
import * as weir from '@weir/core'
import { fromGlide, recommendedGlideOptions } from '@weir/core/glide'
import * as nodeRedis from '@weir/core/node-redis'
import * as ioredis from 'ioredis'
import * as redis from 'redis'
import type { Address, Job, Library } from './protocol.js'

export interface UserClient {
  /** What is passed to `redisStore`. */
  readonly given: Parameters<typeof weir.redisStore>[0]
  readonly events: EventEmitter
  /** Resolves when the client is ready. */
  ready(): Promise<void>
  /** Whether a command would reach Redis, as far as the client knows. */
  isReady(): Promise<boolean>
  incr(key: string): Promise<unknown>
  close(): void
}

export async function openClient({
  to,
  client,
  library = 'ioredis',
}: Pick<Job, 'to' | 'client' | 'library'>): Promise<UserClient> {
  return OPEN[library](to, client === 'plain')
}

type Open = (to: Address, isPlain: boolean) => UserClient | Promise<UserClient>

/** Libraries that few rows need are loaded only when used. */
const OPEN: Readonly<Record<Library, Open>> = {
  ioredis: (to, isPlain) => ofIoredis(ioredis, to, isPlain),
  iovalkey: async (to, isPlain) => {
    const iovalkey = await import('iovalkey')
    return ofIoredis(iovalkey as unknown as typeof ioredis, to, isPlain)
  },
  'node-redis': ofNodeRedis,
  glide: ofGlide,
}

const HOST = '127.0.0.1'

function ofIoredis(library: typeof ioredis, to: Address, isPlain: boolean): UserClient {
  const client = ioredisTo(library, to, isPlain)
  return {
    given: client,
    events: client,
    ready: () => {
      if (client.status === 'ready') return Promise.resolve()
      return new Promise((resolve) => client.once('ready', () => resolve()))
    },
    isReady: async () => client.status === 'ready',
    incr: (key) => client.incr(key),
    close: () => client.disconnect(),
  }
}

function ioredisTo(
  { Cluster, Redis }: typeof ioredis,
  to: Address,
  isPlain: boolean,
): ioredis.Redis | ioredis.Cluster {
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
    isReady: async () => single.isReady,
    incr: (key) => single.incr(key),
    close: () => {
      if (client.isOpen) client.destroy()
    },
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

async function ofGlide(to: Address, isPlain: boolean): Promise<UserClient> {
  const client = await glideTo(to, isPlain)
  return {
    given: fromGlide(client),
    // The client has no events.
    events: new EventEmitter(),
    ready: async () => {
      await client.ping()
    },
    isReady: () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    incr: (key) => client.incr(key),
    close: () => client.close(),
  }
}

async function glideTo(to: Address, isPlain: boolean) {
  const { GlideClient, GlideClusterClient, Logger } = await import('@valkey/valkey-glide')
  Logger.setLoggerConfig('off')
  if ('sentinels' in to) throw new Error('GLIDE has no Sentinels')
  // Otherwise the client could not be made before its server is there.
  const options = isPlain ? { lazyConnect: true } : recommendedGlideOptions
  const ports = 'port' in to ? [to.port] : to.cluster
  const addresses = ports.map((port) => ({ host: HOST, port }))
  return 'port' in to
    ? GlideClient.createClient({ ...options, addresses })
    : GlideClusterClient.createClient({ ...options, addresses })
}
