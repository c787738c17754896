// @ts-check
// Who is the client, behind proxies? Each proxy appends to X-Forwarded-For whom it got the request
// from, so the list is read from its end, as far as our own proxies wrote it. The client may
// have made up what comes before.
//
//   PORT=3000                   where to listen; 0 is any
//   PROXIES=loopback,10.0.0.0/8 the proxies in front of this server

import { rateLimit } from '@weir/koa'
import Koa from 'koa'

const trusted = (process.env.PROXIES ?? 'loopback').split(',')

// Not `new Koa({ proxy: true })`: Koa then takes the first entry of the list, which any client can
// write.
const app = new Koa()

app.use(
  rateLimit({
    limit: 5,
    window: '1m',
    proxies: { trusted },
    // Behind a CDN that sends the address in a header of its own:
    // proxies: { trusted: ['173.245.48.0/20', '103.21.244.0/22'], header: 'cf-connecting-ip' },
  }),
)

app.use((ctx) => {
  ctx.body = { client: ctx.state.rateLimit?.key, left: ctx.state.rateLimit?.remaining }
})

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url}, trusting ${trusted.join(', ')} (Ctrl-C ends it). Be the proxy:

  curl -i -H 'X-Forwarded-For: 203.0.113.7' ${url}            five a minute for this client
  curl -i -H 'X-Forwarded-For: 1.1.1.1, 203.0.113.7' ${url}   the same client, who has made up 1.1.1.1
  curl -i -H 'X-Forwarded-For: 2001:db8:1:2::3' ${url}        IPv6 clients count by their /56`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
