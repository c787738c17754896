// What each limiter documents, over HTTP: with its own store for Redis and with Weir's. The same
// list makes the table in docs/compat.md.

import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { INCUMBENTS } from './incumbents/all.js'
import { isOf } from './incumbents/incumbent.js'
import { seenOf } from './incumbents/seen.js'
import { differencesTable } from './incumbents/table.js'
import { newName, onRedis } from './on-redis.js'
import { between, writes } from './page.js'

const redis = onRedis()

for (const { name, own, client, versions, behaviours } of INCUMBENTS) {
  describe(name, () => {
    for (const behaviour of behaviours) {
      const { promise, seen, differs } = behaviour
      for (const version of versions.filter((each) => isOf(behaviour, each))) {
        test.concurrent(`${version.version}, over Weir: ${promise}`, async ({ expect }) => {
          const weir = { kind: 'weir', store: redis.store, name: newName() } as const
          const counting = { ...weir, options: behaviour.factory }
          const found = await seenOf(version, counting, behaviour)
          if (differs?.weir === undefined) expect(found).toBe(seen)
          else expect(found, 'it differs no more').not.toBe(seen)
        })
      }
      test.concurrent(`over ${own}: ${promise}`, async ({ expect }) => {
        const [version] = versions.filter((each) => isOf(behaviour, each))
        const connected: Redis = client(redis.server.port)
        try {
          await new Promise((resolve) => connected.once('ready', resolve))
          const counting = { kind: 'own', redis: connected, prefix: newName() } as const
          const found = await seenOf(version as (typeof versions)[0], counting, behaviour)
          if (differs?.own === undefined) expect(found).toBe(seen)
          else expect(found, 'it differs no more').not.toBe(seen)
        } finally {
          connected.disconnect()
        }
      })
    }
  })
}

test('docs/compat.md has these results', async () => {
  const table = differencesTable(INCUMBENTS)
  const there = await between('behaviours', writes ? table : undefined)
  if (!writes) expect(there, 'npm run tables:write').toBe(table)
})
