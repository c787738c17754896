// How to set up an ioredis client so that Weir notices a failure of Redis in time, and nothing is
// counted twice.

/** For connections to the nodes of a Cluster, which queues and reconnects by itself. */
const OF_NODES = {
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: 500,
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
} as const

/**
 * Options for `new Redis(url, recommendedRedisOptions)`.
 *
 * - enableOfflineQueue false: what Redis cannot decide now is decided locally, not counted later
 * - maxRetriesPerRequest 0, autoResendUnfulfilledCommands false: a resent call would count twice
 * - connectTimeout 500 (ms): a host that drops packets is given up, so that a Sentinel is asked
 *   again
 * - retryStrategy: reconnects after 50 ms, doubling up to 1 s, with jitter
 * - reconnectOnError: a primary that became a replica (READONLY) is left
 */
export const recommendedRedisOptions: {
  readonly enableOfflineQueue: false
  readonly maxRetriesPerRequest: 0
  readonly autoResendUnfulfilledCommands: false
  readonly connectTimeout: number
  readonly retryStrategy: (times: number) => number
  readonly reconnectOnError: (error: Error) => 1 | false
} = {
  enableOfflineQueue: false,
  retryStrategy: backOffMs,
  ...OF_NODES,
}

/**
 * Options for `new Cluster(nodes, recommendedClusterOptions)`: the same, at both levels of ioredis.
 * Redirections that ioredis retries, four times, wait 10 ms instead of 100.
 */
export const recommendedClusterOptions: {
  readonly enableOfflineQueue: false
  readonly clusterRetryStrategy: (times: number) => number
  readonly slotsRefreshTimeout: number
  readonly retryDelayOnFailover: number
  readonly retryDelayOnClusterDown: number
  readonly retryDelayOnTryAgain: number
  readonly maxRedirections: number
  readonly redisOptions: Omit<
    typeof recommendedRedisOptions,
    'retryStrategy' | 'enableOfflineQueue'
  >
} = {
  enableOfflineQueue: false,
  clusterRetryStrategy: backOffMs,
  slotsRefreshTimeout: 1_000,
  retryDelayOnFailover: 10,
  retryDelayOnClusterDown: 10,
  retryDelayOnTryAgain: 10,
  maxRedirections: 4,
  redisOptions: OF_NODES,
}

function backOffMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), 1_000) * (0.5 + Math.random() / 2)
}
