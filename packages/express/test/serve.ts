// Express on real sockets, and its clients.

import { once } from 'node:events'
import { type Agent, createServer, type IncomingHttpHeaders, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'
import { onTestFinished } from 'vitest'

export interface Site {
  readonly url: string
  readonly port: number
  readonly server: Server
  get(path?: string, options?: GetOptions): Promise<Reply>
}

export interface GetOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly host?: string
  /** The client's address. */
  readonly from?: string
  readonly agent?: Agent
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** Listens until the test ends. */
export async function serve(app: Express, host = '127.0.0.1'): Promise<Site> {
  const server = createServer(app)
  await once(server.listen(0, host), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    get: (path = '/', options = {}) => send(port, path, options),
  }
}

async function send(port: number, path: string, options: GetOptions): Promise<Reply> {
  const { method = 'GET', headers = {}, host = '127.0.0.1', from, agent } = options
  const local = from === undefined ? {} : { localAddress: from }
  const client = request({ host, port, path, method, headers, agent: agent ?? false, ...local })
  client.end()
  const [response] = await once(client, 'response')
  let body = ''
  for await (const chunk of response) body += chunk
  return {
    status: response.statusCode,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body,
  }
}

/** How many lines a header has. */
export function linesOf(reply: Reply, name: string): number {
  return reply.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length
}

/** Resolves when a condition holds; the test's timeout ends the wait. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2))
}
