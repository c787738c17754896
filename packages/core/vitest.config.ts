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
        },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          include: ['test/redis/*.test.ts'],
          // They share a server, and some count what it does.
          fileParallelism: false,
          globalSetup: ['@weir/testkit/vitest', './test/redis/no-key-for-ever.ts'],
        },
      },
    ],
  },
})
