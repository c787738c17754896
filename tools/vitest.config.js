import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.mjs'

/** How packages are packed changes seldom, so weekly. */
const PACKING = ['release/test/pack.test.ts']

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { test: { include: ['release/test/*.test.ts'], exclude: PACKING } },
      { step: 'release-tools', test: { name: 'releases', include: PACKING } },
      { step: 'packages', test: { name: 'published', include: ['release/published/*.test.ts'] } },
    ],
  },
})
