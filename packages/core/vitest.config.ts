import { defineConfig } from 'vitest/config'

// The tests import 'ioredis'; IOREDIS_MAJOR=5 runs them against the previous major instead.
const alias =
  process.env.IOREDIS_MAJOR === '5' ? [{ find: /^ioredis$/, replacement: 'ioredis5' }] : []

export default defineConfig({
  resolve: { alias },
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/redis/**'],
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          include: ['test/redis/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest', './test/redis/no-key-for-ever.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
})
