// Single steps around a failure: how a node is brought back, what counts of policies on shards of
// which one is away, how a process that vanished is noticed, and how long anybody waits. Redis is
// real; the client between it and the store fails at the moment that a test is about. The fleet
// (internal/fleet) proves the bounds of outages.

import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { processTime, type Time } from '../../src/base/time.js'
import type { RedisLike } from '../../src/entries/store.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
} from '../../src/index.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import { Heartbeat, PEERS_TAG } from '../../src/redis/heartbeat.js'
import { slotOf } from '../../src/redis/transport/hash-slot.js'
import { singleClient } from './clients.js'
import { CALM, redisStoreOf } from './patient.js'
import { stepTime } from './step-time.js'

const redis = singleClient()
const time = stepTime(() => redis.ping())

const open: RedisStore[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await time.settle(store.close())
})

let runs = 0
function newName(): string {
  runs += 1
  return `v${Date.now().toString(36)}${runs}`
}

/** A call of Weir's script. */
interface Call {
  readonly mode: string
  readonly keys: readonly string[]
  /** The hash tags of its keys, each once. */
  readonly tags: readonly string[]
}

const MODES = /\b(peek|refund|penalty|reconcile|restore|reset)\b/

type Way = (call: Call, send: () => Promise<unknown>) => Promise<unknown>

/** A client of the real server whose calls take a way that a test chooses. */
function clientBy(way: Way, more: Partial<RedisLike> = {}): RedisLike {
  return {
    status: 'ready',
    ...more,
    callBuffer(command, args) {
      const keys = args.slice(2, 2 + Number(args[1]))
      const tags = new Set(keys.map((key) => /{(.*?)}/.exec(key)?.[1] ?? ''))
      const mode = MODES.exec(args.slice(2 + keys.length).join(' '))?.[0] ?? 'consume'
      return way({ mode, keys, tags: [...tags] }, () => redis.callBuffer(command, args))
    },
  }
}

function lost(): Promise<never> {
  return Promise.reject(new Error('Connection is closed.'))
}

function storeOn(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStoreOf(time, client, { instances: 1, deadlineMs: 10_000, ...options })
  open.push(store)
  return store
}

/** Waits until all nodes decide again, and everything that was admitted without them is counted. */
function isBack(store: RedisStore): Promise<void> {
  return time.until('the store is back', () => isWell(store))
}

function isWell(store: RedisStore): boolean {
  const { nodes, localKeys } = store.health()
  return localKeys === 0 && nodes.every(({ state }) => state !== 'open')
}

const LIMIT = 1_000
const policy = fixedWindow({ limit: LIMIT, window: '5m' })

/** What Redis has counted under keys, according to another process. */
async function counted(name: string, keys: readonly string[]): Promise<number[]> {
  const limiter = new RateLimiter({
    name,
    store: storeOn(clientBy((_, send) => send())),
    policy,
    shared: true,
  })
  const decisions = await Promise.all(keys.map((key) => limiter.peek(key)))
  expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
  return decisions.map(({ remaining }) => LIMIT - remaining)
}

test('a node with a low limit of calls in flight comes back, and counts everything that was admitted', async () => {
  const keys = Array.from({ length: 300 }, (_, i) => `k${i}`)
  const name = newName()
  let isAway = false
  const store = storeOn(
    clientBy((_, send) => (isAway ? lost() : send())),
    { maxInFlight: 1 },
  )
  const limiter = new RateLimiter({ name, store, policy })
  const consumeAll = async () => {
    // As many as travel in one call.
    for (let from = 0; from < keys.length; from += 32)
      await Promise.all(keys.slice(from, from + 32).map((key) => limiter.consume(key)))
  }
  await consumeAll()
  isAway = true
  await consumeAll()
  expect(store.health()).toMatchObject({ state: 'open', localKeys: keys.length })
  isAway = false
  await isBack(store)
  await time.until('all to be counted', async () => store.health().localKeys === 0)
  expect(await counted(name, keys)).toEqual(keys.map(() => 2))
})

/**
 * Two masters, each with half of the slots; a test takes one away, or moves slots. Both are one
 * server.
 */
function twoShards() {
  const slots = Array.from({ length: 16_384 }, (_, slot) => [slot < 8_192 ? 'a:1' : 'b:1'])
  const away = new Set<string>()
  const calls: (Call & { readonly node: string })[] = []
  const client = clientBy(
    (call, send) => {
      const [node = ''] = slots[slotOf(call.tags[0] ?? '')] ?? []
      calls.push({ ...call, node })
      return away.has(node) ? lost() : send()
    },
    { isCluster: true, slots },
  )
  return { client, slots, away, calls }
}

/** Two of x0, x1, ... whose slots are on a shard. */
function tagsIn(from: number, to: number): [string, string] {
  const tags = Array.from({ length: 100 }, (_, n) => `x${n}`)
  return tags.filter((tag) => slotOf(tag) >= from && slotOf(tag) < to).slice(0, 2) as [
    string,
    string,
  ]
}

const [ON_A, ALSO_ON_A] = tagsIn(0, 8_192)
const [ON_B, ALSO_ON_B] = tagsIn(8_192, 16_384)

describe('the probe of a node', () => {
  const isProbe = ({ mode, keys }: Call) =>
    mode === 'penalty' && keys.some((key) => key.includes(':weir:beats:'))

  test('goes there although the slot of a key that it asked about has moved', async () => {
    const { client, slots, away, calls } = twoShards()
    const store = storeOn(client)
    const limiter = new RateLimiter({ name: newName(), store, policy })
    const [other] = slots[slotOf('probe')] as [string]
    const [node, key, another] =
      other === 'a:1' ? ['b:1', ON_B, ALSO_ON_B] : ['a:1', ON_A, ALSO_ON_A]
    away.add(node)
    for (let i = 0; i < 5; i += 1) await limiter.consume(key)
    slots[slotOf(key)] = [other]
    await limiter.consume(another)
    const stateOf = (name: string) => store.health().nodes.find((each) => each.name === name)?.state
    expect(stateOf(node)).toBe('open')
    await time.until('it is probed', async () => calls.filter(isProbe).length >= 2)
    expect(new Set(calls.filter(isProbe).map((call) => call.node))).toEqual(new Set([node]))
    expect(stateOf(node)).toBe('open')
    away.clear()
    await time.until('it is back', async () => stateOf(node) !== 'open')
  })

  test('without any slots ends, and what was admitted for it is settled where they are', async () => {
    const { client, slots, away } = twoShards()
    const store = storeOn(client)
    const name = newName()
    const limiter = new RateLimiter({ name, store, policy })
    await limiter.consume(ON_A)
    away.add('b:1')
    for (let i = 0; i < 7; i += 1) await limiter.consume(ON_B)
    expect(store.health()).toMatchObject({ state: 'open', localKeys: 1 })
    slots.fill(['a:1'])
    await isBack(store)
    await time.until('nothing is left', async () => store.health().localKeys === 0)
    expect(await counted(name, [ON_B])).toEqual([7])
  })
})

test('a process that vanished is not counted after 20 to 26 s', async () => {
  const prefix = newName()
  const set = `${prefix}:{${PEERS_TAG}}`
  let aheadMs = 0
  let timers: { readonly atMs: number; readonly action: () => void }[] = []
  /** The process's time, except for what takes as long as a heartbeat does. */
  const beating: Time = {
    ...processTime,
    nowMs: () => aheadMs,
    after(ms, action) {
      if (ms !== 3_000) return processTime.after(ms, action)
      const timer = { atMs: aheadMs + ms, action }
      timers.push(timer)
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
  }
  let isAlive = true
  const beats = [() => true, () => true, () => isAlive].map((isConnected) => {
    const client: RedisLike = {
      get status() {
        return isConnected() ? 'ready' : 'end'
      },
      callBuffer: (command, args) => redis.callBuffer(command, args),
    }
    const told = { prefix, time: beating, failed() {}, watched() {} }
    return new Heartbeat(ioredisConnection(client, CALM), told)
  })
  onTestFinished(async () => void (await Promise.all(beats.map((each) => each.stop()))))
  /** Lets three seconds pass, here and in Redis; then all beats have been answered. */
  const beat = async (): Promise<void> => {
    const ids = await redis.zrangebyscore(set, '-inf', '+inf')
    for (const id of ids) await redis.zincrby(set, -3_000, String(id))
    aheadMs += 3_000
    for (const timer of timers.filter(({ atMs }) => atMs <= aheadMs)) {
      timers.splice(timers.indexOf(timer), 1)
      timer.action()
    }
    for (let i = 0; i < 3; i += 1) await redis.ping()
  }
  for (const each of beats) each.start()
  await beat()
  const counts = () => beats.slice(0, 2).map(({ peers }) => peers.count)
  expect(counts()).toEqual([3, 3])
  isAlive = false
  // It was last heard of at 0 s, and is first missed at 12 s; or at 9 s on a machine that takes a
  // second for these beats, since Redis's clock runs on.
  for (let i = 0; i < 6; i += 1) await beat()
  expect(counts()).toEqual([3, 3])
  for (let i = 0; i < 2; i += 1) await beat()
  expect(counts()).toEqual([2, 2])
  expect(
    beats
      .slice(0, 2)
      .map(({ peers }) => peers.rank)
      .sort(),
  ).toEqual([0, 1])
})

test('calls that were split had their whole time again', async () => {
  const store = storeOn(
    clientBy(async () => {
      await new Promise<void>((resolve) => time.after(1_600, resolve))
      throw new Error(
        'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request',
      )
    }),
    { deadlineMs: 2_000 },
  )
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const startedMs = time.nowMs()
  const asked = Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
  const decisions = await time.settle(asked)
  expect(decisions.map(({ degraded }) => degraded)).toEqual([true, true, true])
  expect(time.nowMs() - startedMs).toBeLessThanOrEqual(2_010)
})
