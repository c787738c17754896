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
  /** The client's address. */
  readonly from?: string
  readonly agent?: Agent
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Listens until the test ends. */
export async function serve(app: Express): Promise<Site> {
  const server = createServer(app)
  await once(server.listen(0, '127.0.0.1'), 'listening')
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
  const { method = 'GET', headers = {}, from, agent } = options
  const local = from === undefined ? {} : { localAddress: from }
  const client = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers,
    agent: agent ?? false,
    ...local,
  })
  client.end()
  const [response] = await once(client, 'response')
  let body = ''
  for await (const chunk of response) body += chunk
  return { status: response.statusCode, headers: response.headers, body }
}

/** Resolves when a condition holds; the test's timeout ends the wait. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2))
}
