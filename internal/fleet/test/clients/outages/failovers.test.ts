// A replica takes over, by Sentinels and in a Cluster.

import { type RateLimiter, redisStore } from '@weir/core'
import { fromGlide, recommendedGlideOptions } from '@weir/core/glide'
import { fromNodeRedis, recommendedNodeRedisOptions } from '@weir/core/node-redis'
import { startCluster, startSentinel, waitUntil } from '@weir/testkit'
import { expect, test } from 'vitest'
import { glideCluster } from '../glide.js'
import { VERSIONS } from '../node-redis.js'
import { ALONE, asking, limiterOn } from '../other-clients.js'
import { attempt } from './attempt.js'

test(
  'node-redis with Sentinels: Redis decides before and after a failover, and counts nothing twice',
  attempt(async (ends) => {
    const sentinel = await startSentinel()
    ends(() => sentinel.stop())
    const users = VERSIONS.map(([, library]) => {
      const client = library.createSentinel({
        name: sentinel.name,
        sentinelRootNodes: sentinel.sentinelPorts.map((port) => ({ host: '127.0.0.1', port })),
        nodeClientOptions: recommendedNodeRedisOptions,
        scanInterval: 100,
      })
      client.on('error', () => {})
      ends(() => client.destroy())
      const store = redisStore(fromNodeRedis(client), ALONE)
      ends(() => store.close())
      const limiter = limiterOn(store)
      const user = { client, store, limiter, asked: 0, ask }
      function ask(): ReturnType<RateLimiter['consume']> {
        user.asked += 1
        return limiter.consume('k')
      }
      return user
    })
    const decides = (what: string) =>
      waitUntil(what, async () => {
        const decisions = await Promise.all(users.map(({ ask }) => ask()))
        return decisions.every(({ source }) => source === 'store')
      })
    await Promise.all(users.map(({ client }) => client.connect()))
    await decides('Redis decides')
    const timer = setInterval(() => {
      for (const { ask } of users) void ask()
    }, 5)
    ends(() => clearInterval(timer))
    // Its last requests are in progress until they are given up.
    sentinel.servers[0]?.kill('SIGSTOP')
    await decides('another one decides')
    clearInterval(timer)
    for (const { store, limiter, asked } of users) {
      await waitUntil('all is counted', async () => store.health().localKeys === 0)
      // What was sent in vain, and decided without Redis, is not sent again.
      const { limit, remaining } = await limiter.peek('k')
      expect(limit - remaining).toBeLessThanOrEqual(asked)
    }
  }),
)

test(
  'a replica takes over from a master that was killed, and GLIDE asks it',
  attempt(async (ends) => {
    const servers = await startCluster({ nodeTimeoutMs: 1_000 })
    ends(() => servers.stop())
    const client = await glideCluster(servers.ports, recommendedGlideOptions)
    ends(() => client.close())
    const store = redisStore(fromGlide(client), ALONE)
    ends(() => store.close())
    const limiter = limiterOn(store)
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
    const all = () => Promise.all(keys.map((key) => limiter.peek(key)))
    const isStore = async () => (await all()).every(({ source }) => source === 'store')
    await waitUntil('all decide', isStore)
    servers.masters[0]?.kill('SIGKILL')
    ends(asking(limiter, keys))
    await waitUntil('not all decide', async () => !(await isStore()))
    await waitUntil('all decide', isStore)
  }),
)
