import { connected } from './client.js'
import type { RedisSubjectKind } from './subject.js'

export const INCR = 'INCR'

/** The least cost of a limiter that sends a command for each decision. */
export const incr: RedisSubjectKind = {
  name: INCR,
  kind: 'floor',
  async open(port, limit) {
    const client = await connected(port)
    return {
      ask: (key) => client.incr(key),
      left: (count) => limit - (count as number),
      close: async () => client.disconnect(),
    }
  },
}
