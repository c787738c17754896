// @ts-check
// A Koa server with two limits.
//
//   PORT=3000   where to listen; 0 is any

import { fixedWindow, memoryStore, rateLimit, tokenBucket } from '@weir/koa'
import Koa from 'koa'

// With redisStore(new Redis(url)) in its place, all processes of the service count together.
const store = memoryStore()
const app = new Koa()

// A hundred a minute from one address, whatever is asked.
app.use(rateLimit({ store, name: 'all', limit: 100, window: '1m' }))

const search = rateLimit({
  store,
  name: 'search',
  // What a request takes depends on what it asks.
  cost: (ctx) => Math.min(20, Math.max(1, Number(ctx.query.pages) || 1)),
  // One decision: both allow it and both are charged, or neither.
  policy: [
    tokenBucket({ name: 'burst', capacity: 20, refill: 2, every: '1s' }),
    fixedWindow({ name: 'daily', limit: 1_000, window: '1d' }),
  ],
})
app.use((ctx, next) => (ctx.path === '/search' ? search(ctx, next) : next()))

app.use((ctx) => {
  // The headers of the limits go along with errors, too.
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
