// @upstash/ratelimit uses Redis over HTTP; here its calls go to ioredis, through the methods of its
// client that it calls.

import { createHash } from 'node:crypto'
import { Ratelimit, type RatelimitConfig } from '@upstash/ratelimit'
import type { Redis } from 'ioredis'
import { connected } from './client.js'
import { type RedisSubjectKind, UNIT_MS } from './subject.js'

type Answer = Awaited<ReturnType<Ratelimit['limit']>>

export const upstash: readonly RedisSubjectKind[] = [
  subject('@upstash/ratelimit fixed window', (limit) => Ratelimit.fixedWindow(limit, '30 d')),
  subject('@upstash/ratelimit sliding window', (limit) => Ratelimit.slidingWindow(limit, '30 d')),
  subject('@upstash/ratelimit token bucket', (limit) =>
    Ratelimit.tokenBucket(1, `${UNIT_MS} ms`, limit),
  ),
]

function subject(
  name: string,
  limiter: (limit: number) => RatelimitConfig['limiter'],
): RedisSubjectKind {
  return {
    name,
    kind: 'peer',
    async open(port, limit) {
      const client = await connected(port)
      const ratelimit = new Ratelimit({ redis: asUpstash(client), limiter: limiter(limit) })
      return {
        ask: (key) => ratelimit.limit(key),
        left: (answer) => (answer as Answer).remaining,
        allowed: (answer) => (answer as Answer).success,
        close: async () => client.disconnect(),
      }
    },
  }
}

/**
 * Redis 7.0 refuses the flags in the first line of its scripts, so they are removed. The hashes
 * that it knows are mapped to those of the changed scripts.
 */
export function asUpstash(client: Redis): RatelimitConfig['redis'] {
  const shas = new Map<string, string>()
  const redis = {
    evalsha(hash: string, keys: string[], args: unknown[]) {
      const sha = shas.get(hash)
      if (sha === undefined) throw new Error('NOSCRIPT')
      return client.evalsha(sha, keys.length, ...keys, ...(args as string[]))
    },
    async eval(script: string, keys: string[], args: unknown[]) {
      const hash = createHash('sha1').update(script).digest('hex')
      const plain = script.replace(/^#!.*\n/, '')
      shas.set(hash, (await client.script('LOAD', plain)) as string)
      return redis.evalsha(hash, keys, args)
    },
  }
  return redis as unknown as RatelimitConfig['redis']
}
