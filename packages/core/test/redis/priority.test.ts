// Classes of requests on a real Redis: compared with a model, merged in calls, and requested by
// two processes at ten times the limit.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, slidingLog } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import {
  priorityWalks,
  type Sums,
  takePriorityWalk,
  walkedPolicies,
} from '../limiter/priority-walk.js'
import { randomFrom } from '../virtual-time.js'
import {
  type ClassJob,
  type ClassReport,
  LIMIT,
  type PriorityClass,
  RESERVE,
  WINDOW_MS,
} from './classes/classes.js'
import { singleClient, strictStore } from './clients.js'
import { workerRedis } from './servers.js'

const client = singleClient()
const leases = { units: 50, holdMs: 1_000 }
let runs = 0
function newName(): string {
  runs += 1
  return `classes${process.pid}-${runs}`
}

test.each(Object.entries(walkedPolicies))(
  'whatever is requested, a class takes nothing of what it leaves to others: %s, on Redis',
  async (name, policiesOf) => {
    const clock = fakeClock()
    const store = strictStore(client, { clock, leases, instances: 1 })
    const sums: Sums = { denied: 0, kept: 0 }
    const walks = priorityWalks(name.includes('beside') ? 2 : 1)
    await fc.assert(
      fc.asyncProperty(walks, async (walk) => {
        const policies = policiesOf(walk.limits)
        await takePriorityWalk({ walk, policies, store, clock, name: newName() }, sums)
      }),
      { numRuns: stepsOf(4, 400), seed: seedOf(1) },
    )
    expect(sums.kept).toBeGreaterThan(0)
    await store.close()
  },
)

/** A store over the client, with a record of its calls. */
function noted() {
  const calls: string[][] = []
  const spy = {
    callBuffer(command: string, args: string[]) {
      calls.push(args)
      return client.callBuffer(command, args)
    },
  }
  return { store: strictStore(spy, { instances: 1, clock: fakeClock() }), calls }
}

test('requests of all classes of one turn are one call, equal ones one entry, each with its own answer', async () => {
  const { store, calls } = noted()
  const policy = slidingLog({ limit: 10, window: '1m' })
  const reserve = { batch: 0.5 }
  const limiter = new RateLimiter({ name: newName(), store, policy, reserve })
  await limiter.consume('warm', { priority: 'batch' })
  calls.length = 0
  const asked = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? 'batch' : 'critical'))
  const decisions = await Promise.all(asked.map((priority) => limiter.consume('k', { priority })))
  expect(calls.map((args) => args[1])).toEqual(['2'])
  const of = (some: string) =>
    decisions
      .filter(({ priority }) => priority === some)
      .map(({ allowed, remaining }) => [allowed, remaining])
  // In the order of their first requests.
  expect(of('batch')).toEqual([
    ...Array.from({ length: 5 }, (_, i) => [true, 4 - i]),
    ...Array(3).fill([false, 0]),
  ])
  expect(of('critical')).toEqual([
    ...Array.from({ length: 5 }, (_, i) => [true, 4 - i]),
    ...Array(3).fill([false, 0]),
  ])
  await store.close()
})

test('a denied class is answered without a call, while others are sent', async () => {
  const { store, calls } = noted()
  const policy = fixedWindow({ limit: 10, window: '1h' })
  const reserve = { normal: 0.2, batch: 0.5 }
  const limiter = new RateLimiter({ name: newName(), store, policy, reserve })
  for (let i = 0; i < 9; i += 1) await limiter.consume('k', { priority: 'critical' })
  for (const priority of ['batch', 'normal']) await limiter.consume('k', { priority })
  calls.length = 0
  for (let i = 0; i < 10; i += 1) {
    for (const priority of ['batch', 'normal'])
      expect(await limiter.consume('k', { priority })).toMatchObject({
        allowed: false,
        remaining: 0,
        source: 'cache',
      })
  }
  expect(calls).toEqual([])
  const last = await limiter.consume('k', { priority: 'critical' })
  expect(last).toMatchObject({ allowed: true, remaining: 0, source: 'store' })
  await limiter.refund('k', { cost: 9 })
  expect(await limiter.consume('k', { priority: 'batch' })).toMatchObject({ allowed: true })
  await store.close()
})

test('units leased to requests without a class are still available to those with one', async () => {
  const clock = fakeClock()
  const store = strictStore(client, { clock, leases, instances: 1 })
  const policy = slidingLog({ limit: 400, window: '10s' })
  const limiter = new RateLimiter({ name: newName(), store, policy, reserve: { batch: 0.5 } })
  for (let i = 0; i < 60; i += 1) await limiter.consume('k')
  expect((await limiter.peek('k', { priority: 'batch' })).remaining).toBe(140)
  for (let i = 0; i < 60; i += 1) await limiter.consume('k')
  const { granted } = await limiter.consumeUpTo('k', 400, { priority: 'batch' })
  expect(granted).toBe(80)
  for (let i = 0; i < 300; i += 1) await limiter.consume('k', { priority: 'critical' })
  const last = await limiter.peek('k')
  expect(last).toMatchObject({ allowed: false, remaining: 0 })
  await store.close()
})

describe('two processes at ten times the limit', () => {
  const PROCESSES = 2
  const script = fileURLToPath(new URL('classes/start.mjs', import.meta.url))
  const { port } = workerRedis()
  let processes: readonly ChildProcess[]
  beforeAll(async () => {
    processes = await Promise.all(
      Array.from({ length: PROCESSES }, async () => {
        const child = fork(script)
        await once(child, 'message')
        return child
      }),
    )
  })
  afterAll(() => {
    for (const each of processes) each.kill()
  })

  /** All processes send their part of the requests at once. */
  async function ask(
    { policy, leases }: Pick<ClassJob, 'policy' | 'leases'>,
    nowUs: number,
    classes: readonly PriorityClass[],
  ): Promise<ClassReport['passed']> {
    const reports = await Promise.all(
      processes.map(async (child, i) => {
        const reported = once(child, 'message')
        const own = classes.filter((_, place) => place % PROCESSES === i)
        child.send({ port, policy, leases, nowUs, classes: own } satisfies ClassJob)
        return (await reported)[0] as ClassReport
      }),
    )
    expect(reports.flatMap(({ errors }) => errors)).toEqual([])
    // No request is denied what is left to its class.
    expect(reports.map(({ wrong }) => wrong)).toEqual(reports.map(() => 0))
    const sum = (of: PriorityClass) => reports.reduce((all, { passed }) => all + passed[of], 0)
    return { critical: sum('critical'), normal: sum('normal'), batch: sum('batch') }
  }

  function many(count: number, of: PriorityClass): PriorityClass[] {
    return Array(count).fill(of)
  }

  const random = randomFrom(seedOf(1))
  /** In random order. */
  function mixed(classes: readonly PriorityClass[]): PriorityClass[] {
    return classes
      .map((each) => ({ each, at: random() }))
      .sort((one, other) => one.at - other.at)
      .map(({ each }) => each)
  }

  /** Of all classes. */
  function tenTimes(): PriorityClass[] {
    return mixed([
      ...many(3 * LIMIT, 'critical'),
      ...many(3 * LIMIT, 'normal'),
      ...many(4 * LIMIT, 'batch'),
    ])
  }

  const OF_BATCH = LIMIT * (1 - RESERVE.batch)
  const OF_LOWER = LIMIT * (1 - RESERVE.normal)
  /** What only `critical` may take. */
  const RESERVED = LIMIT - OF_LOWER
  /** Far enough apart that nothing of one instant counts at the next. */
  const FAR_US = 10 * WINDOW_MS * 1_000

  /** One that refills all the time, and one that does not. */
  const policies = ['tokenBucket', 'slidingWindow']
  test.each(policies)(
    'no class uses up the reserve, and critical is denied only when everything is used: %s',
    async (name) => {
      const policy = { policy: name, leases: false }
      let nowUs = Date.UTC(2026, 0, 1) * 1_000
      // All at once.
      const all = await ask(policy, nowUs, tenTimes())
      expect(all.critical + all.normal + all.batch).toBe(LIMIT)
      expect(all.batch).toBeLessThanOrEqual(OF_BATCH)
      expect(all.batch + all.normal).toBeLessThanOrEqual(OF_LOWER)
      expect(all.critical).toBeGreaterThanOrEqual(RESERVED)

      // The reserve is available, whatever the others request.
      nowUs += FAR_US
      const some = await ask(
        policy,
        nowUs,
        mixed([
          ...many(RESERVED, 'critical'),
          ...many(4 * LIMIT, 'normal'),
          ...many(5 * LIMIT, 'batch'),
        ]),
      )
      expect(some.critical).toBe(RESERVED)

      // Classes that have to leave something come first.
      nowUs += FAR_US
      const lower = await ask(policy, nowUs, many(5 * LIMIT, 'batch'))
      expect(lower).toEqual({ critical: 0, normal: 0, batch: OF_BATCH })
      const middle = await ask(policy, nowUs, many(5 * LIMIT, 'normal'))
      expect(middle).toEqual({ critical: 0, normal: OF_LOWER - OF_BATCH, batch: 0 })
      const higher = await ask(policy, nowUs, many(RESERVED, 'critical'))
      expect(higher).toEqual({ critical: RESERVED, normal: 0, batch: 0 })

      // Everything is available if no lower class took any.
      nowUs += FAR_US
      const alone = await ask(policy, nowUs, many(10 * LIMIT, 'critical'))
      expect(alone).toEqual({ critical: LIMIT, normal: 0, batch: 0 })
    },
  )

  test.each(policies)('leases do not use up the reserve either: %s', async (name) => {
    const policy = { policy: name, leases: true }
    let nowUs = Date.UTC(2026, 0, 1) * 1_000
    const all = await ask(policy, nowUs, tenTimes())
    expect(all.critical + all.normal + all.batch).toBeLessThanOrEqual(LIMIT)
    expect(all.batch).toBeLessThanOrEqual(OF_BATCH)
    expect(all.batch + all.normal).toBeLessThanOrEqual(OF_LOWER)

    // Each process holds at most a tenth of the limit, which the others lack.
    const held = PROCESSES * (LIMIT / 10)
    nowUs += FAR_US
    const { batch } = await ask(policy, nowUs, many(5 * LIMIT, 'batch'))
    expect(batch).toBeLessThanOrEqual(OF_BATCH)
    expect(batch).toBeGreaterThanOrEqual(OF_BATCH - held)
    const { normal } = await ask(policy, nowUs, many(5 * LIMIT, 'normal'))
    expect(batch + normal).toBeLessThanOrEqual(OF_LOWER)
    expect(batch + normal).toBeGreaterThanOrEqual(OF_LOWER - held)
    const { critical } = await ask(policy, nowUs, many(5 * LIMIT, 'critical'))
    expect(batch + normal + critical).toBeLessThanOrEqual(LIMIT)
    expect(batch + normal + critical).toBeGreaterThanOrEqual(LIMIT - held)
  })
})
