// Weir's default policy with the client of each library, as docs/redis.md recommends.

import { GlideClient } from '@valkey/valkey-glide'
import { recommendedRedisOptions } from '@weir/core'
import { fromGlide, recommendedGlideOptions } from '@weir/core/glide'
import { fromNodeRedis, recommendedNodeRedisOptions } from '@weir/core/node-redis'
import { Redis as Ioredis5 } from 'ioredis5'
import { Redis as Valkey } from 'iovalkey'
import * as redis6 from 'redis'
import * as redis5 from 'redis5'
import { connected } from './client.js'
import type { RedisSubjectKind } from './subject.js'
import { LARGEST_CALL, limiting, SLIDING } from './weir.js'

type Open = (port: number) => Promise<Parameters<typeof limiting>[0]>

const CLIENTS: Readonly<Record<string, Open>> = {
  'ioredis 6': (port) => connected(port, recommendedRedisOptions),
  'ioredis 5': (port) => ready(new Ioredis5(port, recommendedRedisOptions)),
  'iovalkey 0.4': (port) => ready(new Valkey({ port, ...recommendedRedisOptions })),
  'node-redis 6': (port) => nodeRedis(redis6, port),
  'node-redis 5': (port) => nodeRedis(redis5 as unknown as typeof redis6, port),
  async 'GLIDE 2'(port) {
    const addresses = [{ host: '127.0.0.1', port }]
    const client = await GlideClient.createClient({ addresses, ...recommendedGlideOptions })
    await client.ping()
    return { adapted: fromGlide(client), disconnect: () => client.close() }
  },
  async 'texts, by node-redis 6'(port) {
    const client = redis6.createClient({ ...recommendedNodeRedisOptions, url: urlOf(port) })
    client.on('error', () => {})
    await client.connect()
    return {
      adapted: { callText: (command, args) => client.sendCommand([command, ...args]) },
      disconnect: () => client.destroy(),
    }
  },
}

export const byClient: readonly RedisSubjectKind[] = Object.entries(CLIENTS).map(
  ([name, open]) => ({
    name,
    kind: 'weir',
    largestCall: LARGEST_CALL,
    async open(port, limit) {
      return limiting(await open(port), SLIDING, limit)
    },
  }),
)

async function nodeRedis(library: typeof redis6, port: number): ReturnType<Open> {
  const client = library.createClient({ ...recommendedNodeRedisOptions, url: urlOf(port) })
  await client.on('error', () => {}).connect()
  return { adapted: fromNodeRedis(client), disconnect: () => client.destroy() }
}

function urlOf(port: number): string {
  return `redis://127.0.0.1:${port}`
}

async function ready<Client extends Ioredis5 | Valkey>(client: Client): Promise<Client> {
  client.on('error', () => {})
  await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}
