// @ts-check
// A gateway in front of a model API. One decision limits requests a minute, tokens a minute, money
// a day and open streams. A request is charged by an estimate, and settled to what the response
// used.
//
//   PORT=3000   the port to listen on; 0 picks a free one
//   REDIS_URL   shares the limits with other processes; without it, they are in memory

import { once } from 'node:events'
import { createServer } from 'node:http'
import { memoryStore, recommendedRedisOptions, redisStore } from '@weir/core'
import { Redis } from 'ioredis'
import { gateway } from './gateway.js'
import { limiterOn } from './limits.js'
import { fakeModelApi, modelAt } from './model.js'

/** In a real service: a database. */
const customers = new Map([
  ['key-of-ann', 'ann'],
  ['key-of-bob', 'bob'],
])

const { PORT = '3000', REDIS_URL } = process.env
const client = REDIS_URL === undefined ? undefined : new Redis(REDIS_URL, recommendedRedisOptions)
// Not the message of a system error, which has the address: an address may have a password.
client?.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
  console.error('redis:', code ?? message),
)
const store = client === undefined ? memoryStore() : redisStore(client)

/** @param {import('node:http').Server} server @param {number} port */
async function listening(server, port) {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${address.port}`
}

const modelApi = fakeModelApi()
const server = createServer(
  gateway({
    limiter: limiterOn(store, { requests: 60, tokens: 10_000, money: 2_000_000, streams: 20 }),
    model: modelAt(await listening(modelApi, 0)),
    customerOf: (apiKey) => customers.get(apiKey),
  }),
)
const url = await listening(server, Number(PORT))
console.log(`Listening on ${url} (Ctrl-C ends it). Try this, and see in the headers what is left:

  curl -iN ${url} -H 'Authorization: Bearer key-of-ann' -d '{"prompt": "to be or not", "max_tokens": 40}'

60 requests and 10,000 tokens a minute, 2 dollars a day, 20 streams at once. The prompts "fail",
"crash" and "hang" show failures of a model API; Ctrl-C in curl shows a client that leaves.`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    for (const each of [server, modelApi]) {
      each.close()
      each.closeAllConnections()
    }
    await store.close?.()
    client?.disconnect()
  })
}
