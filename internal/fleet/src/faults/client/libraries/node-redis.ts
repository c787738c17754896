// Clients of node-redis.

import type { EventEmitter } from 'node:events'
import * as nodeRedis from '@weir/core/node-redis'
import * as redis from 'redis'
import type { Address } from '../protocol.js'
import { HOST, type Open } from '../user-client.js'

const RECOMMENDED = nodeRedis.recommendedNodeRedisOptions
const OPTIONS = {
  recommended: RECOMMENDED,
  patient: { ...RECOMMENDED, socket: { ...RECOMMENDED.socket, connectTimeout: 5_000 } },
  plain: {},
}

export const open: Open = (to, how) => {
  const client = clientTo(to, how)
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
  EventEmitter & { connect(): Promise<unknown>; destroy(): unknown; readonly isOpen?: boolean }

function clientTo(to: Address, how: keyof typeof OPTIONS): AnyNodeRedis {
  const options = OPTIONS[how]
  if ('port' in to) return redis.createClient({ ...options, url: `redis://${HOST}:${to.port}` })
  if ('sentinels' in to) {
    const sentinelRootNodes = to.sentinels.map((port) => ({ host: HOST, port }))
    return redis.createSentinel({ name: to.name, sentinelRootNodes, nodeClientOptions: options })
  }
  const rootNodes = to.cluster.map((port) => ({ url: `redis://${HOST}:${port}` }))
  return redis.createCluster({
    ...(how === 'plain' ? {} : nodeRedis.recommendedNodeRedisClusterOptions),
    ...(how === 'patient' && { defaults: options }),
    rootNodes,
  })
}
