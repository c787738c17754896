// Redis loses data, all of it or what was written last, and processes that have seen different
// amounts of a key return one after the other. Redis is real, and time passes in steps.

import { afterEach, describe, expect, test } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  type Clock,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisStore,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { ownRedis } from './own.js'
import { redisStoreOf } from './patient.js'
import { stepTime } from './step-time.js'

const { client: redis } = await ownRedis()

const time = stepTime(() => redis.ping(), 50)

const open: RedisStore[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await time.settle(Promise.resolve(store.close()))
})

const LIMIT = 100
const POLICIES: readonly [string, () => Policy][] = [
  ['fixed window', () => fixedWindow({ limit: LIMIT, window: '1h' })],
  ['sliding log', () => slidingLog({ limit: LIMIT, window: '1h' })],
  ['sliding counter', () => slidingCounter({ limit: LIMIT, window: '1h' })],
  ['token bucket', () => tokenBucket({ capacity: LIMIT, refill: 1, every: '1h' })],
]

let runs = 0

/** Some processes that share a limit. */
function processes(count: number, policy: Policy | Policy[], clock?: Clock) {
  runs += 1
  const name = `losses${Date.now().toString(36)}${runs}`
  const passed = { units: 0 }
  const members = Array.from({ length: count }, (_, rank) => {
    const way = { isAway: false, fails: 'nothing' }
    const line = (): object => ({ cork() {}, uncork() {} })
    const client: RedisLike & { stream: object } = {
      status: 'ready',
      stream: line(),
      callBuffer: (command, args) =>
        way.isAway || args.includes(way.fails)
          ? Promise.reject(new Error('Connection is closed.'))
          : redis.callBuffer(command, args),
    }
    const instances = { count, rank }
    const options = { instances, clock, deadlineMs: 10_000, denyCache: false }
    const store = redisStoreOf(time, client, options)
    open.push(store)
    const limiter = new RateLimiter({ name, store, policy, shared: true })
    return Object.assign(way, {
      store,
      limiter,
      leaves: () => {
        way.isAway = true
      },
      returns: () => {
        way.isAway = false
        client.stream = line()
      },
      async consume(times: number) {
        for (let i = 0; i < times; i += 1)
          if ((await limiter.consume('k')).allowed) passed.units += 1
      },
      isBack: () =>
        time.until('the process is back', () => {
          const { state, localKeys } = store.health()
          return state !== 'open' && localKeys === 0
        }),
    })
  })
  return { members, passed }
}

type Member = ReturnType<typeof processes>['members'][number]

/** The data as they are now, to which Redis goes back. */
async function snapshot(): Promise<() => Promise<void>> {
  const keys = await redis.keys('*')
  const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  return async () => {
    await redis.flushall()
    for (const [i, key] of keys.entries()) await redis.restore(key, 3_600_000, values[i] as Buffer)
  }
}

describe.each(POLICIES)('%s', (_, make) => {
  test('60 units were taken by another process, and 30 and 20 without Redis, which comes back empty: what one has counted there is not taken for what the other has seen', async () => {
    const { members, passed } = processes(2, make())
    const [one, other] = members as [Member, Member]
    await other.consume(60)
    await time.pass(1_000)
    for (const member of members) member.leaves()
    await one.consume(30)
    await other.consume(20)
    await redis.flushall()
    one.returns()
    await one.isBack()
    await time.pass(1_500)
    other.returns()
    await other.isBack()
    // Until then, its quota is a ceiling for each.
    await time.pass(6_000)
    for (const member of members) await member.consume(60)
    // The first has not seen what the other took: its quota is half of what it takes to be left.
    expect(passed.units).toBeLessThanOrEqual(LIMIT + 60 / 2)
    expect(passed.units).toBeGreaterThanOrEqual(LIMIT)
  })

  test('the only process that has seen 97 of 100 has no quota left, and is back last: what it has seen is restored, though its request is denied without Redis', async () => {
    const { members, passed } = processes(4, make())
    const others = members.slice(0, 3)
    const last = members[3] as Member
    for (const member of others) await member.consume(1)
    await last.consume(97)
    await time.pass(1_000)
    for (const member of members) member.leaves()
    for (const member of members) await member.consume(30)
    await redis.flushall()
    for (const member of others) {
      member.returns()
      await member.isBack()
    }
    await time.pass(2_000)
    last.returns()
    await last.isBack()
    await last.consume(1)
    expect(last.store.health().state).toBe('half-open')
    // The others are no longer under their ceilings.
    await time.pass(3_500)
    for (const member of others) await member.consume(60)
    expect(passed.units).toBeLessThanOrEqual(LIMIT + 3 * Math.ceil(99 / 4))
    expect(passed.units).toBeGreaterThanOrEqual(LIMIT)
  })

  test('Redis comes back, after an outage, with what it held when 20 of 100 were taken: none passes again', async () => {
    const { members, passed } = processes(4, make())
    await members[0]?.consume(20)
    await time.pass(1_000)
    const goesBack = await snapshot()
    await members[0]?.consume(80)
    for (const member of members) await member.consume(1)
    for (const member of members) member.leaves()
    for (const member of members) await member.consume(5)
    await goesBack()
    for (const member of members) {
      member.returns()
      await member.isBack()
      await member.consume(10)
      await time.pass(700)
    }
    for (const member of members) await member.consume(40)
    expect(passed.units).toBe(LIMIT)
  })

  test('the same before anybody notices an outage, three times in a row: no later loss is hidden by an earlier one', async () => {
    const { members, passed } = processes(1, make())
    const [one] = members as [Member]
    await one.consume(10)
    await time.pass(1_000)
    const goesBack = await snapshot()
    await one.consume(90)
    for (let loss = 1; loss <= 3; loss += 1) {
      await goesBack()
      one.returns()
      await one.consume(40)
      expect(passed.units).toBe(LIMIT)
      await time.pass(4_000)
    }
  })

  test('a refund is the first request afterwards: what it does not give back is restored', async () => {
    const { members, passed } = processes(1, make())
    const [one] = members as [Member]
    await one.consume(20)
    await time.pass(1_000)
    const goesBack = await snapshot()
    await one.consume(79)
    const charged = await one.limiter.consume('k')
    await goesBack()
    one.returns()
    await one.limiter.refund(charged)
    await one.consume(120)
    // The one that was given back is not among these.
    expect(passed.units).toBe(LIMIT)
  })

  test('Redis comes back empty, and nobody notices: no more passes than what is in flight and what was left', async () => {
    const { members, passed } = processes(2, make())
    const [one, other] = members as [Member, Member]
    await one.consume(97)
    await time.pass(20)
    await redis.flushall()
    // Some share a call, and some are sent before the first answer comes.
    await Promise.all(Array.from({ length: 10 }, () => one.consume(1)))
    await other.consume(60)
    await one.consume(60)
    expect(passed.units).toBeLessThanOrEqual(LIMIT + 10)
  })

  test('a reset and a refund by another process are no loss, so nothing is restored', async () => {
    const { members } = processes(2, make())
    const [{ limiter: mine, store }, { limiter: theirs }] = members as [Member, Member]
    store.on('data-loss', ({ key }) => expect.fail(`nothing of ${key} was lost`))
    await mine.consume('k', { cost: LIMIT })
    await theirs.refund('k', { cost: LIMIT - 1 })
    expect((await mine.consume('k')).remaining).toBe(LIMIT - 2)
    await theirs.reset('k')
    const decisions = await Promise.all([mine.consume('k'), mine.consume('k')])
    expect(decisions.map(({ remaining }) => remaining)).toEqual([LIMIT - 1, LIMIT - 2])
  })
})

test('what could not be restored is given up, so that the limit passes again', async () => {
  const { members, passed } = processes(1, fixedWindow({ limit: LIMIT, window: '1h' }))
  const [one] = members as [Member]
  await one.consume(60)
  await redis.flushall()
  one.fails = 'restore'
  await one.consume(150)
  expect(passed.units).toBe(60 + LIMIT)
})

test('what another process gives back of one policy is not taken for a loss of all', async () => {
  const clock = fakeClock()
  const policy = [
    fixedWindow({ limit: 100, window: '10m' }),
    slidingLog({ limit: 10, window: '30s' }),
  ]
  const { members } = processes(2, policy, clock)
  const [{ limiter: one, store }, { limiter: other }] = members as [Member, Member]
  store.on('data-loss', ({ key }) => expect.fail(`nothing of ${key} was lost`))
  const receipt = await other.consume('k')
  clock.advance('1m')
  await one.consume('k', { cost: 8 })
  clock.advance('20s')
  await one.consume('k', { cost: 2 })
  clock.advance('15s')
  await other.refund(receipt)
  expect((await one.consume('k', { cost: 8 })).allowed).toBe(true)
  expect((await one.peek('k')).policies.map(({ remaining }) => remaining)).toEqual([82, 0])
})
