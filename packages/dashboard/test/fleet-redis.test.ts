// A fleet of processes on a real Redis, as one of them sees it.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ActionAnswer, Frame } from '../src/protocol.js'
import { enter, frames } from './client.js'

interface Process {
  readonly address: string
  readonly pid: number
  consume(key: string, times: number): Promise<void>
  stop(): Promise<void>
}

let server: RedisServer
let processes: Process[] = []
const commands: string[] = []
let monitor: Redis
let asking: Redis

async function startProcess(): Promise<Process> {
  const script = resolve(import.meta.dirname, 'process.mjs')
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [script, server.url])
  child.stderr.pipe(process.stderr)
  const lines = createInterface({ input: child.stdout })
  const next = async (): Promise<string> => String((await once(lines, 'line'))[0])
  const address = await next()
  return {
    address,
    pid: Number(child.pid),
    async consume(key, times) {
      const done = next()
      child.stdin.write(`consume ${key} ${times}\n`)
      await done
    },
    async stop() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

beforeAll(async () => {
  server = await startRedis()
  processes = [await startProcess(), await startProcess(), await startProcess()]
  asking = new Redis(server.url)
  monitor = await asking.monitor()
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args.join(' ')))
})

afterAll(async () => {
  for (const each of [monitor, asking]) each.disconnect()
  await Promise.all(processes.map((each) => each.stop()))
  await server.stop()
})

/** The commands in the time of two heartbeats of each process. */
async function askedIn(ms: number): Promise<readonly string[]> {
  commands.length = 0
  await sleep(ms)
  return [...commands]
}

const isOfDashboard = (command: string): boolean => command.includes('weir-dashboard')
const isHeartbeat = (command: string): boolean => command.includes('{instances}')

const states = ({ fleet }: Frame): readonly (boolean | undefined)[] => {
  return fleet.map(({ limiters: [only] }) => only?.enabled)
}

test('the fleet is seen, switched off and on, and costs nothing before and after', async () => {
  const before = await askedIn(7_000)
  expect(before.filter(isHeartbeat).length).toBeGreaterThan(3)
  expect(before.filter(isOfDashboard)).toEqual([])

  const [one, two] = processes as [Process, Process, Process]
  const entered = await enter(one.address)
  const stream = await frames(entered)
  await stream.until(({ fleet }) => fleet.length === 3)
  const [own] = (await stream.next()).fleet
  expect([own?.isThis, own?.process.includes(`-${one.pid}-`)]).toEqual([true, true])

  await two.consume('u42', 4)
  const seen = await stream.until(({ fleet }) => {
    return fleet.some(({ limiters: [only] }) => only?.denied === 3)
  })
  const other = seen.fleet.find(({ process }) => process.includes(`-${two.pid}-`))
  expect(other?.limiters).toMatchObject([
    { name: 'api', allowed: 1, denied: 3, refusedKeys: [{ key: 'u42', count: 3, error: 0 }] },
  ])

  const off = await entered.post('actions', { kind: 'disable', limiter: 'api', confirm: 'api' })
  expect((JSON.parse(off.body) as ActionAnswer).note).toMatchObject({ outcome: 'done' })
  await stream.until((frame) => states(frame).every((isOn) => isOn === false))

  processes.push(await startProcess())
  const later = await stream.until(({ fleet }) => fleet.length === 4)
  expect(states(later).filter((isOn) => isOn === false)).toHaveLength(3)

  await entered.post('actions', { kind: 'enable', limiter: 'api', confirm: 'api' })
  await stream.until((frame) => states(frame).every((isOn) => isOn === true))

  stream.close()
  await waitUntil(
    'nobody asks any more',
    async () => !(await askedIn(4_500)).some(isOfDashboard),
    60_000,
  )
  expect((await askedIn(4_500)).filter(isOfDashboard)).toEqual([])
})
