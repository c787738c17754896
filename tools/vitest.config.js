import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.mjs'

/** What is packed, and what is said of it, changes seldom, so weekly. */
const TOOLS = ['approving', 'pack'].map((name) => `release/test/${name}.test.ts`)

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { test: { include: ['release/test/*.test.ts'], exclude: TOOLS } },
      { step: 'release-tools', test: { name: 'releases', include: TOOLS } },
      { step: 'packages', test: { name: 'published', include: ['release/published/*.test.ts'] } },
    ],
  },
})
