// Clients that cannot send commands are refused when they are passed.

import { Cluster, Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { recommendedRedisOptions, redisStore } from '../../src/index.js'
import { workerRedis } from './servers.js'

const { port } = workerRedis()

function connected(options: object = {}): Redis {
  const client = new Redis(port, { ...recommendedRedisOptions, lazyConnect: true, ...options })
  onTestFinished(() => client.disconnect())
  return client
}

const refused = (client: unknown, why: RegExp): void => {
  expect(() => redisStore(client as never)).toThrow(
    expect.objectContaining({
      code: 'WEIR_INVALID_OPTION',
      message: expect.stringMatching(why),
    }),
  )
}

test('a client that is closed', () => {
  const single = new Redis(port, { ...recommendedRedisOptions, lazyConnect: true })
  const cluster = new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true })
  for (const client of [single, cluster]) {
    client.disconnect()
    refused(client, /^the client is closed; give one that is not/)
  }
})

test('a client that subscribes by RESP2', async () => {
  const client = connected({ protocol: 2 })
  await client.connect()
  await client.subscribe('news')
  refused(client, /^the client subscribes, and can send nothing else; give Weir a separate client/)
})

test('a client that monitors', async () => {
  const monitoring = await connected().monitor()
  onTestFinished(() => monitoring.disconnect())
  refused(monitoring, /^the client monitors, and can send nothing else/)
})

test('a pipeline or a transaction', () => {
  const client = connected()
  for (const pipeline of [client.pipeline(), client.multi()])
    refused(pipeline, /^the client is a pipeline or a transaction of one; give the client itself/)
})
