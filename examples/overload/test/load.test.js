// @ts-check
// How much is served depends on the machine: run src/load.js for that, on one that is otherwise
// idle. These tests check what holds on any machine.

import { expect, test } from 'vitest'
import { createApp } from '../src/app.js'
import { measure as measureClasses } from '../src/classes.js'
import { measure } from '../src/load.js'

test('the load runs, and reports what became of it in each part', async () => {
  const parts = await measure(true, 1_500)
  const names = ['servedPerSecond', 'p50Ms', 'p99Ms', 'refused', 'inVain']
  expect(parts.map((part) => Object.keys(part))).toEqual([names, names, names])
})

test('the load of classes runs, and reports how many requests of each class were served', async () => {
  const { paying, free } = await measureClasses('overload with classes', 1_000)
  expect(paying?.perSecond).toBeGreaterThan(0)
  expect(free?.perSecond).toBeGreaterThanOrEqual(0)
})

test('the health check answers before the limit, and reports it', async () => {
  const { app, guard, reports } = createApp({ workers: 1, meanMs: 1, protection: 'overload' })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const health = await fetch(`http://127.0.0.1:${port}/health`)
  expect(await health.json()).toEqual({ limit: guard.limit, inFlight: 0, refused: 0 })
  const report = await fetch(`http://127.0.0.1:${port}/reports`)
  expect(await report.json()).toEqual({ factor: 0.25 })
  expect(reports.factor).toBe(0.25)
  server.close()
  server.closeAllConnections()
})
