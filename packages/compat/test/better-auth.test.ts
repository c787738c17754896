// Versions of Better Auth whose rate limits Weir cannot count. behaviours.test.ts has the others.

import { memoryStore } from '@weir/core'
import type { BetterAuthOptions } from 'better-auth-1.6'
import { expect, test } from 'vitest'
import { weirStorage } from '../src/better-auth.js'

test('versions that count in two steps get an explanation', async () => {
  const storage = weirStorage(memoryStore())
  // In the form that the types of 1.6 require.
  const rateLimit: BetterAuthOptions['rateLimit'] = { customStorage: storage }
  expect(rateLimit.customStorage?.consume).toBeDefined()
  const coded = { code: 'WEIR_INVALID_OPTION' }
  await expect(storage.get()).rejects.toMatchObject(coded)
  await expect(storage.set()).rejects.toMatchObject(coded)
})
