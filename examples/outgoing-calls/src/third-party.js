// @ts-check
// A third party's API, which allows a number of calls in any second and refuses the rest.

import { once } from 'node:events'
import { createServer } from 'node:http'

/** @param {number} limit calls in any second */
export async function startThirdParty(limit) {
  /** When calls arrived. @type {number[]} */
  const arrivals = []
  const counts = { calls: 0, complaints: 0, most: 0 }
  /** Jobs that were done, in order. @type {string[]} */
  const done = []

  const server = createServer((req, res) => {
    const now = performance.now()
    arrivals.push(now)
    const lately = arrivals.filter((at) => at > now - 1_000).length
    counts.calls += 1
    counts.most = Math.max(counts.most, lately)
    if (lately > limit) {
      counts.complaints += 1
      return res.writeHead(429).end()
    }
    done.push(req.url?.slice(1) ?? '')
    res.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    arrivals,
    done,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
