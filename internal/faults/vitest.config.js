import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

const judging = 'test/{figures,judge,report}.test.ts'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { test: { name: 'judging', include: [judging] }, step: 'kit' },
      // Rows wait most of the time: three at once fit on two cores, but not beside other tests,
      // which do not wait.
      {
        test: {
          name: 'matrix',
          include: ['test/*.test.ts'],
          exclude: [judging],
          maxConcurrency: 3,
        },
      },
    ],
  },
})
