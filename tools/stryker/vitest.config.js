// The tests that Stryker runs for each mutant: the unit tests of packages/core, and with
// WEIR_SUITES=redis those on a redis-server as well. Tests that look at sources or built types,
// measure times, or repeat others at length are left out.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const onRedis = process.env.WEIR_SUITES === 'redis'

export default defineConfig({
  root: fileURLToPath(new URL('../../packages/core', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/{house,style}.test.ts',
      'test/{allocations,alone,changing,outages,ratios}/**',
      onRedis ? 'test/redis/{concurrency,conformance,differential}.test.ts' : 'test/redis/**',
    ],
    globalSetup: onRedis ? ['@weir/testkit/vitest'] : [],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
