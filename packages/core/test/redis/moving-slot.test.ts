// A slot of a Cluster that is moving: neither node can answer calls for several of its keys.

import { expect, onTestFinished, test } from 'vitest'
import { fixedWindow, RateLimiter, redisStore } from '../../src/index.js'
import { clusterClient, newName } from './clients.js'
import { movingSlot } from './moving-slot.js'

test('requests for keys of a moving slot were all decided locally', async () => {
  const prefix = newName()
  // A test's client is more patient than those of users.
  const client = clusterClient().duplicate(undefined, { maxRedirections: 16 })
  onTestFinished(() => client.disconnect())
  await new Promise((resolve) => client.once('ready', resolve))
  const store = redisStore(client, {
    ...{ prefix, hashTags: 2, instances: 1, deadlineMs: 10_000, denyCache: false },
  })
  const policy = fixedWindow({ limit: 1_000, window: '1h' })
  const limiter = new RateLimiter({ name: 'moving', store, policy })
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((key) => limiter.consume(key)))
  const masters = clusterClient().nodes('master')
  const names = (await Promise.all(masters.map((node) => node.keys(`${prefix}:{t*`)))).flat()
  const [, tag = ''] = /{(.*)}/.exec(names[0] as string) ?? []
  const { from, toPort, stay } = await movingSlot(tag)
  const ofSlot = names.filter((name) => name.includes(`{${tag}}`))
  for (const name of ofSlot.slice(0, Math.floor(ofSlot.length / 2)))
    await from.command('MIGRATE', '127.0.0.1', toPort, name, 0, 10_000)
  for (let round = 0; round < 3; round += 1) {
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
    expect(decisions.filter(({ degraded }) => degraded).length).toBe(0)
    expect(decisions.map(({ remaining }) => remaining)).toEqual(keys.map(() => 998 - round))
  }
  expect(new Set(store.health().nodes.map(({ state }) => state))).toEqual(new Set(['closed']))
  await stay()
  await store.close()
})
