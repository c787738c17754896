// What a Redis client must be, and what it should be: checked once, when it is handed in.

import { quote, rangeError, typeError } from '../../base/errors.js'
import { warnOnce } from '../../base/warnings.js'
import type { RedisLike } from './client.js'
import { pipelines } from './send.js'

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export function checkClient(client: RedisLike): void {
  if (typeof client?.callBuffer !== 'function') {
    throw typeError(
      'WEIR_INVALID_OPTION',
      `client is ${quote(client)}; give an ioredis client, Redis or Cluster`,
    )
  }
  const options = (client.options ?? {}) as ClientOptions
  const { keyPrefix } = { ...options.redisOptions, ...options }
  if (typeof keyPrefix === 'string' && /[{}]/.test(keyPrefix)) {
    const why = 'it must not have braces, which move all keys to one slot'
    throw rangeError('WEIR_INVALID_OPTION', `the client's keyPrefix is ${quote(keyPrefix)}; ${why}`)
  }
  if (pipelines(client) && typeof client.createBuiltinCommand !== 'function') {
    const why = 'only ioredis can send a command past it; leave it out'
    throw rangeError('WEIR_INVALID_OPTION', `the client's enableAutoPipelining is true; ${why}`)
  }
  for (const [option, forbidden, right] of OF_A_REPLICA) {
    // A Cluster sends to masters what may write, whatever the options of its nodes say.
    if (client.isCluster === true || options[option] !== forbidden) continue
    const why = 'a replica cannot count, and its copy lags'
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `the client's ${option} is ${quote(forbidden)}; ${why}: ${right}, or give a client of its own`,
    )
  }
  // Other clients than ioredis have other options.
  if (client.options === undefined || client.status === undefined) return
  for (const [option, isSafe, why] of client.isCluster === true ? OF_A_CLUSTER : OF_A_CLIENT) {
    if (isSafe(options)) continue
    const remedy = `see recommended${client.isCluster === true ? 'Cluster' : 'Redis'}Options`
    warnOnce(
      'WEIR_UNSAFE_REDIS_OPTION',
      option,
      `the Redis client's ${option} is unsafe: ${why}; ${remedy}`,
    )
  }
}

/** What makes ioredis read from a replica, which would judge by old counts; and what is right. */
const OF_A_REPLICA = [
  ['readOnly', true, 'leave readOnly out'],
  ['role', 'slave', "leave role out, or give 'master'"],
] as const

interface ClientOptions {
  readonly keyPrefix?: unknown
  readonly readOnly?: unknown
  /** Of the server that Sentinels are asked for. */
  readonly role?: unknown
  readonly enableOfflineQueue?: unknown
  readonly maxRetriesPerRequest?: unknown
  readonly autoResendUnfulfilledCommands?: unknown
  readonly connectTimeout?: unknown
  readonly socketTimeout?: unknown
  readonly retryStrategy?: unknown
  readonly reconnectOnError?: unknown
  /** Of a Cluster. */
  readonly clusterRetryStrategy?: unknown
  readonly clusterNodeRetryStrategy?: unknown
  /** Of a Cluster: the options of its nodes. */
  readonly redisOptions?: ClientOptions
}

type Expected = readonly [option: string, isSafe: (options: ClientOptions) => boolean, why: string]

/**
 * A host that swallows packets is tried for no longer. Most need well below a second, also with TLS
 * and far away.
 */
const LONGEST_CONNECT_MS = 5_000

const enableOfflineQueue: Expected = [
  'enableOfflineQueue',
  (options) => options.enableOfflineQueue === false,
  'what is queued while Redis is away is counted when it returns, long after it was decided otherwise',
]

/** Where a lost connection is made again, which a Cluster's nodes leave to the Cluster. */
const OF_A_RECONNECT: readonly Expected[] = [
  [
    'maxRetriesPerRequest',
    ({ maxRetriesPerRequest }) => maxRetriesPerRequest === 0,
    'calls that are under way when a connection breaks do not fail, but wait for their deadline',
  ],
  [
    'autoResendUnfulfilledCommands',
    ({ autoResendUnfulfilledCommands }) => autoResendUnfulfilledCommands === false,
    'a call that is sent again after a reconnect may be counted twice',
  ],
]

const OF_A_CONNECTION: readonly Expected[] = [
  [
    'connectTimeout',
    ({ connectTimeout }) => isMs(connectTimeout) && connectTimeout <= LONGEST_CONNECT_MS,
    'a host that swallows packets is tried for many seconds before its successor is asked for',
  ],
  [
    'socketTimeout',
    ({ socketTimeout }) => isMs(socketTimeout),
    'a connection to a host that swallows packets is kept for many minutes',
  ],
]

// How long a retryStrategy waits is not looked at: ioredis's own makes Redis come into use again
// some seconds late at most.
const OF_A_CLIENT: readonly Expected[] = [
  enableOfflineQueue,
  ...OF_A_RECONNECT,
  ...OF_A_CONNECTION,
  [
    'retryStrategy',
    ({ retryStrategy }) => typeof retryStrategy === 'function',
    'a connection that was lost is never made again',
  ],
  [
    'reconnectOnError',
    ({ reconnectOnError }) => typeof reconnectOnError === 'function',
    'a primary that became a replica refuses every write (READONLY) for as long as its connection lasts',
  ],
]

// A node that became a replica refers to its successor (MOVED), so reconnectOnError is not needed.
const OF_A_CLUSTER: readonly Expected[] = [
  enableOfflineQueue,
  ...OF_A_RECONNECT.map(([option, isSafe, why]): Expected => {
    const isSafeThere = ({
      clusterNodeRetryStrategy,
      redisOptions = {},
    }: ClientOptions): boolean => {
      return typeof clusterNodeRetryStrategy !== 'function' || isSafe(redisOptions)
    }
    return [option, isSafeThere, why]
  }),
  ...OF_A_CONNECTION.map(([option, isSafe, why]): Expected => {
    return [option, ({ redisOptions = {} }) => isSafe(redisOptions), why]
  }),
  [
    'clusterRetryStrategy',
    ({ clusterRetryStrategy }) => typeof clusterRetryStrategy === 'function',
    'a Cluster that was lost is never connected to again',
  ],
]

function isMs(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}
