import { describe, test } from 'vitest'
import type { RedisStoreOptions } from '../../src/index.js'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

/** Coalescing and the deny cache are on in all of them, as by default. */
/** A process without a lease refuses for a while, which may be longer than was reported before; but
 *  not without a deny cache. */
const LEASES = { leases: { units: 50, holdMs: 1_000 }, instances: 1, denyCache: false }

const variants: readonly (readonly [string, RedisStoreOptions])[] = [
  ['by default', {}],
  ['with hash tags', { hashTags: 16 }],
  // Held for so long that a lease spans the calls of a case.
  ['with leases', LEASES],
  ['with hash tags and leases', { hashTags: 16, ...LEASES }],
]

describe.each(variants)(
  'the Redis store on a single server keeps the contract of a store, %s',
  (_, options) => {
    const client = singleClient()
    const cases = storeConformance((clock) => strictStore(client, { ...options, clock }))
    for (const { name, run } of cases) test(name, run)
  },
)

describe.each(variants)(
  'the Redis store on a Cluster keeps the contract of a store, %s',
  (_, options) => {
    const client = clusterClient()
    const cases = storeConformance((clock) => strictStore(client, { ...options, clock }))
    for (const { name, run } of cases) test(name, run)
  },
)
