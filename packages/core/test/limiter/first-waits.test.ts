// A process whose first calls wait for a turn before it has heard from Redis, in virtual time: it
// does not know how many others there are, and must not take itself to be alone.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  RateLimiter,
  type RateLimiterOptions,
  type RedisStoreOptions,
  type WaitDecision,
  type WaitOptions,
} from '../../src/index.js'
import { inTime } from '../../src/limiter/limiter.js'
import type { Connection } from '../../src/redis/connection.js'
import { redisStoreIn } from '../../src/redis/store.js'
import { virtualTime } from '../virtual-time.js'

beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

const bucket = leakyBucket({ name: 'p', capacity: 10, leak: 10, every: '1m' })
const policies: [string, Policy][] = [
  ['a turn of a bucket', bucket],
  ['a window', fixedWindow({ name: 'p', limit: 10, window: '1m' })],
  ['a slot', concurrency({ name: 'p', limit: 10, holdTimeout: '1m' })],
]

/** How long Redis takes for a reply; undefined: for ever. */
interface Delays {
  connectMs?: number | undefined
  replyMs?: number | undefined
}

/** A process with a connection that is yet to be made. */
function world(
  policy: Policy,
  { connectMs = 0, replyMs }: Delays,
  options: RedisStoreOptions = {},
  more: Partial<RateLimiterOptions> = {},
) {
  const time = virtualTime()
  const state = { isConnected: false, hasFailed: false, replyMs }
  const commands: string[] = []
  let ended = (): void => {}
  const attempt = new Promise<void>((resolve) => {
    ended = resolve
  })
  time.after(connectMs, () => {
    state.isConnected = true
    ended()
  })
  const call: Connection['call'] = (command, args) => {
    commands.push(command)
    // One of four processes; and a request for each key, which is granted one unit.
    const granted = ' 1 9 0 6000000'.repeat(Number(args[1]))
    const reply = command === 'eval' ? [4, 1, 0] : `${time.nowUs()}${granted}`
    return new Promise((resolve) => {
      if (state.replyMs !== undefined) time.after(state.replyMs, () => resolve(reply))
    })
  }
  const connection: Connection = {
    place: ['here'],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    repliesInText: true,
    nodeOf: () => undefined,
    call,
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, call)
    },
    unready: () => (state.isConnected ? undefined : 'the client is connecting'),
    attempt: () => (state.isConnected || state.hasFailed ? undefined : attempt),
  }
  const store = redisStoreIn(time, connection, options)
  const limiter = new RateLimiter(inTime(time, { name: 'a', store, policy, ...more }))
  const waits = (count: number, wait?: WaitOptions) =>
    Array.from({ length: count }, () => limiter.wait('k', wait))
  return {
    ...{ time, state, store, limiter, commands, waits },
    fail() {
      state.hasFailed = true
      ended()
    },
  }
}

const sources = (decisions: readonly WaitDecision[]) => decisions.map(({ source }) => source)

describe.each(policies)('calls that wait for %s', (_, policy) => {
  test.each<[string, Delays]>([
    ['is connected late', { connectMs: 900, replyMs: 10 }],
    ['answers late', { connectMs: 0, replyMs: 450 }],
  ])('wait for a Redis that %s, which then decides them', async (_, delays) => {
    const { time, state, store, waits } = world(policy, delays)
    const all = waits(3)
    await time.advance(400)
    expect(store.health().instances).toBe(1)
    state.replyMs = 10
    await time.advance(560)
    expect(store.health().instances).toBe(4)
    const decisions = await time.settle(Promise.all(all))
    expect(sources(decisions)).toEqual(['store', 'store', 'store'])
    expect(decisions[0]?.waitedMs).toBeGreaterThanOrEqual(400)
  })

  test.each<[string, Delays]>([
    ['that is silent', {}],
    ['whose connection takes too long', { connectMs: 60_000 }],
  ])('wait for a second for a Redis %s, and are then decided here', async (_, delays) => {
    const { time, waits } = world(policy, delays)
    const all = Promise.all(waits(3))
    const heard = vi.fn()
    void all.then(heard)
    await time.advance(1_000)
    expect(heard).not.toHaveBeenCalled()
    const decisions = await time.settle(all)
    expect(sources(decisions)).toEqual(['local', 'local', 'local'])
    // With the deadline of the calls themselves.
    expect(decisions[0]?.waitedMs).toBe(1_100)
    // There is only one such wait.
    const [later] = await time.settle(Promise.all(waits(1)))
    expect(later?.waitedMs).toBeLessThanOrEqual(100)
  })

  test('wait until the first attempt to connect has failed', async () => {
    const { time, waits, fail } = world(policy, { connectMs: 60_000 })
    time.after(300, fail)
    const [decision] = await time.settle(Promise.all(waits(1)))
    expect(decision).toMatchObject({ allowed: true, source: 'local', waitedMs: 300 })
  })

  test("do then what `whenUnavailable` says, such as 'deny'", async () => {
    const { time, waits } = world(policy, {}, { whenUnavailable: 'deny' })
    const [decision] = await time.settle(Promise.all(waits(1)))
    expect(decision).toMatchObject({ allowed: false, reason: 'store-unavailable' })
  })

  test('do not wait so where `instances` says how many processes there are', async () => {
    const { time, commands, waits } = world(policy, {}, { instances: 4 })
    const [decision] = await time.settle(Promise.all(waits(1)))
    expect(decision).toMatchObject({ source: 'local', waitedMs: 100 })
    expect(commands).not.toContain('eval')
  })

  test('do not wait so once Redis has said how many there are', async () => {
    const { time, state, limiter, waits } = world(policy, { replyMs: 1 })
    await time.settle(limiter.consume('k'))
    await time.advance(10)
    state.replyMs = undefined
    const [decision] = await time.settle(Promise.all(waits(1)))
    expect(decision).toMatchObject({ source: 'local', waitedMs: 100 })
  })

  test('end with a shorter timeout, or when their signal aborts', async () => {
    const { time, limiter, waits } = world(policy, { connectMs: 60_000 })
    const controller = new AbortController()
    const aborted = limiter.wait('k', { signal: controller.signal })
    const rejected = expect(aborted).rejects.toThrow('enough')
    time.after(200, () => controller.abort(new Error('enough')))
    const short = Promise.all(waits(1, { timeout: 300 }))
    await time.advance(200)
    await rejected
    const [decision] = await time.settle(short)
    // The timeout does not include the call itself, which has a deadline of 100 ms.
    expect(decision).toMatchObject({ source: 'local', waitedMs: 400 })
  })

  test('cost nothing if they leave', async () => {
    const { time, commands, limiter } = world(policy, { connectMs: 500, replyMs: 10 })
    const controller = new AbortController()
    const left = limiter.wait('k', { signal: controller.signal })
    const rejected = expect(left).rejects.toThrow('enough')
    controller.abort(new Error('enough'))
    await rejected
    await time.advance(1_000)
    expect(commands).not.toContain('evalsha')
  })

  test('with a timeout of 0 do not wait, and `consume` does not', async () => {
    const { time, limiter, waits } = world(policy, {})
    const [decision] = await time.settle(Promise.all(waits(1, { timeout: 0 })))
    expect(decision).toMatchObject({ source: 'local', waitedMs: 100 })
    expect(await time.settle(limiter.consume('k'))).toMatchObject({ source: 'local' })
    expect(time.nowMs()).toBe(200)
  })

  test('end with their limiter, or with its store', async () => {
    const one = world(policy, { connectMs: 60_000 })
    const [first] = one.waits(1)
    one.limiter.close()
    await expect(first).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
    const other = world(policy, { connectMs: 60_000 })
    const [second] = other.waits(1)
    const rejected = expect(second).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
    await other.store.close()
    await rejected
    expect(other.time.nowMs()).toBe(0)
  })

  test('pass when the limiter is switched off', async () => {
    const { limiter, waits } = world(policy, { connectMs: 60_000 })
    const all = Promise.all(waits(2))
    limiter.enabled = false
    expect((await all).every(({ allowed, source }) => allowed && source === 'none')).toBe(true)
  })

  test('are counted by `maxWaiting`', async () => {
    const maxWaiting = { perKey: 5, total: 2 }
    const { time, limiter, waits } = world(
      policy,
      { connectMs: 500, replyMs: 10 },
      {},
      { maxWaiting },
    )
    const all = Promise.all(waits(2))
    const [more] = await time.settle(Promise.all(waits(1)))
    expect(more).toMatchObject({ allowed: false, waitedMs: 100 })
    expect(limiter.stats()).toMatchObject({ waiting: 2 })
    expect((await time.settle(all)).every(({ allowed }) => allowed)).toBe(true)
  })
})

test('`consume` waits for the first connection until the deadline of the first request, and for none that is lost later', async () => {
  const late = world(bucket, { connectMs: 60_000 })
  const first = late.limiter.consume('k')
  await late.time.advance(50)
  const second = late.limiter.consume('k')
  for (const asked of [first, second])
    expect(await late.time.settle(asked)).toMatchObject({ source: 'local' })
  expect((await late.time.settle(late.limiter.consume('k'))).source).toBe('local')
  expect(late.time.nowMs()).toBe(100)

  const lost = world(bucket, { replyMs: 10 })
  expect((await lost.time.settle(lost.limiter.consume('k'))).source).toBe('store')
  const beforeMs = lost.time.nowMs()
  lost.state.isConnected = false
  expect((await lost.time.settle(lost.limiter.consume('k'))).source).toBe('local')
  expect(lost.time.nowMs()).toBe(beforeMs)
})
