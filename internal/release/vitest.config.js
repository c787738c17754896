import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

/** What makes releases, tried on clones: it changes seldom, so weekly. */
const TOOLS = ['approving', 'changelog', 'pack', 'refusals', 'stage', 'version', 'where'].map(
  (name) => `test/${name}.test.ts`,
)

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { extends: true, test: { include: ['test/*.test.ts'], exclude: TOOLS } },
      { step: 'release-tools', extends: true, test: { name: 'tools', include: TOOLS } },
      {
        step: 'packages',
        extends: true,
        test: { name: 'published', include: ['published/*.test.ts'] },
      },
    ],
  },
})
