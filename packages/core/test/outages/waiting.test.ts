// Waiting across processes, with a real Redis and its clock.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { patientClient } from '../redis/patient.js'
import { QUEUE, WINDOW } from './waiters/policies.js'
import { type Passed, QUEUED, type WaitJob, type WaitReport } from './waiters/waiters.js'

const PROCESSES = 4
const script = fileURLToPath(new URL('waiters/start.mjs', import.meta.url))

let server: RedisServer
let client: Redis
let processes: ChildProcess[]
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
  processes = await Promise.all(Array.from({ length: PROCESSES }, started))
})
afterAll(async () => {
  client.disconnect()
  for (const each of processes) each.kill()
  await server.stop()
})
beforeEach(async () => {
  await client.config('RESETSTAT')
})

async function started(): Promise<ChildProcess> {
  const child = fork(script)
  await once(child, 'message')
  return child
}

/** Sends a job. Resolves to the first message that fits. */
function told(
  child: ChildProcess,
  job: Omit<WaitJob, 'port'>,
  isRight: (message: unknown) => boolean,
): Promise<unknown> {
  return new Promise((resolve) => {
    child.on('message', function hear(message) {
      if (!isRight(message)) return
      child.off('message', hear)
      resolve(message)
    })
    child.send({ port: server.port, ...job })
  })
}

async function waits(child: ChildProcess, job: Omit<WaitJob, 'port'>): Promise<WaitReport> {
  return (await told(child, job, (message) => message !== QUEUED)) as WaitReport
}

async function scripts(): Promise<number> {
  const stats = await client.info('commandstats')
  const of = (name: string) =>
    Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  return of('evalsha') + of('eval')
}

describe('200 waiting requests in 4 processes on one bucket', () => {
  const each = { policy: 'queue', waiters: 50 } as const

  /** No request before its turn, and no two turns closer than the bucket allows. */
  function areInTurn(passed: readonly Passed[]): void {
    for (const { turnMs, atMs } of passed) expect(atMs).toBeGreaterThanOrEqual(turnMs - 0.1)
    const turns = passed.map(({ turnMs }) => turnMs).sort((one, other) => one - other)
    for (let i = 1; i < turns.length; i += 1)
      expect((turns[i] as number) - (turns[i - 1] as number)).toBeGreaterThan(9.99)
  }

  test('pass at their turns by the clock of Redis, in its order, with few calls', async () => {
    const job = { ...each, key: 'all', leavers: 0 }
    const reports = await Promise.all(processes.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    expect(passed.length).toBe(200)
    areInTurn(passed)
    expect(await scripts()).toBeLessThanOrEqual(200)
  })

  test('move up when some leave, with at most one more call for each', async () => {
    const reports = await Promise.all(
      processes.map((child, i) =>
        waits(child, { ...each, key: 'left', leavers: i === 3 ? 20 : 0 }),
      ),
    )
    const passed = reports.flatMap((report) => report.passed)
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    // On a busy machine some may have passed before they could leave.
    const left = reports.reduce((sum, report) => sum + report.left, 0)
    expect(left).toBeLessThanOrEqual(20)
    expect(passed.length).toBe(200 - left)
    areInTurn(passed)
    expect(await scripts()).toBeLessThanOrEqual(200 + 20 + PROCESSES)
  })

  test('are delayed by a killed process for no longer than its reservations', async () => {
    const job = { ...each, key: 'killed', leavers: 0 }
    const [victim, ...others] = processes as [ChildProcess, ...ChildProcess[]]
    await told(victim, job, (message) => message === QUEUED)
    victim.kill('SIGKILL')
    const reports = await Promise.all(others.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(passed.length).toBe(150)
    // The killed process has 50 of all 200 turns of 10 ms.
    for (const { turnMs, askedMs } of passed)
      expect(turnMs - askedMs).toBeLessThanOrEqual(200 * QUEUE.windowMs)
    areInTurn(passed)
    processes[0] = await started()
  })
})

describe('requests that wait for a window', () => {
  test('never pass beyond its limit, and each process has one call in progress', async () => {
    const job = { policy: 'window', waiters: 20, key: 'window', leavers: 0 } as const
    const reports = await Promise.all(processes.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(passed.length).toBe(80)
    // By the instants of Redis's grants: what counts until now was granted a window before.
    const grants = passed.map(({ turnMs }) => turnMs).sort((one, other) => one - other)
    for (let i = WINDOW.limit; i < grants.length; i += 1)
      expect((grants[i] as number) - (grants[i - WINDOW.limit] as number)).toBeGreaterThan(498)
    // Each process asks at most once for each instant at which something is free.
    const instants = new Set(grants).size
    expect(await scripts()).toBeLessThanOrEqual(PROCESSES * (instants + 4))
  })
})
