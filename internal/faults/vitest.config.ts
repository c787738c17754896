import { defineConfig } from 'vitest/config'

// Rows wait most of the time: three at once fit on two cores. Not beside other tests, which do not
// wait. The matrix judges times, which a machine that is busy with other tests spoils: it is left
// out of `npm test`, and CI runs it by itself (`FAULTS=1 vitest run`).
const include =
  process.env.FAULTS === '1' ? ['test/*.test.ts'] : ['test/{figures,judge,report}.test.ts']

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include,
    maxConcurrency: 3,
    fileParallelism: false,
  },
})
