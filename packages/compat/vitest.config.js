import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

const outages = 'test/*outage.test.ts'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { test: { include: ['test/*.test.ts'], exclude: [outages] } },
      // Real outages, judged by the clock.
      { test: { name: 'outages', ...ALONE, include: [outages] }, step: 'outages' },
    ],
  },
})
