import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    include: ['test/**/*.test.ts'],
    // They wait for frames and browsers more than they compute.
    maxWorkers: 3,
  },
})
