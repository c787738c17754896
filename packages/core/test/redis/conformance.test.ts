import { describe, test } from 'vitest'
import type { RedisLike, RedisStoreOptions } from '../../src/index.js'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

/**
 * Each reaches what the others do not: calls that requests share; calls of one key, and decisions
 * over several slots; keys of shared tags; units taken ahead, under hashed keys.
 */
const variants: readonly (readonly [string, () => RedisLike, RedisStoreOptions])[] = [
  ['on a single server', singleClient, {}],
  ['on a Cluster', clusterClient, {}],
  ['on a Cluster, with hash tags', clusterClient, { hashTags: 16 }],
  [
    'with leases and hashed keys',
    singleClient,
    {
      // Held for so long that a lease spans the calls of a case.
      leases: { units: 50, holdMs: 1_000 },
      instances: 1,
      // A process without a lease refuses for a while, which may be longer than was reported before.
      denyCache: false,
      hashKeys: 'a secret of the tests',
    },
  ],
]

describe.each(variants)(
  'the Redis store keeps the contract of a store: %s',
  (_, clientOf, options) => {
    const cases = storeConformance((clock) => strictStore(clientOf(), { ...options, clock }))
    for (const { name, run } of cases) test(name, run)
  },
)
