import { defineConfig } from 'vitest/config'

// A tiny run of every scenario: checks that limits hold and that the report renders, never how fast
// anything is.
export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.ts'],
    fileParallelism: false,
    maxConcurrency: 2,
  },
})
