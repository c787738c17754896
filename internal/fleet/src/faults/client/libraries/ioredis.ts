// Clients of ioredis.

import { recommendedClusterOptions, recommendedRedisOptions } from '@weir/core'
import * as ioredis from 'ioredis'
import type { Address } from '../protocol.js'
import { HOST, type Open, type UserClient } from '../user-client.js'

const PATIENCE = { connectTimeout: 5_000 }

const OPTIONS = {
  recommended: recommendedRedisOptions,
  patient: { ...recommendedRedisOptions, ...PATIENCE },
  plain: {},
}
const CLUSTER_OPTIONS = {
  recommended: recommendedClusterOptions,
  patient: {
    ...recommendedClusterOptions,
    // A connection that is not open yet is asked again every 10 ms.
    maxRedirections: 100,
    redisOptions: OPTIONS.patient,
  },
  plain: {},
}

export const open: Open = openerOf(ioredis)

/** @param library ioredis, or a fork of it */
export function openerOf(library: typeof ioredis): Open {
  return (to, how): UserClient => {
    const client = clientTo(library, to, how)
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
}

function clientTo(
  { Cluster, Redis }: typeof ioredis,
  to: Address,
  how: keyof typeof OPTIONS,
): ioredis.Redis | ioredis.Cluster {
  const options = OPTIONS[how]
  if ('port' in to) return new Redis(to.port, HOST, options)
  if ('sentinels' in to) {
    const sentinels = to.sentinels.map((port) => ({ host: HOST, port }))
    return new Redis({ sentinels, name: to.name, ...options })
  }
  const nodes = to.cluster.map((port) => ({ host: HOST, port }))
  return new Cluster(nodes, CLUSTER_OPTIONS[how])
}
