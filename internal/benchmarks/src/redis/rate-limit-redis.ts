import type { IncrementResponse, Options } from 'express-rate-limit'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { connected } from './client.js'
import { type RedisSubjectKind, WINDOW_MS } from './subject.js'

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
    await store.init({ windowMs: WINDOW_MS } as Options)
    return {
      ask: (key) => store.increment(key),
      left: (answer) => Math.max(0, limit - (answer as IncrementResponse).totalHits),
      allowed: (answer) => (answer as IncrementResponse).totalHits <= limit,
      close: async () => client.disconnect(),
    }
  },
}
