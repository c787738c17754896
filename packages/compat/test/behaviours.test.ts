// What each limiter documents, over HTTP, with Weir's store: for each change on the newest major
// that documents it, weekly on all of them, and with the limiter's own store. The same list makes a
// table in docs/compat.md.

import { fakeClock } from '@weir/core/testing'
import { isWeekly } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { INCUMBENTS } from './incumbents/all.js'
import { isOf, type Version } from './incumbents/incumbent.js'
import { seenOf } from './incumbents/seen.js'
import { differencesTable } from './incumbents/table.js'
import { newName, onRedis } from './on-redis.js'
import { between, writes } from './page.js'

const redis = onRedis()

for (const { name, own, client, versions, behaviours } of INCUMBENTS) {
  describe(name, () => {
    for (const behaviour of behaviours) {
      const { promise, seen, differs } = behaviour
      const [newest, ...older] = versions.filter((each) => isOf(behaviour, each)) as [
        Version,
        ...Version[],
      ]
      for (const version of isWeekly ? [newest, ...older] : [newest]) {
        test.concurrent(`${version.version}, over Weir: ${promise}`, async ({ expect }) => {
          // However long requests take, time passes only between them.
          const clock = fakeClock(Date.now())
          const store = redis.storeOf({ clock })
          const weir = { kind: 'weir', store, name: newName() } as const
          const counting = { ...weir, options: behaviour.factory }
          const found = await seenOf(version, counting, behaviour, clock.advance)
          await store.close()
          if (differs?.weir === undefined) expect(found).toBe(seen)
          else expect(found, 'it differs no more').not.toBe(seen)
        })
      }
      if (!isWeekly) continue
      test.concurrent(`over ${own}: ${promise}`, async ({ expect }) => {
        const connected: Redis = client(redis.server.port)
        try {
          await new Promise((resolve) => connected.once('ready', resolve))
          const counting = { kind: 'own', redis: connected, prefix: newName() } as const
          const found = await seenOf(newest, counting, behaviour)
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
