// What a Redis client must have, and what it had better have: checked once, when it is handed in.

import { quote, rangeError, typeError } from '../errors.js'
import { warnOnce } from '../warnings.js'
import type { RedisLike } from './redis-call.js'

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
  // Other clients than ioredis have other options.
  if (client.options === undefined || client.status === undefined) return
  for (const [option, isSafe, why] of EXPECTED) {
    if (isSafe(options)) continue
    const remedy = 'see recommendedRedisOptions'
    warnOnce('WEIR_UNSAFE_REDIS_OPTION', option, `the Redis client's ${option} is unsafe: ${why}; ${remedy}`)
  }
}

interface ClientOptions {
  readonly keyPrefix?: unknown
  readonly enableOfflineQueue?: boolean
  readonly autoResendUnfulfilledCommands?: boolean
  readonly socketTimeout?: number
  /** Of a Cluster: the options of its nodes. */
  readonly redisOptions?: ClientOptions
}

const EXPECTED: readonly (readonly [string, (options: ClientOptions) => boolean, string])[] = [
  [
    'enableOfflineQueue',
    ({ enableOfflineQueue }) => enableOfflineQueue === false,
    'what is queued while Redis is away is counted when it returns, long after it was decided otherwise',
  ],
  [
    'autoResendUnfulfilledCommands',
    ({ autoResendUnfulfilledCommands, redisOptions }) => {
      return (autoResendUnfulfilledCommands ?? redisOptions?.autoResendUnfulfilledCommands) === false
    },
    'a call that is sent again after a reconnect may be counted twice',
  ],
  [
    'socketTimeout',
    ({ socketTimeout, redisOptions }) => (socketTimeout ?? redisOptions?.socketTimeout ?? 0) > 0,
    'a connection to a host that swallows packets is kept for many minutes',
  ],
]
