// Waiting across processes, on a real Redis and its clock.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RateLimiter } from '../../src/limiter/limiter.js'
import { patientClient, patientStore } from './patient.js'
import { QUEUE, WINDOW } from './waiters/policies.js'
import type { WaitJob, WaitReport } from './waiters/waiters.js'

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

async function waits(child: ChildProcess, job: Omit<WaitJob, 'port'>): Promise<WaitReport> {
  const reported = once(child, 'message')
  child.send({ port: server.port, ...job })
  const [report] = await reported
  return report as WaitReport
}

async function scripts(): Promise<number> {
  const stats = await client.info('commandstats')
  const of = (name: string) =>
    Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  return of('evalsha') + of('eval')
}

describe('200 waiters in 4 processes on one bucket', () => {
  const each = { policy: 'queue', waiters: 50 } as const

  test('pass at their turns on the clock of Redis, in its order, with few calls', async () => {
    const job = { ...each, key: 'all', leavers: 0 }
    const reports = await Promise.all(processes.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    expect(passed.length).toBe(200)
    for (const { turnMs, atMs } of passed) expect(atMs).toBeGreaterThanOrEqual(turnMs - 0.1)
    const turns = passed.map(({ turnMs }) => turnMs).sort((one, other) => one - other)
    for (let i = 1; i < turns.length; i += 1)
      expect((turns[i] as number) - (turns[i - 1] as number)).toBeGreaterThan(9.99)
    expect(await scripts()).toBeLessThanOrEqual(200)
  })

  test('move up when some leave, with one more call for each at the most', async () => {
    const reports = await Promise.all(
      processes.map((child, i) =>
        waits(child, { ...each, key: 'left', leavers: i === 3 ? 20 : 0 }),
      ),
    )
    const passed = reports.flatMap((report) => report.passed)
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    expect(passed.length).toBe(180)
    for (const { turnMs, atMs } of passed) expect(atMs).toBeGreaterThanOrEqual(turnMs - 0.1)
    const turns = passed.map(({ turnMs }) => turnMs).sort((one, other) => one - other)
    for (let i = 1; i < turns.length; i += 1)
      expect((turns[i] as number) - (turns[i - 1] as number)).toBeGreaterThan(9.99)
    expect(await scripts()).toBeLessThanOrEqual(220)
  })

  test('are blocked for no longer than its reservations by a process that was killed', async () => {
    const job = { ...each, key: 'killed', leavers: 0 }
    const [victim, ...others] = processes as [ChildProcess, ...ChildProcess[]]
    victim.send({ port: server.port, ...job })
    const limiter = new RateLimiter({ name: 'waiters', store: storeOf(), policy: QUEUE })
    while ((await limiter.peek('killed')).resetAfterMs < 300) await pause(2)
    victim.kill('SIGKILL')
    const reports = await Promise.all(others.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(passed.length).toBe(150)
    const { resetAfterMs } = await limiter.peek('killed')
    expect(resetAfterMs).toBeLessThanOrEqual(QUEUE.windowMs)
    processes[0] = await started()
  })
})

describe('waiters for a window', () => {
  test('never pass beyond its limit, and each process has one call under way', async () => {
    const job = { policy: 'window', waiters: 20, key: 'window', leavers: 0 } as const
    const limiter = new RateLimiter({ name: 'waiters', store: storeOf(), policy: WINDOW })
    const reports = await Promise.all(processes.map((child) => waits(child, job)))
    const passed = reports.flatMap((report) => report.passed)
    expect(passed.length).toBe(80)
    // By the instants at which Redis granted: what counts of one until is granted a window before.
    const grants = passed.map(({ turnMs }) => turnMs).sort((one, other) => one - other)
    for (let i = WINDOW.limit; i < grants.length; i += 1)
      expect((grants[i] as number) - (grants[i - WINDOW.limit] as number)).toBeGreaterThan(498)
    // Of 80 each window passes 20: every process asks a few times in each.
    expect(await scripts()).toBeLessThanOrEqual(60)
    expect((await limiter.peek('window')).remaining).toBeGreaterThanOrEqual(0)
  })
})

function storeOf() {
  return patientStore(client, { prefix: 'waiters' })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
