import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'
import { platforms } from './test/platforms.mjs'

// The tests import '@weir/nest', so that internal/nest-versions/* can run them on a built copy with
// another Nest.
const source = (name) => fileURLToPath(new URL(`./src/${name}.ts`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@weir\/nest$/, replacement: source('index') },
      { find: /^@weir\/nest\/testing$/, replacement: source('testing') },
    ],
  },
  test: {
    ...SHARED,
    projects: platforms('test/'),
  },
})
