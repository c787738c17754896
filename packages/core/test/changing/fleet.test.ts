// A fleet of four processes under load, with a real Redis and its clock, while its policy changes,
// one process is killed, and Redis restarts without its data.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort, type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { LivePolicies } from '../../src/entries/live.js'
import { fixedWindow } from '../../src/index.js'
import { patientOptions, patientStore } from '../redis/patient.js'
import { type Note, plansOf } from './fleet/member.js'

const script = fileURLToPath(new URL('fleet/start.mjs', import.meta.url))
/** For what takes 2 s on an idle machine. */
const PATIENCE_MS = 60_000

const plan = (limit: number, window: '1h' | '2h' = '1h') =>
  fixedWindow({ name: 'api', limit, window })

interface Member {
  readonly child: ChildProcess
  last: Note
}

let port: number
let server: RedisServer
let client: Redis
let plans: LivePolicies<'plan'>
const members: Member[] = []
/** How many have passed, by time scale and limit. */
const passed = new Map<string, number>()

function sum(scale: string): number {
  const some = [...passed].filter(([by]) => by.startsWith(`${scale} `))
  return some.reduce((total, [, count]) => total + count, 0)
}

async function start(): Promise<Member> {
  const env = { ...process.env, WEIR_PORT: String(port) }
  const child = fork(script, { env, execArgv: ['--no-warnings'] })
  const [last] = (await once(child, 'message')) as [Note]
  const member: Member = { child, last }
  child.on('message', (note: Note) => {
    member.last = note
    if (note.passed !== undefined) passed.set(note.passed, (passed.get(note.passed) ?? 0) + 1)
  })
  return member
}

/** Waits until all processes have this version. */
async function reached(version: number): Promise<void> {
  const isThere = async () => members.every(({ last }) => last.version === version)
  await waitUntil(`all have version ${version}`, isThere, PATIENCE_MS)
}

async function hasPassed(scale: string, count: number): Promise<void> {
  await waitUntil(`${count} passed`, async () => sum(scale) >= count, PATIENCE_MS)
}

beforeAll(async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  port = await freePort()
  server = await startRedis({ port })
  client = new Redis(port, { ...patientOptions, retryStrategy: () => 50 })
  client.on('error', () => {})
  await once(client, 'ready')
  plans = plansOf(patientStore(client, {}))
  members.push(...(await Promise.all([start(), start(), start(), start()])))
}, PATIENCE_MS)
afterAll(async () => {
  for (const { child } of members) child.kill('SIGKILL')
  plans.close()
  client.disconnect()
  await server.stop()
  vi.restoreAllMocks()
})

test(
  'all processes change over, and no more passes than the more generous limit plus one limit',
  async () => {
    await hasPassed('1h', 100)
    expect(await plans.set('plan', plan(150))).toMatchObject({ version: 1, isNewCounter: false })
    await reached(1)
    await hasPassed('1h', 150)
    expect(sum('1h')).toBeLessThanOrEqual(150 + 100)
    for (const { last } of members) expect(last.lateMs ?? 0).toBeGreaterThanOrEqual(0)
  },
  PATIENCE_MS * 3,
)

test(
  'a process that is killed within a change misses none when it is back',
  async () => {
    await plans.set('plan', plan(160))
    const [killed] = members.splice(0, 1) as [Member]
    killed.child.kill('SIGKILL')
    members.push(await start())
    await reached(2)
    // The last message of the killed process may be missing.
    await hasPassed('1h', 159)
    expect(sum('1h')).toBeLessThanOrEqual(160 + 150)
  },
  PATIENCE_MS * 3,
)

test(
  'a Redis that comes back without its data gets the policy back, and no process was without',
  async () => {
    server.kill()
    await waitUntil('Redis is gone', async () => !(await plans.refresh()), PATIENCE_MS)
    await expect(plans.set('plan', plan(1_000))).rejects.toMatchObject({
      code: 'WEIR_STORE_FAILED',
    })
    await server.stop()
    server = await startRedis({ port })
    await waitUntil('Redis is back', () => plans.refresh(), PATIENCE_MS)
    const known = async () => (await client.hget('weir:{settings:plans}', 'version')) === '2'
    await waitUntil('the policy is restored', known, PATIENCE_MS)
    for (const { last } of members) expect(last).toMatchObject({ version: 2, limit: 160 })
    expect(await plans.set('plan', plan(170))).toMatchObject({ version: 3, was: plan(160) })
    await reached(3)
    // The counters were also lost, and while Redis was away each process had a part of the limit.
    expect(sum('1h')).toBeLessThanOrEqual(170 + 160 + 160)
  },
  PATIENCE_MS * 3,
)

test(
  'a change of the time scale is a new counter, and no more passes than both allow',
  async () => {
    const before = sum('1h') + sum('2h')
    expect(await plans.set('plan', plan(40, '2h'))).toMatchObject({
      version: 4,
      isNewCounter: true,
    })
    await reached(4)
    await hasPassed('2h', 40)
    expect(sum('1h') + sum('2h') - before).toBeLessThanOrEqual(170 + 40)
    const limits = new Set([...passed.keys()])
    const known = ['1h 100', '1h 150', '1h 160', '1h 170', '2h 40']
    expect([...limits].filter((limit) => !known.includes(limit))).toEqual([])
  },
  PATIENCE_MS * 3,
)
