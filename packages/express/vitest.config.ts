import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The copy of @weir/core for bundlers, since other packages test the one for Node. A test can
  // load it again (vi.resetModules).
  ssr: { resolve: { conditions: ['module', 'node'] } },
  test: { setupFiles: ['../../tools/quiet.mjs'], include: ['test/*.test.ts'] },
})
