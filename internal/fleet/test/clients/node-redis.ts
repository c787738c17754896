// Clients of node-redis, in both supported versions, ready for use.

import {
  recommendedNodeRedisClusterOptions,
  recommendedNodeRedisOptions,
} from '@weir/core/node-redis'
import * as redis6 from 'redis'
import * as redis5 from 'redis5'

/** Version 5 has the same functions, with its own types. */
export const VERSIONS: readonly (readonly [name: string, library: typeof redis6])[] = [
  ['node-redis 6', redis6],
  ['node-redis 5', redis5 as unknown as typeof redis6],
]

const PATIENT = {
  ...recommendedNodeRedisOptions,
  socket: { ...recommendedNodeRedisOptions.socket, connectTimeout: 5_000 },
}

/** For a busy machine. */
export function nodeRedisClient(
  library: typeof redis6,
  port: number,
  options: object = {},
): ReturnType<typeof redis6.createClient> {
  const url = `redis://127.0.0.1:${port}`
  return library.createClient({ ...PATIENT, url, ...options })
}

export function nodeRedisCluster(
  library: typeof redis6,
  ports: readonly number[],
): ReturnType<typeof redis6.createCluster> {
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  return library.createCluster({
    ...recommendedNodeRedisClusterOptions,
    rootNodes,
    defaults: PATIENT,
  })
}
