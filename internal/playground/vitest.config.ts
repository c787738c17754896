import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.ts'],
    // One browser at a time is enough for two cores.
    fileParallelism: false,
  },
})
