import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis'
import { connected } from './client.js'
import { type RedisSubjectKind, WINDOW_MS } from './subject.js'

type Answer = Awaited<ReturnType<ThrottlerStorageRedisService['increment']>>

/** The storage that users of @nestjs/throttler pass to it, called as its guard does. */
export const nestThrottler: RedisSubjectKind = {
  name: '@nest-lab/throttler-storage-redis',
  kind: 'peer',
  async open(port, limit) {
    const client = await connected(port)
    const storage = new ThrottlerStorageRedisService(client)
    return {
      ask: (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, 'default'),
      left: (answer) => Math.max(0, limit - (answer as Answer).totalHits),
      allowed: (answer) => !(answer as Answer).isBlocked,
      close: async () => client.disconnect(),
    }
  },
}
