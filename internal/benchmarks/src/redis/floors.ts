// The least cost of a limiter that sends a command for each decision.

import type { Cluster, Redis } from 'ioredis'
import { connected, connectedToCluster } from './client.js'
import { smallest, smallestBatched, smallestWithShortKeys } from './smallest.js'
import type { RedisSubject, RedisSubjectKind } from './subject.js'

export const INCR = 'INCR'
export const MINIMAL = 'INCR + PEXPIRE script'

/**
 * The least script of a limiter: it counts, and sets the end of the window at the first request.
 */
const MINIMAL_SCRIPT = `local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`

export const floors: readonly RedisSubjectKind[] = [
  {
    name: INCR,
    kind: 'floor',
    open: async (port, limit) => counting(await connected(port), limit),
  },
  scriptFloor('EVALSHA return 1', 'return 1', []),
  scriptFloor(MINIMAL, MINIMAL_SCRIPT, [3_600_000]),
  smallest,
  smallestBatched,
  smallestWithShortKeys,
]

export const incrOnCluster: RedisSubjectKind = {
  ...{ name: INCR, kind: 'floor' },
  open: async (port, limit) => counting(await connectedToCluster(port), limit),
}

function counting(client: Redis | Cluster, limit: number): RedisSubject {
  return {
    ask: (key) => client.incr(key),
    left: (count) => limit - (count as number),
    close: async () => client.disconnect(),
  }
}

function scriptFloor(name: string, script: string, args: readonly number[]): RedisSubjectKind {
  return {
    name,
    kind: 'floor',
    async open(port, limit) {
      const client = await connected(port)
      const sha = (await client.script('LOAD', script)) as string
      return {
        ask: (key) => client.evalsha(sha, 1, key, ...args),
        left: (count) => (name === MINIMAL ? limit - (count as number) : Number.NaN),
        close: async () => client.disconnect(),
      }
    },
  }
}
