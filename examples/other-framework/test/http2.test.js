// @ts-check
// The adapter of this example over HTTP/2, whose responses are of another class with the same
// methods.

import { once } from 'node:events'
import { connect, constants, createServer } from 'node:http2'
import { expect, onTestFinished, test, vi } from 'vitest'
import { limited } from '../src/adapter.js'

test('over HTTP/2, a cancelled request is refunded by the same rule as one that was answered', async () => {
  /** @type {import('@weir/core/http').ResponseOutcome[]} */
  const outcomes = []
  const arrived = vi.fn()
  const handler = limited(
    {
      limit: 2,
      window: '1h',
      refundWhen: (_req, outcome) =>
        outcomes.push(outcome) > 0 && outcome.finished && outcome.status < 400,
    },
    async (req, res) => {
      arrived()
      if (req.url === '/hang') await new Promise(() => {})
      res.end('ok')
    },
  )
  const server = createServer((req, res) => {
    // The compatibility API of HTTP/2 has the methods that the adapter uses.
    const [request, response] = /** @type {Parameters<typeof handler>} */ (
      /** @type {unknown} */ ([req, res])
    )
    void handler(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const client = connect(`http://127.0.0.1:${port}`)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  /** @param {string} path */
  const ask = (path) => client.request({ ':path': path }).on('error', () => {})
  /** @param {string} path */
  const statusOf = async (path) => {
    const stream = ask(path).resume()
    const [headers] = await once(stream, 'response')
    await once(stream, 'close')
    return headers[':status']
  }

  expect(await statusOf('/')).toBe(200)
  await vi.waitFor(() => expect(outcomes).toEqual([{ status: 200, finished: true }]))
  for (const seen of [2, 3]) {
    const cancelled = ask('/hang')
    await vi.waitFor(() => expect(arrived).toHaveBeenCalledTimes(seen))
    cancelled.close(constants.NGHTTP2_CANCEL)
    await vi.waitFor(() => expect(outcomes).toHaveLength(seen))
    expect(outcomes.at(-1)).toEqual({ status: 200, finished: false })
  }
  expect(await statusOf('/')).toBe(429)
})
