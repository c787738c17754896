// The layout with a bounded number of hash tags: what travels together in a Cluster, and that
// nothing else changes.

import { describe, expect, test } from 'vitest'
import { RateLimiter, tokenBucket } from '../../src/index.js'
import { SLOTS, slotOf } from '../../src/redis/transport/hash-slot.js'
import { hashTagOf, keyFormat, spreadHashTags } from '../../src/redis/transport/keys.js'
import { clusterClient, newName, strictStore } from './clients.js'

const client = clusterClient()
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
