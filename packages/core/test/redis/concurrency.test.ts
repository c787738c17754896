// Two processes with 20 connections each, for one key on one server. The clocks of their hosts
// differ by an hour.

import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Crowd, startCrowd } from './hammer/crowd.js'
import type { Job, Report } from './hammer/hammer.js'
import { LIMIT, PER_SECOND, type SubjectName, subjects } from './hammer/subjects.js'
import { keysWithoutTtl } from './no-key-for-ever.js'
import { callsOf } from './stats.js'

const SKEWS_MS = [0, 3_600_000]
const PROCESSES = SKEWS_MS.length
const NOW_US = 1_800_000_000_000_000
/** The policies that deny at LIMIT. */
const names = (Object.keys(subjects) as SubjectName[]).filter((name) => name !== 'counting')

let server: RedisServer
let crowd: Crowd
beforeAll(async () => {
  // A separate server, whose statistics contain only this test.
  server = await startRedis()
  crowd = await startCrowd(SKEWS_MS)
})
afterAll(async () => {
  await crowd.stop()
  await server.stop()
})

const USUAL = {
  connections: 20,
  inFlight: 1,
  requests: 50,
  clock: 'server',
  prefix: 'p',
} as const

function hammer(job: Pick<Job, 'subject'> & Partial<Job>): Promise<Report> {
  return crowd.hammer({ port: server.port, ...USUAL, ...job })
}

/**
 * The bounds of what a bucket has granted until a request that it denied. While it is full, as it
 * may be again between the first requests on a busy machine, it does not refill.
 */
function bounds({ firstUs, fullUs, lastDenialUs, lastGrantUs }: Report): [number, number] {
  const refilled = (fromUs: number, untilUs: number) => ((untilUs - fromUs) / 1e6) * PER_SECOND
  // Less the unit that was nearly there at the denial, and the one that was nearly missing when it
  // was full.
  const least = LIMIT + Math.floor(refilled(fullUs, lastDenialUs)) - 2
  return [least, LIMIT + Math.floor(refilled(firstUs, lastGrantUs))]
}

test.each(names)(
  '%s admits exactly the limit, alone and when requests share calls',
  async (subject) => {
    for (const shape of [{}, { connections: 5, inFlight: 10, requests: 200 }]) {
      const isShared = 'inFlight' in shape
      const prefix = `${isShared}-${subject}`
      await server.command('CONFIG', 'RESETSTAT')
      const report = await hammer({ subject, prefix, ...shape })
      expect(report).toMatchObject({ errors: [] })
      expect(report.granted + report.denied).toBe(2_000)
      const [least, most] = subject === 'tokenBucket' ? bounds(report) : [LIMIT, LIMIT]
      expect(report.granted).toBeGreaterThanOrEqual(least)
      expect(report.granted).toBeLessThanOrEqual(most)
      const { evalsha, eval: evals = 0 } = await callsOf(server)
      // A process sends the script once for each connection that found the server without it.
      expect(evals).toBeLessThanOrEqual(PROCESSES * 20)
      if (isShared) expect(evalsha).toBeLessThan(2_000)
      else expect(evalsha).toBe(2_000)
    }
  },
)

test('a bucket admits exactly the limit for 2,000 requests at one instant', async () => {
  const report = await hammer({ subject: 'tokenBucket', prefix: 'instant', clock: NOW_US })
  expect(report).toMatchObject({ granted: LIMIT, denied: 1_000, errors: [] })
})

test('by the clocks of the hosts more would pass, so the skew is real', async () => {
  const job = { subject: 'slidingLog', prefix: 'skewed', clock: 'host' } as const
  const { granted } = await crowd.inTurn({ port: server.port, ...USUAL, ...job })
  expect(granted).toBe(PROCESSES * LIMIT)
})

// This has the effect of a restart or a failover on a server's scripts.
test.each([
  ['one request a connection', { connections: 50, requests: 60 }],
  ['requests that share calls', { connections: 5, inFlight: 20, requests: 600 }],
])('every request is counted once while scripts are flushed: %s', async (name, shape) => {
  const prefix = name.replaceAll(' ', '-')
  const all = PROCESSES * shape.connections * shape.requests
  await server.command('CONFIG', 'RESETSTAT')
  const hammering = hammer({ subject: 'counting', prefix, ...shape })
  const done = hammering.then(() => true)
  while (!(await Promise.race([done, sleep(2, false)]))) await server.command('SCRIPT', 'FLUSH')
  expect(await hammering).toMatchObject({ granted: all, denied: 0, errors: [] })
  const state = await server.command('GET', `${prefix}:{key}:hammer:counting:fixed1-1h`)
  expect(String(state).split(':')[0]).toBe(String(all))
  const { eval: evals = 0, 'script|flush': flushes = 0 } = await callsOf(server)
  expect(flushes).toBeGreaterThan(5)
  expect(evals).toBeGreaterThan(flushes / 2)
})

test('no key was left without a TTL', async () => {
  expect(await server.command('DBSIZE')).toBeGreaterThan(0)
  expect(await keysWithoutTtl(server)).toEqual([])
})
