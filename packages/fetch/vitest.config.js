import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  // The copy of @weir/core for bundlers, since other packages test the one for Node. A test can
  // load it again (vi.resetModules).
  ssr: { resolve: { conditions: ['module', 'node'] } },
  test: { ...SHARED, include: ['test/*.test.ts'] },
})
