// @ts-check
// The server in its own process: node src/server.js <workers> <mean ms> <protection>
import { createApp } from './app.js'

const [workers = '16', meanMs = '20', protection = 'overload'] = process.argv.slice(2)
const { app } = createApp({
  workers: Number(workers),
  meanMs: Number(meanMs),
  protection,
})
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.send?.({ port })
})
process.once('disconnect', () => {
  server.close()
  server.closeAllConnections()
})
