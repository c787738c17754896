import Bottleneck from 'bottleneck'
import * as ioredis from 'ioredis'
import type { RedisSubjectKind } from './subject.js'

/**
 * A reservoir that processes share, with empty jobs. It is set up to queue jobs, not to refuse
 * them.
 */
export const bottleneck: RedisSubjectKind = {
  name: 'bottleneck',
  kind: 'peer',
  keyless: true,
  async open(port, limit) {
    const limiter = new Bottleneck({
      id: `bottleneck-${limit}`,
      datastore: 'ioredis',
      clearDatastore: true,
      Redis: ioredis.Redis,
      // In a separate database, since it fails when its keys are removed between turns.
      clientOptions: { host: '127.0.0.1', port, db: 1 },
      reservoir: limit,
    })
    await limiter.ready()
    return {
      ask: () => limiter.schedule(nothing),
      left: async () => (await limiter.currentReservoir()) ?? Number.NaN,
      close: () => limiter.disconnect(false),
    }
  },
}

async function nothing(): Promise<void> {}
