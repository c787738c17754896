import type { IncrementResponse, Options } from 'express-rate-limit'
import type { Cluster } from 'ioredis'
import { type RedisReply, RedisStore, type SendCommandClusterDetails } from 'rate-limit-redis'
import { connected, connectedToCluster } from './client.js'
import { type RedisSubject, type RedisSubjectKind, WINDOW_MS } from './subject.js'

export const RATE_LIMIT_REDIS = 'rate-limit-redis'

/** The store that users of express-rate-limit pass to it, called as its middleware does. */
export const rateLimitRedis: RedisSubjectKind = {
  name: RATE_LIMIT_REDIS,
  kind: 'peer',
  async open(port, limit) {
    const client = await connected(port)
    const store = new RedisStore({
      sendCommand: (command, ...args) => client.call(command, ...args) as Promise<RedisReply>,
    })
    return counting(store, limit, () => client.disconnect())
  },
}

export const rateLimitRedisOnCluster: RedisSubjectKind = {
  ...rateLimitRedis,
  async open(port, limit) {
    const client = await connectedToCluster(port)
    const store = new RedisStore({ sendCommandCluster: (details) => send(client, details) })
    return counting(store, limit, () => client.disconnect())
  },
}

/**
 * ioredis finds the node by the key in a command. A command that loads a script has none, so it
 * goes to all masters.
 */
async function send(
  client: Cluster,
  { command: [name, ...args] }: SendCommandClusterDetails,
): Promise<RedisReply> {
  const nodes = name === 'SCRIPT' ? client.nodes('master') : [client]
  const [reply] = await Promise.all(nodes.map((node) => node.call(name as string, ...args)))
  return reply as RedisReply
}

async function counting(
  store: RedisStore,
  limit: number,
  close: () => void,
): Promise<RedisSubject> {
  await store.init({ windowMs: WINDOW_MS } as Options)
  return {
    ask: (key) => store.increment(key),
    left: (answer) => Math.max(0, limit - (answer as IncrementResponse).totalHits),
    allowed: (answer) => (answer as IncrementResponse).totalHits <= limit,
    close: async () => close(),
  }
}
