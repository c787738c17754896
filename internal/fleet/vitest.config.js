import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

const judging = 'test/faults/judge.test.ts'
const calm = 'test/faults/calm.test.ts'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { test: { include: ['test/*.test.ts'] } },
      { step: 'kit', test: { name: 'judging', include: [judging] } },
      // Rows wait most of the time: three at once fit on two cores, but not beside other tests,
      // which do not wait.
      {
        step: 'faults',
        test: {
          name: 'matrix',
          include: ['test/faults/*.test.ts'],
          exclude: [judging, calm],
          maxConcurrency: 3,
        },
      },
      { step: 'calm', test: { name: 'calm', include: [calm] } },
      {
        step: 'versions',
        test: {
          name: 'versions',
          // Files have a server of their own, and end it.
          ...ALONE,
          include: ['test/versions/*.test.ts'],
          // Versions are loaded as they were built.
          server: { deps: { external: [/\/dist\//] } },
        },
      },
      {
        step: 'clients',
        test: {
          name: 'clients',
          include: ['test/clients/*.test.ts'],
          globalSetup: ['@weir/testkit/vitest'],
        },
      },
      {
        step: 'outages',
        test: {
          name: 'outages',
          include: ['test/clients/outages/*.test.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})
