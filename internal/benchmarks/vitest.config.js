import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

// A tiny run of every scenario: checks that limits hold and that the report renders, never how fast
// anything is.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['test/*.test.ts'],
    fileParallelism: false,
    maxConcurrency: 2,
  },
})
