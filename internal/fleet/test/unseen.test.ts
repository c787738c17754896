// Two rows of docs/resilience.md that no scenario has: single calls that fail beside processes that
// reach Redis, and keys that a process no longer remembers. In virtual time.

import { expect, test } from 'vitest'
import type { Policy } from '../../../packages/core/src/algorithms/policy.js'
import { slidingWindow } from '../../../packages/core/src/index.js'
import { inTime, RateLimiter } from '../../../packages/core/src/limiter/limiter.js'
import { redisStoreIn } from '../../../packages/core/src/redis/store.js'
import { algorithms } from '../../../packages/core/src/testing/algorithms.js'
import { type SimulatedConnection, simulatedConnection } from '../src/network/connection.js'
import {
  failedCallsBesidePeers,
  localQuotas,
  moreKeysThanRemembered,
} from '../src/promises/bounds.js'
import { Machine } from '../src/redis/machine.js'
import { SimulatedRedis } from '../src/redis/server.js'
import { Host } from '../src/world/host.js'
import { World } from '../src/world/world.js'

const LIMIT = 100
const SIZE = 4
const LATENCY = { leastUs: 100, mostUs: 300 }
const SECOND_US = 1_000_000
/** The smallest number of keys that a process may be told to remember. */
const REMEMBERED = 1_000

const policies: readonly (readonly [string, Policy])[] = Object.values(algorithms)
  .filter(({ api }) => api.consume === 'takes 3')
  .flatMap(({ policies }) => Object.entries(policies))
  .map(([name, { of }]) => [name, of(LIMIT, '1d', 'day')])

interface Member {
  readonly connection: SimulatedConnection
  readonly limiter: RateLimiter
}

class Processes {
  readonly world: World = new World(1)
  readonly machine: Machine
  readonly all: readonly Member[]
  readonly passed: Map<string, number> = new Map()

  constructor(policy: Policy) {
    const { world } = this
    this.machine = new Machine(world, 'redis', new SimulatedRedis(() => world.nowUs))
    this.all = Array.from({ length: SIZE }, (_, rank) => {
      const host = new Host(world, `p${rank}`)
      const connection = simulatedConnection(host, this.machine, LATENCY, 100)
      const instances = { count: SIZE, rank }
      const options = { instances, maxLocalKeys: REMEMBERED }
      const store = redisStoreIn(host.time, connection, options)
      const own = inTime(host.time, { name: 'one', store, policy, shared: true })
      return { connection, limiter: new RateLimiter(own) }
    })
  }

  /** Each takes as many units as it gets. */
  async take(some: readonly Member[], key: string, units: number = LIMIT): Promise<void> {
    for (const { limiter } of some) {
      void limiter.consumeUpTo(key, units).then(({ granted }) => {
        this.passed.set(key, (this.passed.get(key) ?? 0) + granted)
      })
      await this.world.runFor(2_000)
    }
  }

  async away(): Promise<void> {
    this.machine.isDown = true
    for (const { connection } of this.all) connection.reset()
    await this.world.runFor(SECOND_US)
  }

  async back(): Promise<void> {
    this.machine.isDown = false
    await this.world.runFor(10 * SECOND_US)
  }
}

async function begun(policy: Policy): Promise<Processes> {
  const processes = new Processes(policy)
  await processes.world.runFor(SECOND_US)
  return processes
}

test.each(policies)('%s: what is admitted in a blip is counted, once', async (_, policy) => {
  const processes = await begun(policy)
  const { all, passed, world } = processes
  const some = all.slice(0, -1)
  const cost = LIMIT / SIZE - 1
  await processes.take(all, 'key', 1)
  for (const { connection } of some) connection.reset()
  await processes.take(some, 'key', cost)
  expect(passed.get('key')).toBe(SIZE + some.length * cost)
  await processes.take(all.slice(-1), 'key')
  await world.runFor(10 * SECOND_US)
  await processes.take(all, 'key')
  expect(passed.get('key')).toBeLessThanOrEqual(failedCallsBesidePeers(LIMIT, some.length * cost))
  expect(passed.get('key')).toBeGreaterThanOrEqual(LIMIT)
})

test('a forgotten key has local quotas beside the limit, and one that is used up none', async () => {
  const processes = await begun(slidingWindow({ name: 'day', limit: LIMIT, window: '1d' }))
  const { all, passed, world } = processes
  await processes.take(all.slice(-1), 'used', LIMIT - SIZE)
  await processes.take(all, 'used', 1)
  await processes.take(all, 'spent')
  for (const { limiter } of all)
    for (let i = 0; i < 5 * REMEMBERED; i += 1) void limiter.consume(`other-${i}`)
  await world.runFor(SECOND_US)
  await processes.away()
  for (const key of ['used', 'spent']) await processes.take(all, key)
  await processes.back()
  for (const key of ['used', 'spent']) await processes.take(all, key)
  const quotas = localQuotas(LIMIT, SIZE)
  expect(passed.get('used')).toBeLessThanOrEqual(moreKeysThanRemembered(LIMIT, quotas))
  expect(passed.get('used')).toBeGreaterThan(LIMIT)
  expect(passed.get('spent')).toBe(LIMIT)
})
