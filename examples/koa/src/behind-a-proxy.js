// @ts-check
// Finds the client behind proxies. Each proxy appends the address that it got the request from to
// X-Forwarded-For, so the limiter reads the list from its end, and only as far as trusted proxies
// wrote it. The client may have made up everything before that.
//
//   PORT=3000                     the port to listen on; 0 picks a free one
//   PROXIES=loopback,10.0.0.0/8   the proxies in front of this server

import { rateLimit } from '@weir/koa'
import Koa from 'koa'

const trusted = (process.env.PROXIES ?? 'loopback').split(',')

// Not `new Koa({ proxy: true })`: Koa then takes the first entry of the list, which any client can
// set.
const app = new Koa()

app.use(
  rateLimit({
    limit: 5,
    window: '1m',
    proxies: { trusted },
    // Behind a CDN that sends the address in its own header:
    // proxies: { trusted: ['173.245.48.0/20', '103.21.244.0/22'], header: 'cf-connecting-ip' },
  }),
)

app.use((ctx) => {
  ctx.body = { client: ctx.state.rateLimit?.key, left: ctx.state.rateLimit?.remaining }
})

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url}, trusting ${trusted.join(', ')} (Ctrl-C ends it). Act as the proxy:

  curl -i -H 'X-Forwarded-For: 203.0.113.7' ${url}            five a minute for this client
  curl -i -H 'X-Forwarded-For: 1.1.1.1, 203.0.113.7' ${url}   the same client, which has made up 1.1.1.1
  curl -i -H 'X-Forwarded-For: 2001:db8:1:2::3' ${url}        IPv6 clients count by their /56`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
