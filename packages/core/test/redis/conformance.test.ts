import { isShort } from '@weir/testkit'
import { describe, test } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import type { RedisStore, RedisStoreOptions } from '../../src/index.js'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore, WALKS } from './clients.js'
import { stillStore } from './patient.js'

interface Variant {
  readonly name: string
  readonly client: () => RedisLike
  readonly options?: RedisStoreOptions
  readonly open?: (client: RedisLike, options: RedisStoreOptions) => RedisStore
}

/**
 * Each reaches what the others do not: calls that requests share; calls of one key, and decisions
 * over several slots; keys of shared tags; units taken ahead, under hashed keys.
 */
const variants: readonly Variant[] = [
  { name: 'on a single server', client: singleClient },
  { name: 'on a Cluster, without walks', client: clusterClient },
  {
    name: 'on a Cluster, with hash tags, without walks',
    client: clusterClient,
    options: { hashTags: 16 },
  },
  {
    name: 'with leases and hashed keys',
    client: singleClient,
    // A process without a lease refuses for a while, which may be longer than was reported before:
    // stillStore has no deny cache.
    options: { leases: { units: 50, holdMs: 1_000 }, hashKeys: 'a secret of the tests' },
    // A lease spans the calls of a case.
    open: stillStore,
  },
]

describe.each(variants)(
  'the Redis store keeps the contract of a store: $name',
  ({ name, client, options, open = strictStore }) => {
    const cases = storeConformance((clock) => open(client(), { ...options, clock }))
    const walks = !isShort && !name.endsWith('without walks')
    for (const { name: what, run } of cases) if (walks || !WALKS.test(what)) test(what, run)
  },
)
