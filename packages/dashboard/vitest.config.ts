import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    // They wait for frames and browsers more than they compute.
    maxWorkers: 3,
  },
})
