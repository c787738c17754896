// @ts-check
// Plans and customers whose limits change while the servers run: start as many as you like on one
// Redis.
//
//   PORT=3000        where to listen; 0 is any
//   REDIS_URL=...    default redis://localhost:6379

import {
  livePolicies,
  policyFrom,
  rateLimit,
  recommendedRedisOptions,
  redisStore,
  slidingWindow,
} from '@weir/express'
import express from 'express'
import { Redis } from 'ioredis'

const redis = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379', recommendedRedisOptions)
redis.on('error', () => {})
const store = redisStore(redis)

// As they are until somebody sets them. Of one name and one window, so a customer who changes plans
// keeps what was used.
const limits = livePolicies(store, {
  name: 'plans',
  defaults: {
    free: slidingWindow({ name: 'calls', limit: 5, window: '1m' }),
    pro: slidingWindow({ name: 'calls', limit: 20, window: '1m' }),
  },
  onChange: ({ name, key, version }) => console.log(`version ${version}: ${name} ${key ?? ''}`),
  onFailure: (error) => console.log(error.message),
})
await limits.refresh()

const app = express().disable('x-powered-by')

// Where operators change them. In a real service: behind their log-in, and not on this port.
app.put('/plans/:plan', express.json(), async (req, res) => {
  const plan = req.params.plan === 'pro' ? 'pro' : 'free'
  const { version, activeAtMs, isNewCounter } = await limits.set(plan, policyFrom(req.body))
  res.json({ version, activeAt: new Date(activeAtMs), isNewCounter })
})
app.put('/customers/:customer', express.json(), async (req, res) => {
  const { version } = await limits.override(req.params.customer, policyFrom(req.body))
  res.json({ version })
})

/** @param {import('express').Request} req */
const customerOf = (req) => req.get('x-customer') ?? 'nobody'
/** @param {import('express').Request} req */
const planOf = (req) => (customerOf(req).startsWith('pro-') ? 'pro' : 'free')

app.get(
  '/',
  rateLimit({
    store,
    name: 'api',
    key: customerOf,
    policy: (req) => limits.for(planOf(req), customerOf(req)),
  }),
  (req, res) => {
    res.json({ limit: req.rateLimit?.limit, left: req.rateLimit?.remaining })
  },
)

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url} (Ctrl-C ends it). Try:

  curl ${url} -H 'X-Customer: ann'

In this folder (in a project that has installed @weir/core it is npx weir):

  weir='node ../../packages/core/dist/cli.cjs'
  $weir limits set free '{"algorithm":"sliding-window","name":"calls","limit":50,"window":"1m"}' --name plans
  $weir limits override ann '{"algorithm":"sliding-window","name":"calls","limit":9,"window":"1m"}' --name plans
  $weir limits history --name plans`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close()
    server.closeAllConnections()
    limits.close()
    await store.close()
    redis.disconnect()
  })
}
