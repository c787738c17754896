// Vulnerabilities of other libraries, as far as they need neither a framework nor Redis. The other
// tests are with their subjects: http-*.test.ts, redis/advisories.test.ts, and advisories.test.ts
// of @weir/express.

import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { memoryStore, RateLimiter, slidingWindow } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

test('CVE-2026-90711: proxy-addr 1.1.0 to 2.0.7 trusted every IPv4 peer; none of them is installed', () => {
  const lock = readFileSync(new URL('../../../../pnpm-lock.yaml', import.meta.url), 'utf8')
  const versions = [...lock.matchAll(/^ {2}proxy-addr@(\d+)\.(\d+)\.(\d+):$/gm)]
  expect(versions.length).toBeGreaterThan(0)
  for (const [, major, minor, patch] of versions)
    expect(Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch)).toBeGreaterThanOrEqual(
      2_000_008,
    )
})

test('@nestjs/throttler PR #2695: forged keys made a memory store grow forever, or pushed an exhausted one out. 1,000,000 of them do neither', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const store = memoryStore({ maxKeys: 10_000, clock: fakeClock() })
  const limiter = new RateLimiter({ store, policy: slidingWindow({ limit: 3, window: '1h' }) })
  const allowed = (key: string) => (limiter.decide(key) as { allowed: boolean }).allowed
  const fill = (from: number, to: number) => {
    for (let i = from; i < to; i += 1) allowed(`forged-${i}`)
  }
  expect(['me', 'me', 'me', 'me'].map(allowed)).toEqual([true, true, true, false])
  fill(0, 20_000)
  gc()
  const before = process.memoryUsage().heapUsed
  fill(20_000, 1_000_000)
  gc()
  // At 100 bytes each, they would be 98 million.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6)
  expect(allowed('me')).toBe(false)
  store.close()
})
