// Vulnerabilities of other libraries, as far as they need neither a framework nor Redis. The other
// tests are with their subjects: http-*.test.ts, alone/memory.test.ts, redis/advisories.test.ts,
// and advisories.test.ts of @weir/express.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('CVE-2026-90711: proxy-addr 1.1.0 to 2.0.7 trusted every IPv4 peer; none of them is installed', () => {
  const lock = readFileSync(new URL('../../../../pnpm-lock.yaml', import.meta.url), 'utf8')
  const versions = [...lock.matchAll(/^ {2}proxy-addr@(\d+)\.(\d+)\.(\d+):$/gm)]
  expect(versions.length).toBeGreaterThan(0)
  for (const [, major, minor, patch] of versions)
    expect(Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch)).toBeGreaterThanOrEqual(
      2_000_008,
    )
})
