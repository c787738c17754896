// Better Auth's rate limits, on Weir. behaviours.test.ts has them on Redis.

import { memoryStore, type Store } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { betterAuth } from 'better-auth'
import type { BetterAuthOptions } from 'better-auth-1.6'
import { expect, test } from 'vitest'
import { weirStorage } from '../src/better-auth.js'

function served(rule: { window: number; max: number }, store: Store): () => Promise<Response> {
  const auth = betterAuth({
    baseURL: 'http://127.0.0.1',
    secret: 'a secret of this test, of enough characters',
    emailAndPassword: { enabled: true },
    advanced: { ipAddress: { ipAddressHeaders: ['x-forwarded-for'] } },
    rateLimit: {
      enabled: true,
      customRules: { '/sign-in/email': rule },
      customStorage: weirStorage(store),
    },
    logger: { disabled: true },
  })
  return () =>
    auth.handler(
      new Request('http://127.0.0.1/api/auth/sign-in/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
        body: JSON.stringify({ email: 'ann@example.com', password: 'not the right one' }),
      }),
    )
}

test('lets the limit pass, and refuses what follows, with the wait', async () => {
  const ask = served({ window: 60, max: 3 }, memoryStore({ clock: fakeClock() }))
  const statuses: number[] = []
  for (let i = 0; i < 4; i += 1) statuses.push((await ask()).status)
  expect(statuses).toEqual([401, 401, 401, 429])
  expect((await ask()).headers.get('x-retry-after')).toBe('60')
})

test('starts again when the window is over', async () => {
  const clock = fakeClock()
  const ask = served({ window: 1, max: 1 }, memoryStore({ clock }))
  expect((await ask()).status).toBe(401)
  expect((await ask()).status).toBe(429)
  clock.advance('1s')
  expect((await ask()).status).toBe(401)
})

test('versions that count in two steps get an explanation', async () => {
  const storage = weirStorage(memoryStore())
  // In the form that the types of 1.6 require.
  const rateLimit: BetterAuthOptions['rateLimit'] = { customStorage: storage }
  expect(rateLimit.customStorage?.consume).toBeDefined()
  const coded = { code: 'WEIR_INVALID_OPTION' }
  await expect(storage.get()).rejects.toMatchObject(coded)
  await expect(storage.set()).rejects.toMatchObject(coded)
})
