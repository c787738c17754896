// Two processes with 20 connections each, for one key on one server. The clocks of their hosts
// differ by an hour.

import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Crowd, startCrowd } from './hammer/crowd.js'
import type { Report } from './hammer/hammer.js'
import { LIMIT, subjectNames, subjects } from './hammer/subjects.js'
import { keysWithoutTtl } from './no-key-for-ever.js'
import { callsOf } from './stats.js'

const SKEWS_MS = [0, 3_600_000]
const PROCESSES = SKEWS_MS.length
const NOW_US = 1_800_000_000_000_000

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

/**
 * The bounds of what a bucket has granted until a request that it denied. While it is full, as it
 * may be again between the first requests on a busy machine, it does not refill.
 */
function bounds(
  { firstUs, fullUs, lastDenialUs, lastGrantUs }: Report,
  perSecond: number,
): [number, number] {
  const refilled = (fromUs: number, untilUs: number) => ((untilUs - fromUs) / 1e6) * perSecond
  // Less the unit that was nearly there at the denial, and the one that was nearly missing when it
  // was full.
  const least = LIMIT + Math.floor(refilled(fullUs, lastDenialUs)) - 2
  return [least, LIMIT + Math.floor(refilled(firstUs, lastGrantUs))]
}

describe.each(subjectNames)('%s', (subject) => {
  const { perSecond } = subjects[subject]

  test('admits exactly the limit, with one EVALSHA for each decision', async () => {
    const prefix = `separate-${subject}`
    const job = { port: server.port, subject, prefix, clock: 'server', requests: 50 } as const
    await server.command('CONFIG', 'RESETSTAT')
    const report = await crowd.hammer({ ...job, connections: 20, inFlight: 1 })
    expect(report.errors).toEqual([])
    expect(report.granted + report.denied).toBe(PROCESSES * 20 * 50)
    expectLimit(report, perSecond)
    const { evalsha, eval: evals = 0 } = await callsOf(server)
    // A process sends the script once for each connection that found the server without it.
    expect(evals).toBeLessThanOrEqual(PROCESSES * 20)
    expect(evalsha).toBe(report.granted + report.denied)
  })

  test('admits exactly the limit when requests share calls', async () => {
    const prefix = `shared-${subject}`
    const job = { port: server.port, subject, prefix, clock: 'server', requests: 200 } as const
    await server.command('CONFIG', 'RESETSTAT')
    const report = await crowd.hammer({ ...job, connections: 5, inFlight: 10 })
    expect(report.errors).toEqual([])
    expectLimit(report, perSecond)
    const { evalsha, eval: evals } = await callsOf(server)
    expect(evals).toBeUndefined()
    expect(evalsha).toBeLessThan(report.granted + report.denied)
  })

  test('admits exactly the limit for 2,000 requests at one instant', async () => {
    const prefix = `instant-${subject}`
    const job = { port: server.port, subject, prefix, clock: NOW_US, requests: 50 } as const
    const report = await crowd.hammer({ ...job, connections: 20, inFlight: 1 })
    expect(report).toMatchObject({ granted: LIMIT, denied: 1_000, errors: [] })
  })
})

function expectLimit(report: Report, perSecond: number): void {
  const [least, most] = perSecond === 0 ? [LIMIT, LIMIT] : bounds(report, perSecond)
  expect(report.granted).toBeGreaterThanOrEqual(least)
  expect(report.granted).toBeLessThanOrEqual(most)
}

test('by the clocks of the hosts more would pass, so the skew is real', async () => {
  const job = {
    port: server.port,
    subject: 'slidingLog',
    prefix: 'skewed',
    clock: 'host',
    requests: 50,
  } as const
  const report = await crowd.hammer({ ...job, connections: 20, inFlight: 1 })
  expect(report.granted).toBeGreaterThan(LIMIT)
})

test('no key was left without a TTL', async () => {
  expect(await server.command('DBSIZE')).toBeGreaterThan(0)
  expect(await keysWithoutTtl(server)).toEqual([])
})
