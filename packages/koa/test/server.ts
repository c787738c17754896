// Apps on real sockets.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import { onTestFinished } from 'vitest'

/** Serves an app for the running test, without Koa's output on the console. */
export async function serve(app: Koa): Promise<string> {
  app.silent = true
  const listener = app.callback()
  const server = createServer((req, res) => void listener(req, res))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
