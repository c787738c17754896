import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// They look at what the process subscribes to, allocates, and does not catch.
const alone = ['test/{unwatched,survives}.test.ts']

// It writes the pictures of the documents: `npm run pictures`.
const pictures = 'test/browser/pictures.test.ts'
const writes = process.env.WEIR_PICTURES === 'write'

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
          exclude: writes ? [] : [pictures],
          globalSetup: ['@weir/testkit/browser'],
        },
      },
    ],
  },
})
