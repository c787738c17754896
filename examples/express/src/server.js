// @ts-check
// An Express server with two limits and a dashboard. It first sends itself a burst of requests and
// prints the responses. A button on its page makes traffic that you can watch on the dashboard.
//
//   PORT=3000                          the port to listen on; if it is taken, the next free one
//   REDIS_URL=redis://localhost:6379   keeps counters in Redis, which other processes can share

import { dashboard } from '@weir/dashboard'
import { fixedWindow, memoryStore, rateLimit, redisStore, tokenBucket } from '@weir/express'
import { prometheus } from '@weir/metrics/prometheus'
import express from 'express'
import { showBurst } from './burst.js'
import { trafficPage } from './page.js'
import { connectRedis, listen, portFrom } from './start.js'
import { newTraffic } from './traffic.js'

const redis = await connectRedis(process.env.REDIS_URL)
const store = redis ? redisStore(redis) : memoryStore()

// Each address may send five requests in any ten seconds. The name keeps the counters when the
// numbers change.
const hello = rateLimit({ store, name: 'hello', limit: 5, window: '10s' })

// Two policies make one decision, and a request costs one unit for each page that it asks for.
const search = rateLimit({
  store,
  name: 'search',
  cost: (req) => Math.min(20, Math.max(1, Number(req.query.pages) || 1)),
  policy: [
    tokenBucket({ name: 'burst', capacity: 20, refill: 2, every: '1s' }),
    fixedWindow({ name: 'daily', limit: 1_000, window: '1d' }),
  ],
})

// For Prometheus: the decisions, and the state of the store.
const metrics = prometheus([hello, search])

// For people: the same figures, live. Anyone with the token may also change limits.
const board = dashboard({ limiters: [hello, search], actions: true })
const traffic = newTraffic({ hello: hello.limiter, search: search.limiter })

const app = express().disable('x-powered-by')
app.get('/metrics', metrics.handler)
app.use('/weir', board.handler)
app.use(trafficPage(traffic))
app.get('/hello', hello, (req, res) => {
  res.json({ hello: 'world', left: req.rateLimit?.remaining })
})
app.get('/search', search, (req, res) => {
  res.json({ found: [], left: req.rateLimit?.all[0]?.policies.map(({ remaining }) => remaining) })
})

const server = await listen(app, portFrom(process.env.PORT))
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const url = `http://127.0.0.1:${port}`

process.once('SIGINT', stop)
process.once('SIGTERM', stop)

console.log(
  `\nWeir with Express, counting in ${redis ? `Redis at ${redis.options.host}:${redis.options.port}` : 'memory'}\n`,
)
await showBurst(url, [...Array(6).fill('/hello'), ...Array(3).fill('/search?pages=8')])
// Your requests come from the same address as the burst, so give that address its units back.
await Promise.all([hello, search].map(({ limiter }) => limiter.reset('127.0.0.1')))

console.log(`
Listening on ${url} (Ctrl-C ends it).

  1. Open the dashboard:   ${board.address(`${url}/weir`)}
  2. Press the button on:  ${url}/

Or try:

  curl -i ${url}/hello               five in any ten seconds
  curl -i '${url}/search?pages=8'    8 units of a bucket of 20, which refills by 2 a second
  curl -i '${url}/search?pages=30'   more pages, at most 20 units
  curl '${url}/metrics'              what was decided, for Prometheus
`)

/** Closes the server and the connection to Redis; nothing then keeps the process running. */
async function stop() {
  traffic.stop()
  board.close()
  server.close()
  server.closeAllConnections()
  await store.close?.()
  redis?.disconnect()
}
