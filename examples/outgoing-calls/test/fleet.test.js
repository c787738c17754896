// @ts-check
// A fleet of real processes on a real Redis.

import { once } from 'node:events'
import { startRedis, waitUntil } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { startWorker } from '../src/start-worker.js'
import { startThirdParty } from '../src/third-party.js'

/** The time between two turns. */
const TURN_MS = 25

/** A busy machine may delay calls, so that some arrive closer together. Hence the third party
 *  allows all calls here, and the test checks that none arrives before its turn. */
async function stage() {
  const all = Number.POSITIVE_INFINITY
  const [redis, thirdParty] = await Promise.all([startRedis(), startThirdParty(all)])
  const workers = await Promise.all(Array.from({ length: 4 }, () => startWorker(redis.url)))
  onTestFinished(async () => {
    thirdParty.close()
    await Promise.all(workers.map(({ child, stop }) => (child.connected ? stop() : undefined)))
    await redis.stop()
  })
  return { redis, thirdParty, workers }
}

test('four processes with 30 calls each, all requested at once, never call too often, and wait in one queue', async () => {
  const { redis, thirdParty, workers } = await stage()
  const { url, counts, arrivals, done } = thirdParty
  await redis.command('CONFIG', 'RESETSTAT')
  const begun = performance.now()
  const reports = await Promise.all(
    workers.map(({ work }, i) => work({ url, name: `worker${i}`, jobs: 30 })),
  )
  for (const report of reports) expect(report).toEqual({ called: 30, refused: 0, postponed: 0 })
  expect(counts).toMatchObject({ calls: 120, complaints: 0 })
  for (const [i, at] of arrivals.entries()) expect(at - begun).toBeGreaterThan(i * TURN_MS - 1)
  expect(new Set(done).size).toBe(120)
  // Nobody asks repeatedly: calls of one turn of the event loop travel together.
  const stats = String(await redis.command('INFO', 'commandstats'))
  const scripts = [...stats.matchAll(/cmdstat_evalsha:calls=(\d+)/g)].map(([, calls]) => calls)
  expect(Number(scripts[0])).toBeLessThanOrEqual(120)
})

test('a killed worker leaves its turns unused, and delays the others by no more than those', async () => {
  const { thirdParty, workers } = await stage()
  const { url, counts, done } = thirdParty
  const [first, ...others] = workers
  void first?.work({ url, name: 'killed', jobs: 40 })
  // Its 40 reserved turns take a second of the queue.
  await waitUntil('its first calls', async () => done.length >= 2)
  const begun = performance.now()
  const reports = others.map(({ work }, i) => work({ url, name: `worker${i}`, jobs: 10 }))
  const exit = once(/** @type {import('node:child_process').ChildProcess} */ (first?.child), 'exit')
  first?.child.kill('SIGKILL')
  await exit
  for (const report of await Promise.all(reports))
    expect(report).toEqual({ called: 10, refused: 0, postponed: 0 })
  const tookMs = performance.now() - begun
  // 70 turns, and not the 30 s for which any of them would wait.
  expect(tookMs).toBeLessThan(70 * TURN_MS + 15_000)
  expect(counts.complaints).toBe(0)
  expect(done.filter((job) => job.startsWith('worker'))).toHaveLength(30)
})

test('without a limiter, the third party refuses all calls beyond its limit', async () => {
  const thirdParty = await startThirdParty(1)
  onTestFinished(() => thirdParty.close())
  // However slow the machine is, some of these arrive within one second.
  const calls = Array.from({ length: 100 }, (_, i) => fetch(`${thirdParty.url}/${i}`))
  await Promise.all(calls)
  expect(thirdParty.counts.most).toBeGreaterThan(1)
  expect(thirdParty.counts.complaints).toBeGreaterThan(0)
})
