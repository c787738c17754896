import RedisStore from '@fastify/rate-limit/store/RedisStore.js'
import { connected } from './client.js'
import { type RedisSubjectKind, WINDOW_MS } from './subject.js'

interface Answer {
  readonly current: number
}

/**
 * The store behind the option `redis` of @fastify/rate-limit, called as its hook does, with the
 * client that it recommends.
 */
export const fastifyRateLimit: RedisSubjectKind = {
  name: '@fastify/rate-limit',
  kind: 'peer',
  async open(port, limit) {
    const client = await connected(port, { connectTimeout: 500, maxRetriesPerRequest: 1 })
    const store = new RedisStore(false, false, client)
    return {
      ask: (key) =>
        new Promise<Answer>((resolve, reject) => {
          store.incr(
            key,
            (error, answer) => (error ? reject(error) : resolve(answer)),
            WINDOW_MS,
            limit,
          )
        }),
      left: (answer) => Math.max(0, limit - (answer as Answer).current),
      allowed: (answer) => (answer as Answer).current <= limit,
      close: async () => client.disconnect(),
    }
  },
}
