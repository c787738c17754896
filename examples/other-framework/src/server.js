// @ts-check
// A plain node:http server with a limit, through its own adapter.
//
//   PORT=3000   the port to listen on; 0 picks a free one

import { createServer } from 'node:http'
import { limited } from './adapter.js'

const handler = limited(
  { name: 'hello', limit: 5, window: '10s', skip: ({ url }) => url === '/health' },
  (req, res) => {
    res.end(`${req.rateLimit?.remaining ?? 'any number'} left\n`)
  },
)

const server = createServer((req, res) => {
  handler(req, res).catch((error) => {
    console.error(error)
    res.writeHead(500).end()
  })
})

server.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url} (Ctrl-C ends it). Try:

  curl -i ${url}          five in any ten seconds
  curl -i ${url}/health   any number`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
