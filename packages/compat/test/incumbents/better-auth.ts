// Better Auth 1.7 and 1.6, on its storage for Redis and on Weir's.

import { redisStorage } from '@better-auth/redis-storage'
import * as of17 from 'better-auth'
import * as of16 from 'better-auth-1.6'
import { Redis } from 'ioredis'
import { weirStorage } from '../../src/better-auth.js'
import { listeningTo } from './http.js'
import { type Behaviour, type Counting, type Incumbent, type Running, times } from './incumbent.js'

/** Better Auth limits by address. */
const ADDRESSES: Readonly<Record<string, string>> = { ann: '203.0.113.1', bob: '203.0.113.2' }

function countedBy(counting: Counting): of17.BetterAuthOptions {
  if (counting.kind === 'weir') {
    const { store, name } = counting
    return { rateLimit: { customStorage: weirStorage(store, { name, shared: true }) } }
  }
  const { redis, prefix } = counting
  const secondaryStorage = redisStorage({ client: redis, keyPrefix: prefix })
  return { secondaryStorage, rateLimit: { storage: 'secondary-storage' } }
}

async function serve(
  { betterAuth }: typeof of17,
  counting: Counting,
  rule: object,
): Promise<Running> {
  const { rateLimit, ...others } = countedBy(counting)
  const auth = betterAuth({
    baseURL: 'http://127.0.0.1',
    secret: 'a secret of this test, of enough characters',
    emailAndPassword: { enabled: true },
    advanced: { ipAddress: { ipAddressHeaders: ['x-address'] } },
    rateLimit: {
      enabled: true,
      customRules: { '/ok': { window: 60, max: 3, ...rule }, '/get-session': false },
      ...rateLimit,
    },
    logger: { disabled: true },
    ...others,
  })
  return listeningTo((request) => {
    const { pathname } = new URL(request.url)
    const headers = new Headers(request.headers)
    headers.set('x-address', ADDRESSES[headers.get('x-user') ?? ''] ?? '203.0.113.9')
    const path = pathname === '/' ? '/ok' : pathname
    return auth.handler(new Request(`http://127.0.0.1/api/auth${path}`, { headers }))
  })
}

const behaviours: readonly Behaviour[] = [
  {
    promise: '`X-Retry-After` of refusals',
    options: { max: 1 },
    look: ['x-retry-after'],
    asks: times(2),
    seen: '200 none, 429 60',
  },
  {
    promise: '`X-Retry-After` is what is left of the window',
    options: { max: 1 },
    look: ['x-retry-after'],
    asks: [...times(2), { afterMs: 5_000 }],
    seen: '200 none, 429 60, 429 55',
    differs: { own: 'it is always the whole window' },
  },
  {
    promise: '`customRules`: a path has limits of its own, or none',
    asks: [...times(5, { path: '/get-session' }), ...times(4)],
    seen: '200 x8, 429',
  },
]

export const betterAuthLimits: Incumbent = {
  name: 'Better Auth',
  own: '@better-auth/redis-storage',
  client: (port) => new Redis(port),
  versions: [
    { version: '1.7', serve: (...given) => serve(of17, ...given) },
    { version: '1.6', serve: (...given) => serve(of16 as unknown as typeof of17, ...given) },
  ],
  behaviours,
  limitedTo: (max, windowMs) => ({ max, window: windowMs / 1_000 }),
  passed: 200,
}
