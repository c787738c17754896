import { describe, test } from 'vitest'
import type { RedisLike, RedisStoreOptions } from '../../src/index.js'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'
import { stillStore } from './patient.js'

/**
 * Each reaches what the others do not: calls that requests share; calls of one key, and decisions
 * over several slots; keys of shared tags; units taken ahead, under hashed keys.
 */
const variants: readonly (readonly [
  string,
  () => RedisLike,
  RedisStoreOptions,
  typeof strictStore?,
])[] = [
  ['on a single server', singleClient, {}],
  ['on a Cluster', clusterClient, {}],
  ['on a Cluster, with hash tags', clusterClient, { hashTags: 16 }],
  [
    'with leases and hashed keys',
    singleClient,
    {
      leases: { units: 50, holdMs: 1_000 },
      // A process without a lease refuses for a while, which may be longer than was reported
      // before.
      denyCache: false,
      hashKeys: 'a secret of the tests',
    },
    // A lease spans the calls of a case.
    stillStore,
  ],
]

describe.each(variants)(
  'the Redis store keeps the contract of a store: %s',
  (_, clientOf, options, open = strictStore) => {
    const cases = storeConformance((clock) => open(clientOf(), { ...options, clock }))
    for (const { name, run } of cases) test(name, run)
  },
)
