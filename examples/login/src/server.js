// @ts-check
// A login that withstands guessing from many addresses. A known device has its own lock-out. All
// other clients share limits by address and by account. Beyond those limits they must solve a
// challenge, and beyond that they must open a link sent by mail. docs/lock-outs.md explains
// why.
//
//   PORT=3000           the port to listen on; 0 picks a free one
//   PROXIES             the proxies in front of this server, such as loopback,10.0.0.0/8
//   REDIS_URL           shares the limits with other processes; without it, they are in memory
//   SECRETS             see signed.js; must be the same in all processes
//   CHALLENGE_BITS=16   see challenge.js

import { memoryStore, recommendedRedisOptions, redisStore } from '@weir/express'
import { Redis } from 'ioredis'
import { addAccount, hasAccount, isRight } from './accounts.js'
import { loginApp } from './app.js'

const { PORT = '3000', PROXIES = '', REDIS_URL } = process.env
const client = REDIS_URL === undefined ? undefined : new Redis(REDIS_URL, recommendedRedisOptions)
// Not the message of a system error, which has the address: an address may have a password.
client?.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
  console.error('redis:', code ?? message),
)
const store = client === undefined ? memoryStore() : redisStore(client)

await addAccount('ann@example.org', 'correct horse')

const app = loginApp({
  ...{ store, isRight },
  proxies: PROXIES.split(',').filter((proxy) => proxy !== ''),
  mail(account, path) {
    if (hasAccount(account)) console.log(`Mail to ${account}: ${url()}${path}`)
  },
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on ${url()} (Ctrl-C ends it). Try this more than ten times:

  curl -i ${url()}/login -H 'Content-Type: application/json' -d '{"email": "ann@example.org", "password": "guess"}'

The password is "correct horse". When you are asked for a challenge, this prints how to answer it:

  node src/solve.js CHALLENGE`)
})

function url() {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${port}`
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close()
    server.closeAllConnections()
    await store.close?.()
    client?.disconnect()
  })
}
