import RedisLimiter from 'koa-ratelimit/limiter/redis.js'
import { connected } from './client.js'
import { type RedisSubjectKind, WINDOW_MS } from './subject.js'

/** What koa-ratelimit's middleware does for a request, with the driver 'redis'. */
export const koaRatelimit: RedisSubjectKind = {
  name: 'koa-ratelimit',
  kind: 'peer',
  async open(port, limit) {
    const db = await connected(port)
    return {
      ask: (id) => new RedisLimiter({ db, id, max: limit, duration: WINDOW_MS }).get(),
      // It reports what was left before this request.
      left: (answer) => (answer as { remaining: number }).remaining - 1,
      allowed: (answer) => (answer as { remaining: number }).remaining > 0,
      close: async () => db.disconnect(),
    }
  },
}
