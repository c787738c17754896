// Clients choose keys: no key may have the counter of another, under any of the limiters.

import { createHash } from 'node:crypto'
import { memoryStore, type Store } from '@weir/core'
import { NO_KEY } from '@weir/core/internal'
import { expect, test } from 'vitest'
import { weirStorage as ofBetterAuth } from '../src/better-auth.js'
import { weirStore as ofExpress } from '../src/express-rate-limit.js'
import { type Counted, weirStore as ofFastify } from '../src/fastify-rate-limit.js'
import { weirStore as ofHono } from '../src/hono-rate-limiter.js'
import { keyOf } from '../src/key.js'
import { weirDb } from '../src/koa-ratelimit.js'
import { weirStorage as ofThrottler } from '../src/nest-throttler.js'
import { RateLimiterMemory, RateLimiterRedis } from '../src/rate-limiter-flexible.js'
import { newName } from './on-redis.js'

const LONG = ['x'.repeat(300), 'x'.repeat(9_000), `${'x'.repeat(9_000)}\ud800`]

/** What a key might be counted under, tried as a key itself. */
const look = (key: string): string[] => {
  const hash = (digest: 'hex' | 'base64url') =>
    (['utf8', 'utf16le'] as const).map((as) => createHash('sha256').update(key, as).digest(digest))
  return [keyOf(key), ...hash('base64url').map((each) => `sha256-${each}`)]
    .concat(hash('hex').map((each) => `#${each}`))
    .concat(hash('base64url').map((each) => `\n#${each}`))
}

const ROUTES = [
  'GET/login-k',
  'GET/a-b-k',
  '-GET/a-k',
  '\n["GET","/a","k"]',
  '\n["GET","/a-b","k"]',
]
const KEYS = [
  ...new Set([
    ...['', 'k', 'b-k', '(empty)', 'undefined', 'null', NO_KEY, '\n', '\0', '\n\n', '__proto__'],
    ...[`\n${NO_KEY}`, '\n["default","k"]', 'default:k', ':k', ...ROUTES],
    ...LONG,
    ...LONG.flatMap(look),
  ]),
]

/** Counts a request; false: it is one too many. */
type Take = (key: string) => Promise<boolean>

const windowMs = 60_000
const ofForm =
  (make: typeof ofExpress) =>
  (store: Store): Take => {
    const counting = make(store, { name: newName() })
    counting.init({ windowMs, limit: 1 })
    return async (key) => (await counting.increment(key)).totalHits <= 1
  }

function fastifyTakes(store: Store, ...routes: readonly string[][]): Take[] {
  const Counting = ofFastify(store, { name: newName() })
  const all = new Counting({ exponentialBackoff: false })
  return [[], ...routes].map((urls) => {
    const counting = urls.reduce((within, url) => {
      const routeInfo = { method: 'GET', url }
      return within.child({ exponentialBackoff: false, routeInfo })
    }, all)
    return async (key) => {
      const counted = await new Promise<Counted>((resolve, reject) => {
        counting.incr(
          key,
          (error, found) => (error ? reject(error) : resolve(found as Counted)),
          windowMs,
          1,
        )
      })
      return counted.current <= 1
    }
  })
}

const flexible =
  (limiter: RateLimiterMemory | RateLimiterRedis): Take =>
  (key) =>
    limiter.consume(key).then(
      () => true,
      () => false,
    )
const rules = { points: 1, duration: 60 }

const TAKES: readonly (readonly [string, (store: Store) => Take])[] = [
  ['express-rate-limit', ofForm(ofExpress)],
  ['hono-rate-limiter', ofForm(ofHono)],
  ['@fastify/rate-limit', (store) => fastifyTakes(store)[0] as Take],
  ['a route of @fastify/rate-limit', (store) => fastifyTakes(store, ['/a'])[1] as Take],
  [
    '@nestjs/throttler',
    (store) => {
      const counting = ofThrottler(store, { name: newName() })
      return async (key) => !(await counting.increment(key, windowMs, 1, 0, 'default')).isBlocked
    },
  ],
  [
    '@nestjs/throttler with a block',
    (store) => {
      const counting = ofThrottler(store, { name: newName() })
      return async (key) => !(await counting.increment(key, windowMs, 1, 9, 'default')).isBlocked
    },
  ],
  [
    'koa-ratelimit',
    (store) => {
      const db = weirDb(store, { name: newName() })
      return async (key) => (await db.ratelimiter(key, 0, windowMs, 1))[0] > 0
    },
  ],
  [
    'Better Auth',
    (store) => {
      const counting = ofBetterAuth(store, { name: newName() })
      return async (key) => (await counting.consume(key, { window: 60, max: 1 })).allowed
    },
  ],
  [
    'rate-limiter-flexible',
    (storeClient) =>
      flexible(new RateLimiterRedis({ ...rules, storeClient, keyPrefix: newName() })),
  ],
  ['rate-limiter-flexible in memory', () => flexible(new RateLimiterMemory(rules))],
]

test.each(TAKES)('under %s, each key has a counter of its own', async (_, makeOn) => {
  const take = makeOn(memoryStore())
  const first: string[] = []
  for (const key of KEYS) if (await take(key)) first.push(key)
  expect(first).toEqual(KEYS)
  for (const key of KEYS) expect(await take(key), key).toBe(false)
})

test('routes of @fastify/rate-limit share counters with no other route, and not with the global limit', async () => {
  const urls = [['/a'], ['/a-b'], ['/a', '/b'], ['/login'], ['/a-GET/b'], ['/a","k'], ['']]
  const takes = fastifyTakes(memoryStore(), ...urls)
  const passed = await Promise.all(takes.flatMap((take) => KEYS.map((key) => take(key))))
  expect(passed).not.toContain(false)
  const again = await Promise.all(takes.flatMap((take) => KEYS.map((key) => take(key))))
  expect(again).not.toContain(true)
})

test('throttlers of Nest share no counters', async () => {
  const counting = ofThrottler(memoryStore(), { name: newName() })
  const pairs = [
    ['a', 'b:c'],
    ['a:b', 'c'],
    ['', 'a:b:c'],
    ['a","b', 'c'],
    ['a', 'b","c'],
  ] as const
  for (const [throttler, key] of pairs) {
    const { isBlocked } = await counting.increment(key, windowMs, 1, 0, throttler)
    expect(isBlocked, `${throttler} ${key}`).toBe(false)
  }
})

test('prefixes of rate-limiter-flexible share no counters', async () => {
  const storeClient = memoryStore()
  const odd = 'a b'
  const hash = createHash('sha256').update(odd, 'utf16le').digest('hex').slice(0, 16)
  for (const keyPrefix of [odd, `${hash}-a-b`, 'a-b', '', 'a:b', 'rlflx']) {
    const limiter = new RateLimiterRedis({ ...rules, storeClient, keyPrefix })
    expect(await flexible(limiter)('k'), keyPrefix).toBe(true)
  }
})

test('a key that Weir takes is passed as it is, so that weir why and the dashboard know it', () => {
  for (const key of ['203.0.113.7', 'x'.repeat(8_192), '(empty)', 42])
    expect(keyOf(key)).toBe(String(key))
  expect([keyOf(''), keyOf(undefined), keyOf(null)]).toEqual([NO_KEY, NO_KEY, NO_KEY])
})
