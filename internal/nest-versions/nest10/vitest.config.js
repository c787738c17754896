import { defineConfig } from 'vitest/config'
import { SHARED } from '../../../tools/vitest.mjs'
import { platforms } from '../../../packages/nest/test/platforms.mjs'
import manifest from './package.json' with { type: 'json' }

// The tests of @weir/nest, with every package that they import taken from this folder: another
// Nest, and the built @weir/nest that is installed with it.
export default defineConfig({
  resolve: { dedupe: Object.keys(manifest.dependencies) },
  test: {
    ...SHARED,
    dir: '../../../packages/nest/test',
    projects: platforms('', ['**/public-types.test.ts']),
  },
})
