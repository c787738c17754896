import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// The tests import '@weir/nest', so that internal/behaviour/majors/* can run them on a built
// copy with another Nest.
const source = (name) => fileURLToPath(new URL(`./src/${name}.ts`, import.meta.url))
const alone = 'test/warnings.test.ts'

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@weir\/nest$/, replacement: source('index') },
      { find: /^@weir\/nest\/testing$/, replacement: source('testing') },
    ],
  },
  test: {
    ...SHARED,
    projects: [
      { extends: true, test: { include: ['test/*.test.ts'], exclude: [alone] } },
      { extends: true, test: { name: 'alone', include: [alone], ...ALONE } },
    ],
  },
})
