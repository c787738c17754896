// Slots by the clock of Redis: of a process that is killed, and through an outage.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { judged, type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { concurrency, RateLimiter, redisStore } from '../../src/index.js'
import type { HoldJob } from '../redis/holders/holder.js'
import { patientClient, patientStore } from '../redis/patient.js'
import { callsOf } from '../redis/stats.js'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

async function startHolder(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('../redis/holders/start.mjs', import.meta.url))
  const child = fork(script)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

function limiterOf(prefix: string, limit: number, holdTimeout: number) {
  const store = patientStore(client, { prefix })
  const policy = concurrency({ name: 'open', limit, holdTimeout })
  const limiter = new RateLimiter({ name: 'holders', store, policy, shared: true })
  onTestFinished(() => limiter.close({ slots: 'expire' }))
  return limiter
}

/** How many script calls the server counts during an action. */
async function scriptsDuring(act: () => Promise<unknown>): Promise<number> {
  const scripts = async (): Promise<number> => {
    const calls = await callsOf(server)
    return (calls.evalsha ?? 0) + (calls.eval ?? 0)
  }
  const before = await scripts()
  await act()
  return (await scripts()) - before
}

test('what a killed process held is free after 61/60 of its time, and not before its time is over', async () => {
  await judged(killed)
})

let runs = 0
async function killed(): Promise<void> {
  const child = await startHolder()
  const holdMs = 2_000
  runs += 1
  const prefix = `killed${runs}:`
  const job = { port: server.port, prefix, limit: 3, holdMs, lines: 3, holds: 1 }
  const limiter = limiterOf(prefix, 3, holdMs)
  child.send({ ...job, workMs: 1_000_000 } satisfies HoldJob)
  await vi.waitFor(async () => expect((await limiter.peek('k')).remaining).toBe(0))
  // It renews them until it dies.
  await new Promise((resolve) => setTimeout(resolve, 2 * holdMs))
  expect((await limiter.peek('k')).remaining).toBe(0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const { resetAfterMs, remaining } = await limiter.peek('k')
  expect(remaining).toBe(0)
  expect(resetAfterMs).toBeLessThanOrEqual((holdMs * 61) / 60 + 1)
  // Renewed after a third at the latest.
  expect(resetAfterMs).toBeGreaterThan(holdMs / 2)
  const { allowed, waitedMs } = await limiter.wait('k', { timeout: '20s' })
  expect(allowed).toBe(true)
  expect(waitedMs).toBeGreaterThan(holdMs / 2 - 100)
}

test('everything that a process holds is renewed in one call', async () => {
  await judged(renewed)
})

async function renewed(): Promise<void> {
  runs += 1
  const limiter = limiterOf(`renew${runs}:`, 50, 1_500)
  await limiter.hold('first', () => {})
  const some = Array.from({ length: 20 }, (_, i) => `k${i}`)
  const held = await Promise.all(some.map((key) => limiter.acquire(key)))
  const calls = await scriptsDuring(() => new Promise((resolve) => setTimeout(resolve, 750)))
  // After a third of its time. The first one also sends the script.
  expect(calls).toBeGreaterThanOrEqual(1)
  expect(calls).toBeLessThanOrEqual(2)
  await Promise.all(held.map((each) => each.release()))
  expect((await limiter.peek('k7')).remaining).toBe(50)
}

test('while Redis is away the local quota holds, and slots stay held, and are counted again when it is back', async () => {
  const own = await startRedis()
  const ownClient = await patientClient(own.port)
  onTestFinished(() => ownClient.disconnect())
  ownClient.on('error', () => {})
  const store = redisStore(ownClient, { instances: 2, deadlineMs: 300 })
  onTestFinished(() => store.close())
  const policy = concurrency({ name: 'open', limit: 6, holdTimeout: '3s' })
  const limiter = new RateLimiter({ name: 'outage', store, policy })
  onTestFinished(() => limiter.close({ slots: 'expire' }))
  const held = [await limiter.acquire('k'), await limiter.acquire('k')]
  await own.stop()
  await vi.waitFor(async () => expect((await limiter.peek('k')).degraded).toBe(true))
  // Its half of the limit, less its half of what was seen to be taken.
  let admitted = 0
  for (let i = 0; i < 10; i += 1) if ((await limiter.acquire('k')).allowed) admitted += 1
  expect(admitted).toBeGreaterThan(0)
  expect(admitted).toBeLessThanOrEqual(3)
  expect(held.every(({ signal }) => !signal.aborted)).toBe(true)
  const back = await startRedis({ port: own.port })
  onTestFinished(() => back.stop())
  // Redis has lost them; each holder takes its slot again.
  await vi.waitFor(async () => {
    const { degraded, remaining } = await limiter.peek('k')
    expect(degraded).toBe(false)
    expect(remaining).toBeLessThanOrEqual(6 - held.length)
  })
  for (const each of held) await each.release()
})
