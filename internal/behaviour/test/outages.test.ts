// Redis freezes and dies under every framework at once: no request fails or is late by more than
// the deadline, and limits hold. The fault matrix (internal/fleet) has what stores do meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'
import { fixedWindow, recommendedRedisOptions, redisStore } from '@weir/core'
import { judged, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { ask } from './client.js'
import type { ServerKind } from './servers/kind.js'
import { servers } from './servers/table.js'

const LIMIT = 15
/** The deadline of the store is 100 ms. */
const LONGER_MS = 150

/** Requests that come every 50 ms, whether or not earlier ones were answered. */
function loadOn(url: string) {
  const statuses: number[] = []
  const pending = new Set<Promise<void>>()
  let slowestMs = 0
  async function request(): Promise<void> {
    const atMs = performance.now()
    const status = await ask(url).then(
      (answer) => answer.status,
      () => 599,
    )
    statuses.push(status)
    slowestMs = Math.max(slowestMs, performance.now() - atMs)
  }
  const timer = setInterval(() => {
    const sent = request().finally(() => pending.delete(sent))
    pending.add(sent)
  }, 50)
  return {
    slowestMs: () => slowestMs,
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
      const others = statuses.filter((status) => status !== 200 && status !== 429)
      return { others, admitted: statuses.filter((status) => status === 200).length, slowestMs }
    },
  }
}

async function faults(kinds: readonly ServerKind[]) {
  let redis = await startRedis()
  const client = new Redis(redis.port, recommendedRedisOptions)
  client.on('error', () => {})
  const store = redisStore(client)
  const policy = fixedWindow({ limit: LIMIT, window: '1h' })
  await new Promise((resolve) => client.once('ready', resolve))
  const running = await Promise.all(
    kinds.map((kind, i) => kind.start({ limiters: [{ name: `l${i}`, store, policy }] })),
  )
  try {
    const loads = running.map(({ url }) => loadOn(url))
    await sleep(400)
    const healthyMs = Math.max(...loads.map(({ slowestMs }) => slowestMs()))
    redis.kill('SIGSTOP')
    await sleep(600)
    redis.kill('SIGCONT')
    await sleep(300)
    redis.kill('SIGKILL')
    await redis.stop()
    await sleep(600)
    redis = await startRedis({ port: redis.port })
    await sleep(600)
    const found = await Promise.all(loads.map(({ stop }) => stop()))
    return found.map((each, i) => ({ name: kinds[i]?.name, healthyMs, ...each }))
  } finally {
    await Promise.all(running.map(({ close }) => close()))
    await store.close()
    client.disconnect()
    await redis.stop()
  }
}

test('while Redis freezes, dies and comes back, every framework answers in time, and fails nobody', () =>
  judged(async () => {
    const found = await faults(servers)
    expect(found.map(({ name, others }) => [name, others])).toEqual(
      servers.map(({ name }) => [name, []]),
    )
    for (const { name, admitted, slowestMs, healthyMs } of found) {
      expect(slowestMs, name).toBeLessThan(healthyMs + LONGER_MS)
      expect(admitted, name).toBeGreaterThanOrEqual(LIMIT)
      expect(admitted, name).toBeLessThanOrEqual(2 * LIMIT)
    }
  }))
