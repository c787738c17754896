import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    // Files have a browser of their own, and end it.
    ...ALONE,
    include: ['test/**/*.test.ts'],
    // They wait for frames and browsers more than they compute.
    maxWorkers: 3,
  },
})
