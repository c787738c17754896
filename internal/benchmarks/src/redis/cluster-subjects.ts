// The subjects that run on a Cluster.

import { recommendedClusterOptions } from '@weir/core'
import { connectedToCluster } from './client.js'
import { incrOnCluster } from './floors.js'
import { rateLimitRedisOnCluster } from './rate-limit-redis.js'
import { rateLimiterFlexibleOnCluster } from './rate-limiter-flexible.js'
import { smallestOnCluster } from './smallest.js'
import type { RedisSubjectKind } from './subject.js'
import { BUCKET, FIXED, limiting } from './weir.js'

/** As the documentation recommends for up to 6 masters. */
export const HASH_TAGS = 16

export const clusterSubjects: readonly RedisSubjectKind[] = [
  incrOnCluster,
  smallestOnCluster,
  ...[BUCKET, FIXED].flatMap((name) => [kindOf(name), kindOf(name, HASH_TAGS)]),
  rateLimitRedisOnCluster,
  rateLimiterFlexibleOnCluster,
]

function kindOf(name: string, hashTags?: number): RedisSubjectKind {
  return {
    name: hashTags === undefined ? name : `${name}, hashTags: ${hashTags}`,
    kind: 'weir',
    async open(port, limit) {
      const client = await connectedToCluster(port, recommendedClusterOptions)
      return limiting(client, name, limit, hashTags === undefined ? {} : { hashTags })
    },
  }
}
