import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// They look at what the process subscribes to, allocates, and does not catch.
const alone = ['test/{unwatched,survives}.test.ts']

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: { name: 'server', include: ['test/*.test.ts'], exclude: alone },
      },
      {
        extends: true,
        test: { ...ALONE, name: 'alone', include: alone },
      },
      {
        extends: true,
        test: {
          name: 'page',
          include: ['test/browser/*.test.ts'],
          globalSetup: ['@weir/testkit/browser'],
        },
      },
    ],
  },
})
