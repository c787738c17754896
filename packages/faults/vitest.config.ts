import { defineConfig } from 'vitest/config'

// Rows wait most of the time: three at once fit on two cores. Not beside other tests, which do not wait.
export default defineConfig({
  test: { include: ['test/*.test.ts'], testTimeout: 120_000, maxConcurrency: 3, fileParallelism: false },
})
