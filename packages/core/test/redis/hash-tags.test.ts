// The layout with a bounded number of hash tags: what travels together in a Cluster, and that
// nothing else changes.

import { describe, expect, test } from 'vitest'
import { RateLimiter, slidingLog, tokenBucket } from '../../src/index.js'
import { SLOTS, slotOf } from '../../src/redis/transport/hash-slot.js'
import { hashTagOf, keyFormat, spreadHashTags } from '../../src/redis/transport/keys.js'
import { clusterClient, strictStore } from './clients.js'

const client = clusterClient()
let runs = 0
function newName(): string {
  runs += 1
  return `tags${process.pid}-${runs}`
}

/** The EVALSHAs that all masters have run so far. */
async function callsSoFar(): Promise<number> {
  const infos = await Promise.all(client.nodes('master').map((node) => node.info('commandstats')))
  return infos.reduce(
    (sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0),
    0,
  )
}

describe.each([2, 3, 16, 64, 1_024])('%i hash tags', (count) => {
  const tags = spreadHashTags(count)

  test('divide the slots into as many equal parts', () => {
    const parts = tags.map((tag) => Math.floor((slotOf(tag) * count) / SLOTS))
    expect(parts).toEqual(Array.from({ length: count }, (_, i) => i))
  })

  test('get about as many keys each', () => {
    const keys = new Map(tags.map((tag) => [tag, 0]))
    for (let i = 0; i < 100 * count; i += 1) {
      const tag = hashTagOf(keyFormat('weir', tags), `user-${i}`)
      keys.set(tag, (keys.get(tag) as number) + 1)
    }
    expect(Math.min(...keys.values())).toBeGreaterThan(30)
    expect(Math.max(...keys.values())).toBeLessThan(250)
  })
})

test('decisions of one turn share calls', async () => {
  const calls = []
  for (const options of [{}, { hashTags: 16 }]) {
    const store = strictStore(client, { ...options, instances: 1 })
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: tokenBucket({ capacity: 2, refill: 1, every: '1h' }),
    })
    const consumeAll = () =>
      Promise.all(Array.from({ length: 200 }, (_, i) => limiter.consume(`k${i}`)))
    await consumeAll()
    const before = await callsSoFar()
    const decisions = await consumeAll()
    calls.push((await callsSoFar()) - before)
    expect(decisions.every(({ allowed, remaining }) => allowed && remaining === 0)).toBe(true)
  }
  expect(calls[0]).toBeGreaterThan(150)
  expect(calls[1]).toBe(16)
})

test('keys of any shape count as they do without', async () => {
  const store = strictStore(client, { hashTags: 16, instances: 1, denyCache: false })
  const policy = slidingLog({ name: 'p', limit: 1, window: '1m' })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const keys = ['}', '{x}y', '{}', 'a:b', 'a', '\0', '\ud800', 'é', 'x'.repeat(500), 't0']
  for (const key of keys) expect((await limiter.consume(key)).allowed, key).toBe(true)
  for (const key of keys) expect((await limiter.consume(key)).allowed, key).toBe(false)
  for (const key of keys) await limiter.reset(key)
  for (const key of keys) expect((await limiter.peek(key)).allowed, key).toBe(true)
})

test('policy keys, with and without tags, count separately, and are refunded and reset', async () => {
  const store = strictStore(client, { hashTags: 4, instances: 1 })
  const address = slidingLog({ name: 'address', limit: 3, window: '1m' })
  const account = slidingLog({ name: 'account', limit: 2, window: '1m' })
  const limiter = new RateLimiter({ name: newName(), store, policy: address })
  const as = (key: string, tag?: string) => ({
    policy: [address, { policy: account, key, ...(tag && { tag }) }],
  })
  const left = async (options: object) =>
    (await limiter.peek('a', options)).policies.map(({ remaining }) => remaining)
  const decision = await limiter.consume('a', as('u1'))
  await limiter.consume('a', as('u1', 'other'))
  expect(await left(as('u1'))).toEqual([1, 1])
  expect(await left(as('u1', 'other'))).toEqual([1, 1])
  expect(await left(as('u2'))).toEqual([1, 2])
  await limiter.refund(decision)
  expect(await left(as('u1'))).toEqual([2, 2])
  await limiter.reset('a', as('u1', 'other'))
  expect(await left(as('u1', 'other'))).toEqual([3, 1])
  await limiter.reset('u1', as('u1', 'other'))
  expect(await left(as('u1', 'other'))).toEqual([3, 2])
})
