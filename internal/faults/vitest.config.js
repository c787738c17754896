import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

// Rows wait most of the time: three at once fit on two cores, but not beside other tests, which do
// not wait. The matrix judges times, which other tests on the machine would distort, so it is not
// part of `npm test`, and CI runs it separately (`FAULTS=1 vitest run`).
const include =
  process.env.FAULTS === '1' ? ['test/*.test.ts'] : ['test/{figures,judge,report}.test.ts']

export default defineConfig({
  test: {
    ...SHARED,
    include,
    maxConcurrency: 3,
    fileParallelism: false,
  },
})
