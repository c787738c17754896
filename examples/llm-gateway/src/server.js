// @ts-check
// A gateway in front of a model API, with budgets for runs, sessions, users and companies.
//
//   PORT=3000        the port to listen on; 0 picks a free one
//   REDIS_URL        shares the budgets with other processes; without it, they are in memory
//   DEADLINE_MS=100  after which this process decides without Redis
//   MODEL_URL        the model API; without it, a fake one
//   LIMITS           other limits, such as {"turns": 3}
//   ADMIN_PASSWORD   of the dashboard at /weir; without it, one that is printed

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { memoryStore, recommendedRedisOptions, redisStore } from '@weir/core'
import { dashboard } from '@weir/dashboard'
import { Redis } from 'ioredis'
import { gateway } from './gateway.js'
import { limiterOn } from './limits.js'
import { fakeModelApi, modelAt } from './model.js'

/** In a real service: a database. */
const users = new Map([
  ['key-of-ann', 'acme/ann'],
  ['key-of-bob', 'acme/bob'],
])

const { PORT = '3000', REDIS_URL, MODEL_URL, LIMITS = '{}', DEADLINE_MS = '100' } = process.env
const { ADMIN_PASSWORD = randomBytes(12).toString('base64url') } = process.env
const limits = {
  turns: 20,
  tools: 40,
  tokens: 20_000,
  user: 500_000,
  company: 5_000_000,
  ...JSON.parse(LIMITS),
}
const client = REDIS_URL === undefined ? undefined : new Redis(REDIS_URL, recommendedRedisOptions)
// Not the message of a system error, which has the address: an address may have a password.
client?.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
  console.error('redis:', code ?? message),
)
const deadlineMs = Number(DEADLINE_MS)
const store = client === undefined ? memoryStore() : redisStore(client, { deadlineMs })

/** @param {import('node:http').Server} server @param {number} port */
async function listening(server, port) {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${address.port}`
}

const modelApi = fakeModelApi()
const limiter = limiterOn(store, limits, ({ policy, key, share }) =>
  // In a real service: a mail. Where an estimate comes back, a share may be crossed again.
  console.log(`${key} has used ${100 * share} % of what the ${policy.name} may spend`),
)
const answer = gateway({
  limiter,
  ask: modelAt(MODEL_URL ?? (await listening(modelApi, 0))),
  userOf: (apiKey) => users.get(apiKey),
})

// What is compared has one length, and takes one time.
/** @param {string} text */
const hashOf = (text) => createHash('sha256').update(text).digest()
const admin = hashOf(`Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`)
/** @param {import('node:http').IncomingMessage | Request} request */
const isAdmin = ({ headers }) =>
  'authorization' in headers && timingSafeEqual(hashOf(headers.authorization ?? ''), admin)
const page = dashboard({ limiters: [limiter], path: '/weir', authorize: isAdmin })
const server = createServer((req, res) => {
  if (!/^\/weir(\/|\?|$)/.test(req.url ?? '')) return answer(req, res)
  // So that the browser asks for the password.
  if (!isAdmin(req)) return res.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end()
  page.handler(req, res)
})
const url = await listening(server, Number(PORT))
console.log(`Listening on ${url} (Ctrl-C ends it). Try this, and see in the headers what is left:

  curl -iN ${url} -H 'Authorization: Bearer key-of-ann' -H 'X-Session: chat' -H 'X-Run: 1' \\
    -d '{"prompt": "to be or not", "max_tokens": 40}'
  curl ${url}/usage -H 'Authorization: Bearer key-of-ann' -H 'X-Session: chat' -H 'X-Run: 1'

A run has 20 turns and 40 tool calls, a session 20,000 tokens, a user half a dollar, a company 5
dollars. The prompts "fail", "busy", "crash" and "hang" show failures of a model API; Ctrl-C in curl
shows a client that leaves.`)
if (process.env.ADMIN_PASSWORD === undefined)
  console.log(`\nThe dashboard is ${url}/weir, for the user "admin" with "${ADMIN_PASSWORD}".`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    page.close()
    for (const each of [server, modelApi]) {
      each.close()
      each.closeAllConnections()
    }
    await store.close?.()
    client?.disconnect()
  })
}
