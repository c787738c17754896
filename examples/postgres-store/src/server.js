// @ts-check
// An Express server that keeps its limits in PostgreSQL, shared by all processes that use it.
//
//   DATABASE_URL   default postgres://localhost:5432/postgres
//   PORT           the port to listen on, default 3000; 0 picks a free one
//   DEADLINE_MS    after which this process decides without PostgreSQL, default 100

import { readFile } from 'node:fs/promises'
import { resilient } from '@weir/core/store'
import { rateLimit } from '@weir/express'
import express from 'express'
import { Client } from 'pg'
import { postgresStore } from './postgres-store.js'

const connectionString = process.env.DATABASE_URL ?? 'postgres://localhost:5432/postgres'
const deadlineMs = Number(process.env.DEADLINE_MS ?? 100)

// An application creates the table once, together with its other tables.
const client = new Client({ connectionString })
await client.connect()
await client.query(await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))
await client.end()

// Adds a deadline, and limits that hold in each process while PostgreSQL cannot be reached.
const store = resilient(postgresStore({ connectionString }), { deadlineMs, log: console.error })
const app = express()
app.use(rateLimit({ store, name: 'hello', limit: 5, window: '10s' }))
app.get('/', (_, res) => void res.send('hello\n'))

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`Listening on http://127.0.0.1:${port} (Ctrl-C ends it): five requests in 10 s pass`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
    void store.close()
  })
}
