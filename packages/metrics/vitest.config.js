import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { extends: true, test: { include: ['test/*.test.ts'] } },
      // A real Prometheus that scrapes a real Weir: the board's queries and the alerts.
      {
        step: 'monitoring',
        extends: true,
        test: { name: 'monitoring', include: ['monitoring/*.test.ts'] },
      },
    ],
  },
})
