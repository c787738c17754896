import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// The tests import 'ioredis'; scripts/other-versions.mjs also runs them with another major, at this
// path.
const { WEIR_IOREDIS } = process.env
const alias = WEIR_IOREDIS ? [{ find: /^ioredis$/, replacement: WEIR_IOREDIS }] : []

export default defineConfig({
  resolve: { alias },
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          setupFiles: [...SHARED.setupFiles, './test/seed.ts'],
          include: ['test/**/*.test.ts'],
          exclude: ['test/{allocations,alone,changing,outages,ratios,redis}/**'],
        },
      },
      {
        step: 'outages',
        extends: true,
        test: {
          name: 'outages',
          include: ['test/outages/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
          ...ALONE,
          fileParallelism: false,
        },
      },
      {
        step: 'clients',
        extends: true,
        test: {
          name: 'changing',
          include: ['test/changing/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
          ...ALONE,
        },
      },
      {
        step: 'benchmarks',
        extends: true,
        test: {
          name: 'allocations',
          include: ['test/allocations/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
          ...ALONE,
          fileParallelism: false,
        },
      },
      {
        step: 'calm',
        extends: true,
        test: {
          name: 'ratios',
          include: ['test/ratios/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
          ...ALONE,
        },
      },
      {
        extends: true,
        test: { ...ALONE, name: 'alone', include: ['test/alone/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          include: ['test/redis/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest', './test/redis/no-key-for-ever.ts'],
        },
      },
    ],
  },
})
