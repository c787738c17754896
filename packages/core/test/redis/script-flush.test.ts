// SCRIPT FLUSH while requests are in progress, which has the effect of a restart or a failover on a
// server's scripts.

import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Crowd, startCrowd } from './hammer/crowd.js'
import type { Job, Report } from './hammer/hammer.js'
import { LIMIT } from './hammer/subjects.js'
import { callsOf } from './stats.js'

let server: RedisServer
let crowd: Crowd
beforeAll(async () => {
  server = await startRedis()
  crowd = await startCrowd([0, 0])
})
afterAll(async () => {
  await crowd.stop()
  await server.stop()
})

/** Makes the crowd do the job, and flushes the server's scripts all the time until it is done. */
async function hammerAndFlush(job: Job): Promise<Report> {
  const hammering = crowd.hammer(job)
  const done = hammering.then(() => true)
  while (!(await Promise.race([done, sleep(2, false)]))) await server.command('SCRIPT', 'FLUSH')
  return hammering
}

test.each([
  ['one request a connection', { connections: 50, inFlight: 1, requests: 60 }],
  ['requests that share calls', { connections: 5, inFlight: 20, requests: 1_200 }],
])('every request is counted once: %s', async (name, shape) => {
  const prefix = name.replaceAll(' ', '-')
  const all = 2 * shape.connections * shape.requests
  await server.command('CONFIG', 'RESETSTAT')
  const report = await hammerAndFlush({
    port: server.port,
    clock: 'server',
    prefix,
    ...shape,
    subject: 'counting',
  })
  expect(report).toMatchObject({ granted: all, denied: 0, errors: [] })
  const state = await server.command('GET', `${prefix}:{key}:hammer:counting:fixed1-1h`)
  expect(String(state).split(':')[0]).toBe(String(all))
  const { eval: evals = 0, 'script|flush': flushes = 0 } = await callsOf(server)
  expect(flushes).toBeGreaterThan(5)
  expect(evals).toBeGreaterThan(flushes / 2)
})

test('exactly the limit is admitted', async () => {
  const shape = { connections: 50, inFlight: 1, requests: 60 }
  const report = await hammerAndFlush({
    port: server.port,
    clock: 'server',
    prefix: 'limit',
    ...shape,
    subject: 'slidingLog',
  })
  expect(report).toMatchObject({ granted: LIMIT, denied: 5_000, errors: [] })
})
