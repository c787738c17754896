// Processes that start together, and whose first calls wait for a turn, while Redis is not heard.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type FaultyProxy, judged, type RedisServer, startProxy, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CALLS, type StartJob, type StartReport, TURN_MS } from './starters/starter.js'

const script = fileURLToPath(new URL('starters/start.mjs', import.meta.url))

let server: RedisServer
let proxy: FaultyProxy
let processes: ChildProcess[]
beforeAll(async () => {
  server = await startRedis()
  proxy = await startProxy(server.port)
  processes = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const child = fork(script, { execArgv: ['--no-warnings'] })
      await once(child, 'message')
      return child
    }),
  )
})
afterAll(async () => {
  for (const each of processes) each.kill()
  await proxy.stop()
  await server.stop()
})

let attempts = 0

test('three processes that start together keep to one rate, though Redis is heard only after their deadlines', () =>
  judged(startsTogether, { longestMs: 200 }))

async function startsTogether(): Promise<void> {
  attempts += 1
  await proxy.set('blackhole')
  const job: StartJob = { port: proxy.port, deadlineMs: 300, key: `attempt-${attempts}` }
  const startedMs = performance.now()
  const told = processes.map(async (child) => {
    const heard = once(child, 'message')
    child.send(job)
    const [report] = (await heard) as [StartReport]
    return report
  })
  // Longer than a deadline, and less than the second for which they wait.
  await sleep(500)
  await proxy.set('pass')
  const sources = (await Promise.all(told)).flat()
  expect(sources).toEqual(Array.from({ length: 3 * CALLS }, () => 'store'))
  expect(performance.now() - startedMs).toBeGreaterThan((3 * CALLS - 1) * TURN_MS)
}
