// The warnings about a client: options of real ioredis clients that never connect.

import { Cluster, Redis } from 'ioredis'
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import { recommendedClusterOptions, recommendedRedisOptions } from '../../src/index.js'

const NODES = [{ host: '127.0.0.1', port: 1 }]
/** The unsafe defaults of ioredis, in the order of the warning. */
const DEFAULTS = [
  'enableOfflineQueue',
  'maxRetriesPerRequest',
  'autoResendUnfulfilledCommands',
  'connectTimeout',
  'reconnectOnError',
]
const CLUSTER_DEFAULTS = ['enableOfflineQueue', 'connectTimeout']
const again = () => 100

let warn: MockInstance
beforeEach(() => {
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  // A module keeps what was warned of.
  vi.resetModules()
})
afterEach(() => warn.mockRestore())

const redis = (options: object) => new Redis({ lazyConnect: true, ...options })
const cluster = (options: object) => new Cluster(NODES, { lazyConnect: true, ...options })

/** The options in the warning when these clients are passed, one after another: there is at most
 *  one warning. */
async function warnedOf(...clients: object[]): Promise<string[]> {
  const { checkedClient } = await import('../../src/redis/clients/ioredis/check.js')
  for (const client of clients) checkedClient(client as never)
  if (warn.mock.calls.length === 0) return []
  expect(warn).toHaveBeenCalledOnce()
  const [text, { code }] = warn.mock.calls[0] as [string, { code: string }]
  expect(code).toBe('WEIR_UNSAFE_REDIS_OPTION')
  return /^the Redis client has unsafe options: ([\w, ]+); /.exec(text)?.[1]?.split(', ') ?? [text]
}

test('the tested major is the right one', () => {
  expect(redis({}).options.keepAlive).toBe(process.env.WEIR_IOREDIS ? 0 : 30_000)
})

test('a client with the recommended options causes no warning', async () => {
  expect(
    await warnedOf(
      redis(recommendedRedisOptions),
      new Redis('redis://127.0.0.1:1', { ...recommendedRedisOptions, lazyConnect: true }),
      redis({ ...recommendedRedisOptions, sentinels: NODES, name: 'm' }),
      cluster(recommendedClusterOptions),
    ),
  ).toEqual([])
})

test.each<[string, object, string[], string]>([
  ['client', redis({}), DEFAULTS, 'recommendedRedisOptions'],
  ['Cluster', cluster({}), CLUSTER_DEFAULTS, 'recommendedClusterOptions'],
])('a plain %s causes one warning, with all unsafe defaults', async (_, client, options, told) => {
  expect(await warnedOf(client, client)).toEqual(options)
  expect(warn.mock.calls[0]?.[0]).toContain(`give it ${told}`)
})

test.each<[object, string[]]>([
  [{ enableOfflineQueue: true }, ['enableOfflineQueue']],
  [{ maxRetriesPerRequest: null }, ['maxRetriesPerRequest']],
  [{ autoResendUnfulfilledCommands: true }, ['autoResendUnfulfilledCommands']],
  [{ connectTimeout: 5_000 }, []],
  [{ connectTimeout: 5_001 }, ['connectTimeout']],
  [{ retryStrategy: again }, []],
  [{ retryStrategy: null }, ['retryStrategy']],
  [{ reconnectOnError: () => 1 }, []],
  [{ reconnectOnError: null }, ['reconnectOnError']],
])('a client that differs from the recommended one in %j', async (options, expected) => {
  expect(await warnedOf(redis({ ...recommendedRedisOptions, ...options }))).toEqual(expected)
})

test.each<[object, object, string[]]>([
  [{ enableOfflineQueue: true }, {}, ['enableOfflineQueue']],
  [{ clusterRetryStrategy: null }, {}, ['clusterRetryStrategy']],
  [{}, { connectTimeout: 5_001 }, ['connectTimeout']],
  // A node does not reconnect, and refers to its successor.
  [
    {},
    { maxRetriesPerRequest: 20, autoResendUnfulfilledCommands: true, reconnectOnError: null },
    [],
  ],
  [{ clusterNodeRetryStrategy: again }, {}, []],
  [{ clusterNodeRetryStrategy: again }, { maxRetriesPerRequest: 20 }, ['maxRetriesPerRequest']],
  [
    { clusterNodeRetryStrategy: again },
    { autoResendUnfulfilledCommands: true },
    ['autoResendUnfulfilledCommands'],
  ],
])(
  'a Cluster that differs from the recommended one in %j, and its nodes in %j',
  async (options, ofNodes, expected) => {
    const redisOptions = { ...recommendedClusterOptions.redisOptions, ...ofNodes }
    expect(
      await warnedOf(cluster({ ...recommendedClusterOptions, ...options, redisOptions })),
    ).toEqual(expected)
  },
)

test('a client other than ioredis has other options', async () => {
  const callBuffer = async () => {}
  expect(
    await warnedOf({ callBuffer }, { callBuffer, options: {} }, { callBuffer, status: 'ready' }),
  ).toEqual([])
})

const f = () => {}
test.each<[string, object, RegExp]>([
  ['ioredis-mock', { customCommand: f, eval: f, options: {} }, /^client is .*memoryStore\(\)/],
  ['a batch of GLIDE', { customCommand: f, commands: [] }, /^client is /],
  [
    'a client of GLIDE',
    { customCommand: f, close: f, updateConnectionPassword: f },
    /fromGlide\(cl/,
  ],
  [
    'a client of node-redis',
    {
      sendCommand: f,
      withTypeMapping: f,
      isOpen: true,
      isReady: true,
      connect: f,
      destroy: f,
      on: f,
    },
    /fromNodeRedis\(client\)/,
  ],
  ['an old client of node-redis', { sendCommand: f, isOpen: true, on: f }, /^client is /],
])('%s is told to use only a function that accepts it', async (_, client, told) => {
  const { checkedClient } = await import('../../src/redis/clients/ioredis/check.js')
  const { fromGlide } = await import('../../src/redis/clients/glide.js')
  const { fromNodeRedis } = await import('../../src/redis/clients/node-redis.js')
  let message = ''
  try {
    checkedClient(client)
  } catch (error) {
    message = (error as Error).message
  }
  expect(message).toMatch(told)
  for (const from of [fromGlide, fromNodeRedis])
    if (message.includes(`${from.name}(client)`)) expect(() => from(client as never)).not.toThrow()
})
