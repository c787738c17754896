// How to set up a node-redis client so that Weir notices a failure of Redis in time.

/**
 * Options for `createClient({ url, ...recommendedNodeRedisOptions })`.
 *
 * - disableOfflineQueue, connectTimeout 500 (ms), reconnectStrategy: as for ioredis
 * - socketTimeout 5,000, pingInterval 2,000 (ms): a new connection on which the server says nothing
 *   is given up, an idle one is kept
 *
 * With options of your own for `socket`, spread both: `socket: { tls: true,
 * ...recommendedNodeRedisOptions.socket }`.
 */
export const recommendedNodeRedisOptions: {
  readonly disableOfflineQueue: true
  readonly pingInterval: number
  readonly socket: {
    readonly connectTimeout: number
    readonly socketTimeout: number
    readonly reconnectStrategy: (retries: number) => number
  }
} = {
  disableOfflineQueue: true,
  pingInterval: 2_000,
  // A new one for each client: `createClient` writes the address of its `url` into it.
  get socket() {
    return { connectTimeout: 500, socketTimeout: 5_000, reconnectStrategy: backOffMs }
  },
}

/**
 * Options for `createCluster({ rootNodes, ...recommendedNodeRedisClusterOptions })`: the same for
 * each node. With version 6, the nodes are asked for again 200 ms after one was lost, instead of 5
 * s.
 */
export const recommendedNodeRedisClusterOptions: {
  readonly defaults: typeof recommendedNodeRedisOptions
  readonly topologyRefreshOnReconnectionAttemptStrategy: number
} = { defaults: recommendedNodeRedisOptions, topologyRefreshOnReconnectionAttemptStrategy: 200 }

function backOffMs(retries: number): number {
  return Math.min(50 * 2 ** Math.min(retries, 10), 1_000) * (0.5 + Math.random() / 2)
}
