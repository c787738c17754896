import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { setupFiles: ['../../tools/quiet.mjs'], include: ['test/*.test.ts'], testTimeout: 60_000 },
})
