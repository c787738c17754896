import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The copy of @weir/core that bundlers take: other packages test the one that Node runs. A test
  // can load it anew (vi.resetModules).
  ssr: { resolve: { conditions: ['module', 'node'] } },
  test: { setupFiles: ['../../tools/quiet.mjs'], include: ['test/*.test.ts'] },
})
