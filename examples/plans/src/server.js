// @ts-check
// Limits by the customer's plan: the policy is a function of the request.
//
//   PORT=3000   the port to listen on; 0 picks a free one

import {
  addressKey,
  fixedWindow,
  rateLimit,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '@weir/express'
import express from 'express'

/** @typedef {{ id: string, plan: 'free' | 'pro' | 'partner' }} Customer */

/** In a real service: a database. @type {Map<string, Customer>} */
const customers = new Map([
  ['key-of-ann', { id: 'ann', plan: 'free' }],
  ['key-of-bob', { id: 'bob', plan: 'pro' }],
  ['key-of-cy', { id: 'cy', plan: 'partner' }],
])

// Policies are values, so make them once. The policies of each plan have their own names, so each
// plan has its own count.
const plans = {
  anonymous: slidingWindow({ name: 'anonymous', limit: 2, window: '1m' }),
  free: [
    slidingWindow({ name: 'free', limit: 5, window: '1m' }),
    fixedWindow({ name: 'free-daily', limit: 100, window: '1d' }),
  ],
  pro: tokenBucket({ name: 'pro', capacity: 50, refill: 10, every: '1s' }),
  partner: unlimited({ name: 'partner' }),
}

const clientKey = addressKey()
const app = express().disable('x-powered-by')

// Looks the customer up once, for the limit and for the handlers.
app.use((req, res, next) => {
  res.locals.customer = customers.get(req.get('x-api-key') ?? '')
  next()
})

app.use(
  rateLimit({
    name: 'api',
    policy: (req) => plans[customerOf(req)?.plan ?? 'anonymous'],
    // Not the API key as the client sent it: a client could then make up a new key for each
    // request, and be a new client each time.
    key: (req) => customerOf(req)?.id ?? clientKey(req.ip),
  }),
)

app.get('/', (req, res) => {
  const { policy, remaining } = req.rateLimit ?? {}
  res.json({
    plan: policy?.name,
    left: remaining === Number.POSITIVE_INFINITY ? 'any number' : remaining,
  })
})

/**
 * @param {import('express').Request} req
 * @returns {Customer | undefined}
 */
function customerOf(req) {
  return req.res?.locals.customer
}

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url} (Ctrl-C ends it). Try:

  curl -i ${url}                              no plan: two a minute from one address
  curl -i -H 'X-API-Key: key-of-ann' ${url}   free: five a minute, and a hundred a day
  curl -i -H 'X-API-Key: key-of-bob' ${url}   pro: ten a second, and bursts of fifty
  curl -i -H 'X-API-Key: key-of-cy' ${url}    partner: no limit, and no headers of one`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
