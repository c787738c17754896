import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

// It writes the picture of the documents: `npm run pictures`.
const pictures = 'playground/test/pictures.test.ts'
const writes = process.env.WEIR_PICTURES === 'write'

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
          exclude: writes ? [] : [pictures],
          globalSetup: ['@weir/testkit/browser', './playground/build.mjs'],
        },
      },
    ],
  },
})
