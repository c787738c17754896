// What a Redis client must be, and what it should be: checked once, when it is handed in.

import { quote, rangeError } from '../../../base/errors.js'
import { warnOnce } from '../../../base/warnings.js'
import { noClient } from '../../client.js'
import type { RedisLike } from './redis-like.js'
import { pipelines } from './sending.js'

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export function checkedClient(given: unknown): RedisLike {
  const client = given as RedisLike
  if (typeof client?.callBuffer !== 'function') throw noClient(client, rightFor(client))
  checkState(client)
  const isCluster = client.isCluster === true
  const options = optionsOf(client.options)
  const { keyPrefix } = { ...optionsOf(options.redisOptions), ...options }
  if (typeof keyPrefix === 'string' && /[{}]/.test(keyPrefix)) {
    refuse('keyPrefix', keyPrefix, 'it must not have braces, which move all keys to one slot')
  }
  if (pipelines(client) && typeof client.createBuiltinCommand !== 'function') {
    refuse('enableAutoPipelining', true, 'only ioredis can send a command past it; leave it out')
  }
  for (const [option, forbidden, right] of OF_A_REPLICA) {
    // A Cluster sends writing commands to masters, whatever the options of its nodes say.
    if (isCluster || options[option] !== forbidden) continue
    const why = `a replica cannot count, and its copy lags: ${right}, or give Weir a separate client`
    refuse(option, forbidden, why)
  }
  // Other clients than ioredis have other options.
  if (client.options !== undefined && client.status !== undefined) warnOf(options, isCluster)
  return client
}

/** Why a client in one of these states is refused: it can send no commands. */
const UNFIT: Readonly<Record<string, string>> = {
  pipeline: 'is a pipeline or a transaction of one; give the client itself',
  end: 'is closed; give one that is not',
  subscriber: 'subscribes, and can send nothing else; give Weir a separate client',
  monitor: 'monitors, and can send nothing else; give Weir a separate client',
}

interface State {
  readonly status?: string
  readonly mode?: string
  readonly isPipeline?: boolean
}

function checkState(client: RedisLike): void {
  const { status, mode, isPipeline } = client as State
  const state = isPipeline ? 'pipeline' : status === 'end' ? status : mode
  const why = state && UNFIT[state]
  if (why !== undefined) throw rangeError('WEIR_INVALID_OPTION', `the client ${why}`)
}

function warnOf(options: Options, isCluster: boolean): void {
  const unsafe = isCluster ? unsafeOfCluster(options) : unsafeOf(options, OF_A_CLIENT)
  if (unsafe.length === 0) return
  const what = `the Redis client has unsafe options: ${unsafe.join(', ')}`
  const remedy = `give it recommended${isCluster ? 'Cluster' : 'Redis'}Options`
  warnOnce('WEIR_UNSAFE_REDIS_OPTION', unsafe.join(), `${what}; ${remedy}`)
}

/** What to write instead: a function of another entry only for a client that it accepts. */
function rightFor(client: unknown): string {
  const { sendCommand, withTypeMapping, customCommand, updateConnectionPassword } = (client ??
    {}) as Options
  if (isFunction(sendCommand) && isFunction(withTypeMapping))
    return "fromNodeRedis(client), of '@weir/core/node-redis', for a client of node-redis"
  // Batches of GLIDE, and ioredis-mock, have the first alone.
  if (isFunction(customCommand) && isFunction(updateConnectionPassword))
    return "fromGlide(client), of '@weir/core/glide', for a client of Valkey GLIDE"
  const others = "fromNodeRedis, of '@weir/core/node-redis'; fromGlide, of '@weir/core/glide'"
  return `a client of ioredis or iovalkey, Redis or Cluster; ${others}; { callText }; or, for tests, use memoryStore()`
}

function refuse(option: string, value: unknown, why: string): never {
  throw rangeError('WEIR_INVALID_OPTION', `the client's ${option} is ${quote(value)}; ${why}`)
}

/** What makes ioredis read from a replica, which would judge by old counts; and what is right. */
const OF_A_REPLICA = [
  ['readOnly', true, 'leave readOnly out'],
  ['role', 'slave', "leave role out, or give 'master'"],
] as const

type Options = Readonly<Record<string, unknown>>

function optionsOf(options: unknown): Options {
  return (options ?? {}) as Options
}

/**
 * A host that drops packets is given up after this time. Most connections take well below a second,
 * even with TLS and over a long distance.
 */
const LONGEST_CONNECT_MS = 5_000

const isFunction = (value: unknown): boolean => typeof value === 'function'
const isMs = (value: unknown): boolean => typeof value === 'number' && value > 0

// How long a retryStrategy waits is not checked: with ioredis's own, Redis is used again at most
// some seconds late.
const IS_SAFE = {
  enableOfflineQueue: (value: unknown) => value === false,
  maxRetriesPerRequest: (value: unknown) => value === 0,
  autoResendUnfulfilledCommands: (value: unknown) => value === false,
  connectTimeout: (value: unknown) => isMs(value) && (value as number) <= LONGEST_CONNECT_MS,
  retryStrategy: isFunction,
  reconnectOnError: isFunction,
  clusterRetryStrategy: isFunction,
}
type Option = keyof typeof IS_SAFE

/** For connections that reconnect by themselves; a Cluster's nodes leave that to the Cluster. */
const OF_A_RECONNECT: readonly Option[] = ['maxRetriesPerRequest', 'autoResendUnfulfilledCommands']
const OF_A_CLIENT: readonly Option[] = [
  'enableOfflineQueue',
  ...OF_A_RECONNECT,
  'connectTimeout',
  'retryStrategy',
  'reconnectOnError',
]

function unsafeOf(options: Options, some: readonly Option[]): Option[] {
  return some.filter((option) => !IS_SAFE[option](options[option]))
}

/** A Cluster's node that became a replica redirects to its successor (MOVED), so reconnectOnError
 *  is not needed. */
function unsafeOfCluster(options: Options): Option[] {
  const ofNodes = optionsOf(options.redisOptions)
  const reconnects = isFunction(options.clusterNodeRetryStrategy) ? OF_A_RECONNECT : []
  return [
    ...unsafeOf(options, ['enableOfflineQueue', 'clusterRetryStrategy']),
    ...unsafeOf(ofNodes, [...reconnects, 'connectTimeout']),
  ]
}
