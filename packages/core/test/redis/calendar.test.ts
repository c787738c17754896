// Calendar periods in Redis: the process names the period, and the server's clock decides whether
// it is the right one. Here the test sets that clock: a client writes it into each call.

import { describe, expect, test } from 'vitest'
import type { Kernel } from '../../src/algorithms/algorithm.js'
import { processTime } from '../../src/base/time.js'
import { fixedWindow, type Policy, RateLimiter, type RedisStoreOptions } from '../../src/index.js'
import type { RedisLike } from '../../src/redis/clients/ioredis/redis-like.js'
import type { RedisStore } from '../../src/redis/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { newName, singleClient, strictStore } from './clients.js'
import { redisStoreOf } from './patient.js'

const client = singleClient()
/** A time that a test moves, for the server and all processes; the clock of each may be off. */
interface World {
  nowMs: number
}

interface Process {
  readonly limiter: RateLimiter
  readonly store: RedisStore
  /** The number of calls of the script so far. */
  readonly calls: () => number
}

const PATIENT: RedisStoreOptions = {
  deadlineMs: 60_000,
  whenUnavailable: 'throw',
  instances: 1,
  denyCache: false,
}

/** For a decision by one policy: its numbers, then perhaps the time and the mode. */
const POLICY_NUMBERS = 3

function processOf(
  world: World,
  { name, policy, offMs }: { name: string; policy: Policy; offMs: number },
  serverMs: () => number = () => world.nowMs,
  knowsScript = true,
): Process {
  let calls = 0
  const onServersClock: RedisLike = {
    callBuffer(command, args) {
      if (!/^evalsha$|^eval$/.test(command)) return client.callBuffer(command, args)
      if (command === 'evalsha') calls += 1
      if (!knowsScript && command === 'evalsha') {
        return Promise.reject(new Error('NOSCRIPT No matching script.'))
      }
      const [head, numkeys, ...rest] = args as [string, string, ...string[]]
      const at = Number(numkeys) + POLICY_NUMBERS
      const [now = '', mode = 'consume'] = rest.slice(at)
      expect(now).toBe('')
      const set = [...rest.slice(0, at), String(serverMs() * 1_000), mode, ...rest.slice(at + 2)]
      return client.callBuffer(command, [head, numkeys, ...set])
    },
  }
  const nowMs = (): number => world.nowMs
  const time = { ...processTime, nowMs, nowUs: () => (world.nowMs + offMs) * 1_000 }
  const store = redisStoreOf(time, onServersClock, PATIENT)
  return {
    limiter: new RateLimiter({ name, store, policy, shared: true }),
    store,
    calls: () => calls,
  }
}

const MONTH = { window: 'month', timeZone: 'Europe/Berlin' } as const
/** The end of November in Berlin. */
const END_MS = Date.parse('2026-11-30T23:00Z')

describe('two processes whose clocks are five minutes apart', () => {
  test('agree on the month, and ask once more only if their own clock was wrong', async () => {
    const world = { nowMs: END_MS - 1_000 }
    const [name, policy] = [newName(), fixedWindow({ limit: 10, ...MONTH })]
    const fast = processOf(world, { name, policy, offMs: 300_000 })
    const slow = processOf(world, { name, policy, offMs: -300_000 })
    expect(await fast.limiter.consume('k')).toMatchObject({ remaining: 9, resetAfterMs: 1_000 })
    expect(await slow.limiter.consume('k')).toMatchObject({ remaining: 8, resetAfterMs: 1_000 })
    expect([fast.calls(), slow.calls()]).toEqual([2, 1])
    world.nowMs = END_MS - 1
    expect(await fast.limiter.consume('k')).toMatchObject({ remaining: 7, resetAfterMs: 1 })
    expect(await slow.limiter.consume('k')).toMatchObject({ remaining: 6, resetAfterMs: 1 })
    world.nowMs = END_MS
    const decembers = 31 * 86_400_000
    const first = await slow.limiter.consume('k')
    expect(first).toMatchObject({ remaining: 9, resetAfterMs: decembers })
    expect(first.policy.windowMs).toBe(decembers)
    expect((await fast.limiter.consume('k')).remaining).toBe(8)
    // By now both know the server's time.
    expect([fast.calls(), slow.calls()]).toEqual([4, 3])
    for (const { store } of [fast, slow]) await store.close()
  })

  test('let exactly the limit pass on either side of a boundary under load', async () => {
    const limit = 200
    const world = { nowMs: END_MS - 200 }
    const [name, policy] = [newName(), fixedWindow({ limit, ...MONTH })]
    // The server is a little ahead, so calls leave in one month and arrive in the next.
    const serverMs = (): number => world.nowMs + (world.nowMs % 7)
    const fleet = [-300_000, -150, 150, 300_000].map((offMs) =>
      processOf(world, { name, policy, offMs }, serverMs),
    )
    const passed = { before: 0, after: 0 }
    for (; world.nowMs < END_MS + 200; world.nowMs += 5) {
      const side = serverMs() < END_MS ? 'before' : 'after'
      const decisions = await Promise.all(
        fleet.flatMap(({ limiter }) => [1, 1, 2].map((cost) => limiter.consume('k', { cost }))),
      )
      for (const { allowed, policies } of decisions)
        if (allowed) passed[side] += policies[0]?.cost as number
    }
    expect(passed).toEqual({ before: limit, after: limit })
    for (const { store } of fleet) await store.close()
  })
})

test('a clock that has left the period twice in a call decides nothing and writes nothing', async () => {
  const world = { nowMs: END_MS + 300_000 }
  const name = newName()
  const serverMs = [END_MS - 1, END_MS, END_MS]
  const policy = fixedWindow({ limit: 10, ...MONTH })
  const torn = processOf(world, { name, policy, offMs: 0 }, () => serverMs.shift() as number)
  await expect(torn.limiter.consume('k')).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  expect(torn.calls()).toBe(2)
  expect(await client.keys(`*${name}*`)).toEqual([])
  expect(await torn.limiter.consume('k')).toMatchObject({ remaining: 9 })
  await torn.store.close()
})

test('a script that the server has forgotten is sent, and sent for the right month', async () => {
  const world = { nowMs: END_MS - 1 }
  const policy = fixedWindow({ limit: 10, ...MONTH })
  const fast = processOf(world, { name: newName(), policy, offMs: 300_000 }, undefined, false)
  expect(await fast.limiter.consume('k')).toMatchObject({ remaining: 9, resetAfterMs: 1 })
  await fast.store.close()
})

test('a process whose clock is forty days off follows the clock of a real server', async () => {
  const policy = fixedWindow({ limit: 10, ...MONTH })
  const nowUs = (): number => (Date.now() + 40 * 86_400_000) * 1_000
  const store = redisStoreOf({ ...processTime, nowUs }, client, PATIENT)
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const decision = await limiter.consume('k', { cost: 3 })
  const { nowUs: thenUs, untilUs } = (decision.allowed && decision.receipt.result) as never as {
    nowUs: number
    untilUs: number[]
  }
  const { startMs, endMs } = (policy.kernel as Required<Kernel>).periodAt(thenUs)
  expect(untilUs.map((us) => Math.floor(us / 1_000))).toEqual([endMs])
  expect(decision.policy.windowMs).toBe(endMs - startMs)
  await limiter.refund(decision)
  expect((await limiter.peek('k')).remaining).toBe(10)
  await store.close()
})

test('of a stored end that is later than its own, the nearer end counts, and the count stays', async () => {
  const clock = fakeClock(END_MS - 5_000)
  const name = newName()
  const store = strictStore(client, { clock, instances: 1, denyCache: false })
  const policy = fixedWindow({ name: 'p', limit: 10, ...MONTH })
  const limiter = new RateLimiter({ name, store, policy })
  await limiter.consume('k')
  const [key] = (await client.keys(`*${name}*`)) as [string]
  // A zone's name cannot run into other parts of the key.
  expect(key.endsWith(':p:fixed1-month%40Europe%2FBerlin')).toBe(true)
  await client.set(key, `4:${END_MS + 3_600_000}`, 'PX', 600_000)
  expect(await limiter.peek('k')).toMatchObject({ remaining: 6, resetAfterMs: 5_000 })
  expect(await limiter.consume('k')).toMatchObject({ remaining: 5, resetAfterMs: 5_000 })
  expect(await client.get(key)).toBe(`5:${END_MS}`)
  // An earlier end stays as it is.
  await client.set(key, `4:${END_MS - 1_000}`, 'PX', 600_000)
  expect(await limiter.consume('k')).toMatchObject({ remaining: 5, resetAfterMs: 4_000 })
  await store.close()
})
