import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: { ...ALONE, name: 'server', include: ['test/*.test.ts'] },
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
