// Slots on Redis: over several processes, through a crash, and what they cost.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { concurrency, RateLimiter, redisStore, slidingWindow } from '../../src/index.js'
import { correctionOf, makePolicySet } from '../../src/request.js'
import type { StoreRequest } from '../../src/store.js'
import type { HoldJob, HoldReport } from './holders/holder.js'
import { patientClient, patientStore } from './patient.js'
import { callsOf } from './stats.js'

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

const PATIENT = { timeout: 20_000, interval: 20 }

async function startHolder(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('holders/start.mjs', import.meta.url))
  const child = fork(script)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

async function reportOf(child: ChildProcess, job: HoldJob): Promise<HoldReport> {
  const reported = once(child, 'message')
  child.send(job)
  const [report] = await reported
  return report as HoldReport
}

function limiterOf(prefix: string, limit: number, holdTimeout: number) {
  const store = patientStore(client, { prefix })
  const policy = concurrency({ name: 'open', limit, holdTimeout })
  const limiter = new RateLimiter({ name: 'holders', store, policy, shared: true })
  onTestFinished(() => limiter.close({ slots: 'expire' }))
  return limiter
}

test('four processes never hold more than the limit, every waiting request gets a slot, and all come back', async () => {
  const children = await Promise.all([0, 1, 2, 3].map(startHolder))
  const shape = { limit: 7, holdMs: 60_000, lines: 10, holds: 25, workMs: 4 }
  const job: HoldJob = { port: server.port, prefix: 'four:', ...shape }
  const reports = await Promise.all(children.map((child) => reportOf(child, job)))
  expect(reports.map(({ granted }) => granted)).toEqual(Array(4).fill(250))
  expect(Math.max(...reports.map(({ most }) => most))).toBeLessThanOrEqual(7)
  expect((await limiterOf('four:', 7, 60_000).peek('k')).remaining).toBe(7)
}, 120_000)

test('what a killed process held is free after 61/60 of its time, and not before its time is over', async () => {
  const child = await startHolder()
  const holdMs = 2_000
  const job = { port: server.port, prefix: 'killed:', limit: 3, holdMs, lines: 3, holds: 1 }
  const limiter = limiterOf('killed:', 3, holdMs)
  child.send({ ...job, workMs: 1_000_000 } satisfies HoldJob)
  await vi.waitFor(async () => expect((await limiter.peek('k')).remaining).toBe(0), PATIENT)
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
}, 60_000)

test('slots that a refund gives back do not end those that were lost before', async () => {
  const store = patientStore(client, { prefix: 'refund:' })
  const policySet = makePolicySet('refund', [
    concurrency({ name: 'open', limit: 3, holdTimeout: '1m' }),
  ])
  const target = { policySet, key: 'k' }
  const one = { target, costs: [1], count: 1 }
  const take: StoreRequest = { mode: 'consume', ...one }
  const lost = await store.decide(take)
  for (const key of await client.keys('refund:*')) await client.del(key)
  await store.decide(correctionOf('refund', target, [1], await store.decide(take)))
  expect(await client.keys('refund:*')).toEqual([])
  const { untilUs, nowUs: seenUs } = lost
  const renewed = await store.decide({ mode: 'renew', ...one, untilUs, seenUs })
  expect([renewed.granted, renewed.policies[0]?.remaining]).toEqual([1, 2])
})

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

test('all holds that begin in one turn are one call, and so are all that end, with one more for settlements', async () => {
  const store = patientStore(client, { prefix: 'work:' })
  const policy = [
    concurrency({ name: 'open', limit: 50, holdTimeout: '1m' }),
    slidingWindow({ name: 'rate', limit: 100, window: '1m' }),
  ]
  const limiter = new RateLimiter({ name: 'work', store, policy })
  onTestFinished(() => limiter.close())
  // So that the server knows the scripts.
  await limiter.hold('first', () => {})
  await limiter.settle(await limiter.consume('first'), 2)
  const some = Array.from({ length: 10 }, (_, i) => `k${i}`)
  let held: Awaited<ReturnType<typeof limiter.acquire>>[] = []
  const begin = async () => {
    held = await Promise.all(some.map((key) => limiter.acquire(key)))
  }
  expect(await scriptsDuring(begin)).toBe(1)
  expect(await scriptsDuring(() => Promise.all(held.map((each) => each.release())))).toBe(1)
  await begin()
  const end = () =>
    Promise.all(held.flatMap((each) => [limiter.settle(each, { rate: 3 }), each.release()]))
  const calls = await scriptsDuring(end)
  // One call of each kind for each turn; the order of a limiter's requests may close a call early.
  expect(calls).toBeLessThanOrEqual(2)
  expect((await limiter.peek('k3')).policies.map(({ remaining }) => remaining)).toEqual([50, 96])
})

test('everything that a process holds is renewed in one call', async () => {
  const limiter = limiterOf('renew:', 50, 1_500)
  await limiter.hold('first', () => {})
  const some = Array.from({ length: 20 }, (_, i) => `k${i}`)
  const held = await Promise.all(some.map((key) => limiter.acquire(key)))
  const calls = await scriptsDuring(() => new Promise((resolve) => setTimeout(resolve, 750)))
  // After a third of its time; twice if the machine was slow. The first one also sends the script.
  expect(calls).toBeGreaterThanOrEqual(1)
  expect(calls).toBeLessThanOrEqual(3)
  await Promise.all(held.map((each) => each.release()))
  expect((await limiter.peek('k7')).remaining).toBe(50)
})

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
  await vi.waitFor(async () => expect((await limiter.peek('k')).degraded).toBe(true), PATIENT)
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
  }, PATIENT)
  for (const each of held) await each.release()
}, 60_000)
