import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// The tests import '@weir/nest', so that internal/nest-versions/* can run them on a built copy with
// another Nest.
export default defineConfig({
  resolve: { alias: { '@weir/nest': fileURLToPath(new URL('./src/index.ts', import.meta.url)) } },
  test: { setupFiles: ['../../tools/quiet.mjs'], include: ['test/*.test.ts'], testTimeout: 15_000 },
})
