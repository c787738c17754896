// @ts-check
// A Koa server with two limits.
//
//   PORT=3000   the port to listen on; 0 picks a free one

import { fixedWindow, memoryStore, rateLimit, tokenBucket } from '@weir/koa'
import Koa from 'koa'

// With redisStore(new Redis(url)) instead, all processes of the service share the counters.
const store = memoryStore()
const app = new Koa()

// Each address may send a hundred requests a minute, to any path.
app.use(rateLimit({ store, name: 'all', limit: 100, window: '1m' }))

const search = rateLimit({
  store,
  name: 'search',
  // The cost of a request depends on what it asks for.
  cost: (ctx) => Math.min(20, Math.max(1, Number(ctx.query.pages) || 1)),
  // One decision: both policies allow the request and charge it, or neither does.
  policy: [
    tokenBucket({ name: 'burst', capacity: 20, refill: 2, every: '1s' }),
    fixedWindow({ name: 'daily', limit: 1_000, window: '1d' }),
  ],
})
app.use((ctx, next) => (ctx.path === '/search' ? search(ctx, next) : next()))

app.use((ctx) => {
  // An error response also carries the headers of the limits.
  if (ctx.path === '/broken') ctx.throw(500)
  ctx.body = { path: ctx.path, left: ctx.state.rateLimit?.remaining }
})

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url} (Ctrl-C ends it). Try:

  curl -i ${url}/                    a hundred a minute
  curl -i '${url}/search?pages=8'    8 units of a bucket of 20, which refills by 2 a second
  curl -i ${url}/broken              an error, with the limit's headers`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
