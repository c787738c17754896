import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    setupFiles: [...SHARED.setupFiles, './test/seed.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/*.test.ts'] } },
      {
        extends: true,
        step: 'browser',
        test: {
          name: 'playground',
          include: ['playground/test/*.test.ts'],
          globalSetup: ['@weir/testkit/browser', './playground/build.mjs'],
        },
      },
    ],
  },
})
