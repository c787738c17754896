// Slots and estimates on Redis: over several processes, and what they cost.

import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { budget, concurrency, RateLimiter, slidingWindow } from '../../src/index.js'
import { correctionOf, makePolicySet } from '../../src/request.js'
import type { StoreRequest } from '../../src/store.js'
import type { HoldReport } from './holders/holder.js'
import { reportOf, startHolder } from './holders/start-holder.js'
import { ownRedis } from './own.js'
import { patientStore } from './patient.js'
import { callsOf } from './stats.js'

const { server, client } = await ownRedis()

test('two processes never hold more than the limit, every waiting request gets a slot, and all come back', async () => {
  const children = await Promise.all([0, 1].map(startHolder))
  const shape = { limit: 7, holdMs: 60_000, lines: 10, holds: 15, workMs: 4 }
  const reports = await Promise.all(
    children.map((child) =>
      reportOf<HoldReport>(child, { port: server.port, prefix: 'two:', ...shape }),
    ),
  )
  expect(reports.map(({ granted }) => granted)).toEqual(Array(2).fill(150))
  expect(Math.max(...reports.map(({ most }) => most))).toBeLessThanOrEqual(7)
  const policy = concurrency({ name: 'open', limit: 7, holdTimeout: 60_000 })
  const store = patientStore(client, { prefix: 'two:' })
  const limiter = new RateLimiter({ name: 'holders', store, policy, shared: true })
  expect((await limiter.peek('k')).remaining).toBe(7)
  limiter.close({ slots: 'expire' })
})

test('a process that is killed with 100 estimates gives them back after holdTimeout, once, and not what it had settled', async () => {
  const [limit, holdMs, settled] = [500, 600_000, 10]
  const nowUs = 1_800_000_000_000_000
  const child = await startHolder()
  const job = { port: server.port, prefix: 'killed:', limit, holdMs, streams: 110, settled, nowUs }
  expect(await reportOf(child, job)).toBe('open')
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])

  let us = nowUs + 110_000
  const store = patientStore(client, { prefix: 'killed:', clock: { nowUs: () => us } })
  const policy = budget({ name: 'units', limit, holdTimeout: holdMs })
  const limiter = new RateLimiter({ name: 'streams', store, policy })
  const left = async () => (await limiter.peek('k')).remaining
  // Another process spends meanwhile.
  await limiter.settle(await limiter.consume('k', { cost: 30 }), 30)
  expect(await left()).toBe(limit - 100 - 2 * settled - 30)
  us = nowUs + holdMs * 1_000
  expect(await left()).toBe(limit - 100 - 2 * settled - 30)
  us += (holdMs * 1_000) / 60 + 110_000
  expect(await left()).toBe(limit - 2 * settled - 30)
  us += 10 * holdMs * 1_000
  expect(await left()).toBe(limit - 2 * settled - 30)
})

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
