// What nobody who sends a command per decision can be below.

import { connected } from './client.js'
import type { RedisSubjectKind } from './subject.js'

export const INCR = 'INCR'
export const MINIMAL = 'INCR + PEXPIRE script'

/** What the least script of a limiter does: counts, and sets the end of the window with the first. */
const MINIMAL_SCRIPT = `local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`

export const floors: readonly RedisSubjectKind[] = [
  {
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
  },
  scriptFloor('EVALSHA return 1', 'return 1', []),
  scriptFloor(MINIMAL, MINIMAL_SCRIPT, [3_600_000]),
]

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
