// @ts-check
// Limits of plans and customers that change while the servers run. Start as many servers as you
// like on one Redis.
//
//   PORT=3000       the port to listen on; 0 picks a free one
//   REDIS_URL=...   default redis://localhost:6379

import { livePolicies } from '@weir/core/live'
import {
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

// The limits until somebody sets others. Both plans share a policy name and a window, so customers
// who change plans keep what they have used.
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

// Operators change the limits here. In a real service, put this behind their login, on another
// port.
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
