// Servers and requests of the tests.

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Running } from './incumbent.js'

export async function listening(listener: RequestListener): Promise<Running> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A server for a handler of Fetch requests. */
export function listeningTo(handle: (request: Request) => Promise<Response>): Promise<Running> {
  return listening(async (incoming, response) => {
    const headers = incoming.headers as Record<string, string>
    const body: Buffer[] = []
    for await (const chunk of incoming) body.push(chunk as Buffer)
    const { method = 'GET' } = incoming
    const sent = method === 'GET' ? {} : { body: Buffer.concat(body) }
    const request = new Request(`http://127.0.0.1${incoming.url}`, { method, headers, ...sent })
    const answer = await handle(request).catch(() => new Response('', { status: 500 }))
    response.writeHead(answer.status, [...answer.headers].flat())
    response.end(await answer.text())
  })
}

/** The status that a request wants from the application. */
export function wanted(headers: Readonly<Record<string, unknown>>): number {
  return Number(headers['x-status'] ?? 200)
}
