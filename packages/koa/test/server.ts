// Apps of Koa 2 and 3 on real sockets.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import Koa2 from 'koa2'
import { onTestFinished } from 'vitest'

/** Koa's versions by name. */
export const koas: readonly [string, typeof Koa][] = [
  ['Koa 2', Koa2 as unknown as typeof Koa],
  ['Koa 3', Koa],
]

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
