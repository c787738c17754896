import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: {
          name: 'stores',
          include: ['test/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
        },
      },
      {
        extends: true,
        step: 'outages',
        test: {
          name: 'outages',
          include: ['test/outages/*.test.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})
